/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Other processes of the conformance suite. Each is the program started anew, because what a
 * driver has done before a fork is of no use after it. */
#include "config.h"

#include "tests/conformance_private.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_S 60

extern char **environ;

/* ---- the side that begins it ----------------------------------------------------------- */

static void remember(pid_t child)
{
    for (size_t i = 0; i < SP_CASE_MAX_CHILDREN; i++) {
        if (sp_harness.children[i] == 0) {
            sp_harness.children[i] = child;
            return;
        }
    }
    fail_msg("too many processes");
}

static void forget(pid_t child)
{
    for (size_t i = 0; i < SP_CASE_MAX_CHILDREN; i++) {
        if (sp_harness.children[i] == child)
            sp_harness.children[i] = 0;
    }
}

/* Standard output is the test's: what a child says goes to standard error. */
static int spawn(pid_t *pid_out, const char *role, int socket)
{
    const char *program = getenv("STARPOOL_TEST_PROGRAM");
    char number[16];
    char *arguments[] = {(char *)"conformance",
                         (char *)"--child",
                         (char *)(uintptr_t)sp_harness.current->name,
                         (char *)(uintptr_t)role,
                         number,
                         NULL};
    posix_spawn_file_actions_t actions;
    int error;

    (void)snprintf(number, sizeof(number), "%d", socket);
    error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn(pid_out, program != NULL ? program : "/proc/self/exe", &actions,
                            NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

void sp_case_child_start(struct sp_child *child, const char *role)
{
    int sockets[2];

    assert_non_null(sp_harness.current->child);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    /* The child's end is the only descriptor that it gets beyond the standard ones. */
    child->socket = sockets[0];
    sockets[0] = dup(sockets[1]);
    assert_true(sockets[0] >= 0);
    assert_int_equal(spawn(&child->pid, role, sockets[0]), 0);
    (void)close(sockets[0]);
    (void)close(sockets[1]);
    remember(child->pid);
}

void sp_case_child_end(struct sp_child *child)
{
    int how = -1;

    (void)close(child->socket);
    assert_int_equal(waitpid(child->pid, &how, 0), child->pid);
    forget(child->pid);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        fail_msg("the other process ended with 0x%x", (unsigned)how);
}

void sp_case_child_kill(struct sp_child *child)
{
    int how;

    (void)close(child->socket);
    assert_int_equal(kill(child->pid, SIGKILL), 0);
    assert_int_equal(waitpid(child->pid, &how, 0), child->pid);
    forget(child->pid);
}

void sp_harness_kill_children(void)
{
    for (size_t i = 0; i < SP_CASE_MAX_CHILDREN; i++) {
        if (sp_harness.children[i] == 0)
            continue;
        (void)kill(sp_harness.children[i], SIGKILL);
        (void)waitpid(sp_harness.children[i], NULL, 0);
        sp_harness.children[i] = 0;
    }
}

/* ---- the other side -------------------------------------------------------------------- */

static struct {
    const char *role;
    int socket;
} self;

static void run_child(void **state)
{
    (void)state;
    sp_harness.current->child(self.role, self.socket);
    if (sp_harness.is_started)
        sp_harness_check_end();
}

static int clean_up(void **state)
{
    (void)state;
    sp_harness_clean();
    return 0;
}

int sp_harness_child_main(const char *name, const char *role, int socket)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(run_child, clean_up)};
    const char *reason;

    /* Nobody waits for a child whose parent has gone. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(2 * TIMEOUT_S);
    sp_harness.current = sp_harness_find(name);
    self.role = role;
    self.socket = socket;
    if (sp_harness.current == NULL || sp_harness.current->child == NULL ||
        setenv("CMOCKA_MESSAGE_OUTPUT", "STDOUT", 1) != 0)
        return 99;
    if (sp_harness.mode == SP_CONFORM_CUDA) {
        if (!sp_harness_load_cuda(&reason))
            return 99;
    } else if (!sp_harness_choose_table(&reason)) {
        return 99;
    }
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

/* ---- both ------------------------------------------------------------------------------ */

void sp_case_send(int socket, const void *data, size_t size)
{
    assert_int_equal(send(socket, data, size, MSG_NOSIGNAL), size);
}

static void wait_for_record(int socket)
{
    struct pollfd polled = {.fd = socket, .events = POLLIN};

    if (poll(&polled, 1, TIMEOUT_S * 1000) != 1)
        fail_msg("nothing came from the other process");
}

void sp_case_receive(int socket, void *data_out, size_t size)
{
    wait_for_record(socket);
    assert_int_equal(recv(socket, data_out, size, 0), size);
}

/* Room for one descriptor, aligned as a header of control data must be. */
union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

void sp_case_send_file(int socket, int file)
{
    union control control = {.room = {0}};
    char byte = 0;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof(control.room)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(file));
    memcpy(CMSG_DATA(header), &file, sizeof(file));
    assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

int sp_case_receive_file(int socket)
{
    union control control;
    char byte;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof(control.room)};
    struct cmsghdr *header;
    int file;

    wait_for_record(socket);
    assert_int_equal(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 1);
    header = CMSG_FIRSTHDR(&message);
    assert_non_null(header);
    assert_int_equal(header->cmsg_type, SCM_RIGHTS);
    memcpy(&file, CMSG_DATA(header), sizeof(file));
    return file;
}

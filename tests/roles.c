/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Roles: processes that are forked before they use the model, with sockets between them. */
#include "config.h"

#include "tests/roles.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/support.h"

#include "src/util/util.h"

#define MAX_ROLES 3
#define LIMIT_S   60 /* after which a process that is stuck is killed */

const struct sp_driver *cu;

/* ---- processes -----------------------------------------------------------------------------
 */

static void run_role(sp_role_fn role, const int *sockets)
{
    alarm(LIMIT_S);
    cu = sp_model_driver();
    EXPECT_CU(SUCCESS, cu->cuInit(0));
    role(sockets);
    sp_model_reset();
    _exit(0);
}

static void close_all(int sockets[MAX_ROLES][MAX_ROLES], size_t n_roles, size_t but)
{
    for (size_t i = 0; i < n_roles; i++) {
        for (size_t j = 0; j < n_roles; j++) {
            if (i != but && i != j)
                close(sockets[i][j]);
        }
    }
}

/* Run the roles at once; the status that each ended with. */
static void run_roles(const sp_role_fn *roles, size_t n_roles, int *statuses_out)
{
    int sockets[MAX_ROLES][MAX_ROLES], pair[2];
    pid_t pids[MAX_ROLES];

    for (size_t i = 0; i < n_roles; i++) {
        sockets[i][i] = -1;
        for (size_t j = i + 1; j < n_roles; j++) {
            assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
            sockets[i][j] = pair[0];
            sockets[j][i] = pair[1];
        }
    }
    for (size_t i = 0; i < n_roles; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close_all(sockets, n_roles, i);
            run_role(roles[i], sockets[i]);
        }
    }
    close_all(sockets, n_roles, n_roles);
    for (size_t i = 0; i < n_roles; i++) {
        assert_true(pids[i] > 0);
        assert_int_equal(waitpid(pids[i], &statuses_out[i], 0), pids[i]);
    }
}

/* The roles, all of which must find what they expect. */
void sp_roles_run(sp_role_fn first, sp_role_fn second, sp_role_fn third)
{
    const sp_role_fn roles[MAX_ROLES] = {first, second, third};
    size_t n_roles = second == NULL ? 1 : third == NULL ? 2 : 3;
    int statuses[MAX_ROLES];

    run_roles(roles, n_roles, statuses);
    for (size_t i = 0; i < n_roles; i++)
        assert_int_equal(statuses[i], 0);
}

/* Two roles, of which one kills itself. */
void sp_roles_run_with_death(sp_role_fn survivor, sp_role_fn victim)
{
    const sp_role_fn roles[] = {survivor, victim};
    int statuses[2];

    run_roles(roles, 2, statuses);
    assert_int_equal(statuses[0], 0);
    assert_true(WIFSIGNALED(statuses[1]) && WTERMSIG(statuses[1]) == SIGKILL);
}

void sp_role_die(void)
{
    kill(getpid(), SIGKILL);
}

/* ---- messages ------------------------------------------------------------------------------
 */

/* One message, with a descriptor unless that is -1. */
void sp_role_send(int socket, const void *data, size_t size, int file)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (file >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
    }
    EXPECT(sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)size);
}

/* The next message, which must have this size; the descriptor that came with it, or -1. */
int sp_role_receive(int socket, void *data_out, size_t size)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = data_out, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int file = -1;

    EXPECT(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == (ssize_t)size);
    if (message.msg_controllen >= CMSG_LEN(sizeof(int)))
        memcpy(&file, CMSG_DATA(&control.header), sizeof(file));
    return file;
}

/* "Go on": the other role has come to the same place. */
void sp_role_signal(int socket)
{
    sp_role_send(socket, "", 1, -1);
}

void sp_role_wait(int socket)
{
    char byte;

    EXPECT(sp_role_receive(socket, &byte, 1) == -1);
}

/* The other process is no more: its end of the socket is closed. */
void sp_role_wait_for_end(int socket)
{
    char byte;

    EXPECT(recv(socket, &byte, 1, 0) == 0);
}

/* ---- what a process holds ------------------------------------------------------------------
 */

static unsigned count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned n_files = 0;

    EXPECT(folder != NULL);
    while (readdir(folder) != NULL)
        n_files++;
    closedir(folder);
    return n_files;
}

static unsigned count_maps(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512];
    unsigned n_maps = 0;

    EXPECT(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL)
        n_maps += strstr(line, "memfd:starpool") != NULL;
    fclose(file);
    return n_maps;
}

void sp_role_begin(struct sp_holdings *before_out)
{
    sp_cu_context context;
    size_t total;

    EXPECT_CU(SUCCESS, cu->cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_CU(SUCCESS, cu->cuCtxSetCurrent(context));
    EXPECT_CU(SUCCESS, cu->cuMemGetInfo(&before_out->free_bytes, &total));
    before_out->n_files = count_files();
    before_out->n_maps = count_maps();
}

/* Nothing has been lost since. */
void sp_role_end(const struct sp_holdings *before)
{
    size_t free_bytes, total;

    EXPECT_CU(SUCCESS, cu->cuCtxSynchronize());
    EXPECT_CU(SUCCESS, cu->cuMemGetInfo(&free_bytes, &total));
    EXPECT(free_bytes == before->free_bytes);
    EXPECT(count_files() == before->n_files);
    EXPECT(count_maps() == before->n_maps);
    EXPECT(starpool_model_violations(NULL) == 0);
}

/* ---- pools ---------------------------------------------------------------------------------
 */

struct sp_cu_pool_props sp_role_props(int handle_types)
{
    return (struct sp_cu_pool_props){
        .alloc_type = SP_CU_ALLOCATION_PINNED,
        .handle_types = handle_types,
        .location = {.type = SP_CU_LOCATION_DEVICE, .id = 0},
    };
}

sp_cu_pool sp_role_pool(void)
{
    struct sp_cu_pool_props props = sp_role_props(SP_CU_HANDLE_POSIX_FD);
    sp_cu_pool pool;

    EXPECT_CU(SUCCESS, cu->cuMemPoolCreate(&pool, &props));
    return pool;
}

sp_cu_stream sp_role_stream(void)
{
    sp_cu_stream stream;

    EXPECT_CU(SUCCESS, cu->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING));
    return stream;
}

int sp_role_export(sp_cu_pool pool)
{
    int file = -1;

    EXPECT_CU(SUCCESS,
              cu->cuMemPoolExportToShareableHandle(&file, pool, SP_CU_HANDLE_POSIX_FD, 0));
    EXPECT(file >= 0);
    return file;
}

sp_cu_result sp_role_import(int file, sp_cu_pool *pool_out)
{
    return cu->cuMemPoolImportFromShareableHandle(pool_out, (void *)(intptr_t)file,
                                                  SP_CU_HANDLE_POSIX_FD, 0);
}

/* A block of the pool, filled, and its fill seen to have executed. */
sp_cu_ptr sp_role_block(sp_cu_pool pool, sp_cu_stream stream, unsigned char value)
{
    sp_cu_ptr ptr;

    EXPECT_CU(SUCCESS, cu->cuMemAllocFromPoolAsync(&ptr, SP_ROLE_SIZE, pool, stream));
    EXPECT_CU(SUCCESS, cu->cuMemsetD8Async(ptr, value, SP_ROLE_SIZE, stream));
    EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    return ptr;
}

/* Send a pool and a block of it. */
void sp_role_send_block(int socket, sp_cu_pool pool, sp_cu_ptr ptr)
{
    struct sp_cu_pointer_export data;
    int file = sp_role_export(pool);

    EXPECT_CU(SUCCESS, cu->cuMemPoolExportPointer(&data, ptr));
    sp_role_send(socket, &data, sizeof(data), file);
    close(file);
}

void sp_role_receive_block(int socket, sp_cu_pool *pool_out, sp_cu_ptr *ptr_out)
{
    struct sp_cu_pointer_export data;
    int file = sp_role_receive(socket, &data, sizeof(data));

    EXPECT_CU(SUCCESS, sp_role_import(file, pool_out));
    close(file);
    EXPECT_CU(SUCCESS, cu->cuMemPoolImportPointer(ptr_out, *pool_out, &data));
}

bool sp_role_holds(sp_cu_ptr ptr, unsigned char value)
{
    unsigned char *bytes = malloc(SP_ROLE_SIZE);
    bool is_right;

    EXPECT(bytes != NULL);
    EXPECT_CU(SUCCESS, cu->cuMemcpyDtoH(bytes, ptr, SP_ROLE_SIZE));
    is_right = bytes[0] == value && memcmp(bytes, bytes + 1, SP_ROLE_SIZE - 1) == 0;
    free(bytes);
    return is_right;
}

uint64_t sp_role_attribute(sp_cu_pool pool, int id)
{
    uint64_t value;

    EXPECT_CU(SUCCESS, cu->cuMemPoolGetAttribute(pool, id, &value));
    return value;
}

/* A stream that waits until its flag is raised. */
_Atomic uint32_t *sp_role_stall(sp_cu_stream stream)
{
    void *flag;

    EXPECT_CU(SUCCESS, cu->cuMemHostAlloc(&flag, sizeof(uint32_t), 0));
    memset(flag, 0, sizeof(uint32_t));
    EXPECT_CU(SUCCESS, cu->cuStreamWaitValue32(stream, (sp_cu_ptr)(uintptr_t)flag, 1,
                                               SP_CU_WAIT_VALUE_GEQ));
    return flag;
}

void sp_role_let_go(_Atomic uint32_t *flag, sp_cu_stream stream)
{
    atomic_store(flag, 1);
    EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    EXPECT_CU(SUCCESS, cu->cuMemFreeHost((void *)flag));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child with a pipe. It dies with us, and at its time limit. */
#include "config.h"

#include "src/tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is printed beyond this is read and dropped. [bytes] */
#define MAX_TEXT ((size_t)1 << 20)

struct text {
    char *data;
    size_t size; /* room in `data` */
    size_t length;
};

static _Noreturn void become(const struct sp_child *child, int out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const char *const *pair = child->variables; *pair != NULL; pair += 2)
        setenv(pair[0], pair[1], 1);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(child->keeps_stderr ? out : null, STDERR_FILENO);
    execv(child->argv[0], child->argv);
    _exit(127);
}

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Make room for one byte more than there is, or leave `text` as it is. */
static void grow(struct text *text)
{
    size_t size = text->size * 2;
    char *data;

    if (text->length + 1 < text->size || size > MAX_TEXT)
        return;
    data = realloc(text->data, size);
    if (data == NULL)
        return;
    text->data = data;
    text->size = size;
}

/* Read until the other end closes; false if `deadline_ms` passed first. */
static bool read_all(int in, int64_t deadline_ms, struct text *text)
{
    char dropped[4096];

    for (;;) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        int64_t left_ms = deadline_ms - now_ms();
        size_t room;
        ssize_t n;

        if (left_ms <= 0)
            return false;
        if (poll(&ready, 1, (int)left_ms) <= 0)
            continue;
        grow(text);
        room = text->size - 1 - text->length;
        n = room > 0 ? read(in, text->data + text->length, room)
                     : read(in, dropped, sizeof(dropped));
        if (n == 0 || (n < 0 && errno != EINTR))
            return true;
        if (n > 0 && room > 0)
            text->length += (size_t)n;
    }
}

int sp_child_run(const struct sp_child *child, struct sp_child_result *result_out)
{
    struct text text = {.data = malloc(4096), .size = 4096};
    bool timed_out;
    int ends[2];
    int status = 0;
    int error;
    pid_t pid;

    if (text.data == NULL)
        return ENOMEM;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error = errno;
        goto err_free;
    }
    pid = fork();
    if (pid < 0) {
        error = errno;
        goto err_close;
    }
    if (pid == 0)
        become(child, ends[1]);
    close(ends[1]);
    timed_out = !read_all(ends[0], now_ms() + (int64_t)child->timeout_s * 1000, &text);
    if (timed_out)
        kill(pid, SIGKILL);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    text.data[text.length] = '\0';
    *result_out = (struct sp_child_result){text.data, status, timed_out};
    return 0;

err_close:
    close(ends[0]);
    close(ends[1]);
err_free:
    free(text.data);
    return error;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the model shares between processes, below the pools: events, plain memory, and the files
 * and handles behind them, which take nothing that comes from outside on trust. */
#include "config.h"

#include "tests/model_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/model/shared.h"
#include "src/util/util.h"

/* ---- between processes --------------------------------------------------------------- */

static sp_cu_event new_shared_event(void)
{
    sp_cu_event event;

    assert_done(cuEventCreate(&event, SP_CU_EVENT_INTERPROCESS | SP_CU_EVENT_DISABLE_TIMING));
    return event;
}

static void a_shared_event_orders_streams_that_know_it_by_two_names(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = new_shared_event(), opened, plain = sp_test_event();
    struct sp_cu_ipc_event_handle handle;

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuEventCreate(&opened, SP_CU_EVENT_INTERPROCESS));
    assert_result(SP_CU_INVALID_VALUE, cuIpcGetEventHandle(&handle, plain));
    assert_done(cuIpcGetEventHandle(&handle, event));
    assert_done(cuIpcOpenEventHandle(&opened, handle));
    assert_done(cuEventQuery(opened)); /* Nobody has recorded it. */
    sp_test_hold(first);
    assert_done(cuEventRecord(event, first));
    assert_result(SP_CU_NOT_READY, cuEventQuery(opened));
    assert_done(cuStreamWaitEvent(second, opened, 0));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(second));
    assert_done(cuEventDestroy(opened)); /* The wait goes on. */
    assert_result(SP_CU_NOT_READY, cuStreamQuery(second));
    sp_test_release();
    assert_done(cuStreamSynchronize(second));
    assert_done(cuIpcOpenEventHandle(&opened, handle));
    assert_done(cuEventSynchronize(opened));
    assert_done(cuEventRecord(opened, second));
    assert_done(cuEventSynchronize(event));
}

static void anothers_recording_says_nothing_of_ones_own_before_it(void **state)
{
    sp_cu_stream held = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream idle = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event event = new_shared_event(), opened;
    struct sp_cu_ipc_event_handle handle;
    uint64_t id;

    (void)state;
    assert_done(cuIpcGetEventHandle(&handle, event));
    assert_done(cuIpcOpenEventHandle(&opened, handle));
    assert_done(cuStreamGetId(held, (unsigned long long *)&id));
    sp_test_hold(held);
    assert_done(cuEventRecord(event, held));
    assert_done(cuEventRecord(opened, idle));
    assert_done(cuStreamSynchronize(idle));
    assert_done(cuEventQuery(event));
    for (uint32_t i = 0; i < sp_model_order()->n_slots; i++) {
        if (sp_model_order()->streams[i].id == id)
            assert_int_equal(sp_model_order()->streams[i].seen_seq, 0);
    }
    sp_test_release();
    assert_done(cuStreamSynchronize(held));
}

static void a_pool_is_never_exported_as_descriptor_0(void **state)
{
    struct sp_cu_pool_props props = {
        .alloc_type = SP_CU_ALLOCATION_PINNED,
        .handle_types = SP_CU_HANDLE_POSIX_FD,
        .location = {.type = SP_CU_LOCATION_DEVICE},
    };
    int input = dup(STDIN_FILENO), file = -1;
    sp_cu_pool pool, imported;

    (void)state;
    assert_done(cuMemPoolCreate(&pool, &props));
    if (input >= 0)
        close(STDIN_FILENO);
    assert_done(cuMemPoolExportToShareableHandle(&file, pool, SP_CU_HANDLE_POSIX_FD, 0));
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
    assert_done(cuMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)file,
                                                   SP_CU_HANDLE_POSIX_FD, 0));
    close(file);
}

static void random_bytes_are_no_handle(void **state)
{
    uint64_t random = sp_test_seed();
    sp_cu_event event = new_shared_event(), opened;
    struct sp_cu_ipc_event_handle good, bad;
    struct sp_cu_ipc_mem_handle memory;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuIpcGetEventHandle(&good, event));
    for (size_t i = 0; i < sp_test_scaled(2000); i++) {
        for (size_t at = 0; at < sizeof(bad); at += 8) {
            uint64_t word = sp_test_random(&random);

            memcpy(bad.reserved + at, &word, 8);
        }
        memcpy(&memory, &bad, sizeof(memory));
        assert_result(SP_CU_INVALID_HANDLE, cuIpcOpenEventHandle(&opened, bad));
        assert_result(SP_CU_INVALID_VALUE, cuIpcOpenMemHandle(&ptr, memory, 1));
        bad = good;
        bad.reserved[sp_test_random_below(&random, 64)] ^=
            (char)(1 << sp_test_random_below(&random, 8));
        assert_result(SP_CU_INVALID_HANDLE, cuIpcOpenEventHandle(&opened, bad));
    }
    memcpy(&memory, &good, sizeof(memory)); /* Sound, and of another kind. */
    assert_result(SP_CU_INVALID_VALUE, cuIpcOpenMemHandle(&ptr, memory, 1));
    assert_done(cuEventDestroy(event));
    assert_result(SP_CU_INVALID_HANDLE, cuIpcOpenEventHandle(&opened, good)); /* Gone. */
}

/* A file with the first page of a sound one, with other seals or of another size. */
static int copy_file(const struct sp_shared *shared, off_t size, int seals)
{
    int file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, size), 0);
    assert_int_equal(pwrite(file, shared->page, sizeof(*shared->page), 0),
                     sizeof(*shared->page));
    assert_int_equal(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
}

static void only_sealed_files_of_ours_are_taken(void **state)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const off_t size = (off_t)SP_SHARED_DATA + 4096;
    struct sp_shared shared, opened;
    int files[5], pipes[2];

    (void)state;
    assert_ok(sp_shared_create(SP_SHARED_POOL, 4096, &shared));
    assert_int_equal(pipe(pipes), 0);
    files[0] = copy_file(&shared, size, F_SEAL_SHRINK | F_SEAL_SEAL);
    files[1] = copy_file(&shared, size, F_SEAL_GROW | F_SEAL_SEAL);
    files[2] = copy_file(&shared, size + 4096, seals);
    files[3] = copy_file(&shared, size, seals | F_SEAL_WRITE);
    files[4] = open("/dev/null", O_RDWR);
    for (size_t i = 0; i < SP_ARRAY_SIZE(files); i++) {
        assert_status(STARPOOL_EINVAL, sp_shared_open_file(SP_SHARED_POOL, files[i], &opened));
        close(files[i]);
    }
    assert_status(STARPOOL_EINVAL, sp_shared_open_file(SP_SHARED_POOL, pipes[0], &opened));
    assert_status(STARPOOL_EINVAL, sp_shared_open_file(SP_SHARED_POOL, -1, &opened));
    assert_status(STARPOOL_EINVAL, sp_shared_open_file(SP_SHARED_EVENT, shared.file, &opened));
    assert_ok(sp_shared_open_file(SP_SHARED_POOL, shared.file, &opened));
    assert_int_equal(opened.size, 4096);
    assert_memory_equal(opened.identity, shared.identity, sizeof(shared.identity));
    sp_shared_close(&opened);
    sp_shared_close(&shared);
    close(pipes[0]);
    close(pipes[1]);
}

static void plain_memory_is_shared_by_its_handle(void **state)
{
    struct sp_cu_ipc_mem_handle handle;
    sp_cu_ptr ptr, opened;
    char out[16] = "";

    (void)state;
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_done(cuMemcpyHtoD(ptr, "contents", 9));
    assert_done(cuIpcGetMemHandle(&handle, ptr));
    assert_result(SP_CU_INVALID_VALUE, cuIpcOpenMemHandle(&opened, handle, 0));
    assert_done(cuIpcOpenMemHandle(&opened, handle, 1));
    assert_int_not_equal(opened, ptr);
    assert_done(cuMemcpyDtoH(out, opened, 9));
    assert_string_equal(out, "contents"); /* They were there before the handle was. */
    assert_done(cuMemsetD8(ptr, 'x', 8));
    assert_done(cuMemcpyDtoH(out, opened, 9));
    assert_string_equal(out, "xxxxxxxx");
    assert_result(SP_CU_INVALID_VALUE, cuIpcCloseMemHandle(ptr));
    assert_done(cuIpcCloseMemHandle(opened));
    assert_result(SP_CU_INVALID_VALUE, cuIpcCloseMemHandle(opened));
    assert_done(cuMemFree(ptr));
    assert_result(SP_CU_INVALID_VALUE, cuIpcOpenMemHandle(&opened, handle, 1));
    assert_result(SP_CU_INVALID_VALUE, cuIpcGetMemHandle(&handle, (uintptr_t)sp_model.flag));
}

/* ---- in two -------------------------------------------------------------------------- */

/* The other process, which has a model of its own. */
struct partner {
    pid_t pid;
    int socket;
};

/* The child leaves with what `body` answers. Neither has used the model yet. */
static struct partner start_partner(int (*body)(int socket))
{
    struct partner partner;
    int sockets[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    partner.socket = sockets[0];
    partner.pid = fork();
    assert_true(partner.pid >= 0);
    if (partner.pid == 0) {
        alarm(60);
        close(sockets[0]);
        _exit(body(sockets[1]));
    }
    close(sockets[1]);
    return partner;
}

static int end_partner(struct partner *partner)
{
    int status;

    close(partner->socket);
    assert_int_equal(waitpid(partner->pid, &status, 0), partner->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool exchange(int socket, char word)
{
    char got;

    return write(socket, &word, 1) == 1 && read(socket, &got, 1) == 1;
}

/* The child's side of what both tests begin with: the parent's event and a stream. */
static bool open_partners_event(int socket, sp_cu_event *event_out, sp_cu_stream *stream_out)
{
    const struct sp_driver *driver = sp_model.driver;
    struct sp_cu_ipc_event_handle handle;
    sp_cu_context context;

    return driver->cuInit(0) == SP_CU_SUCCESS &&
           driver->cuCtxCreate(&context, 0, 0) == SP_CU_SUCCESS &&
           driver->cuStreamCreate(stream_out, SP_CU_STREAM_NON_BLOCKING) == SP_CU_SUCCESS &&
           read(socket, &handle, sizeof(handle)) == sizeof(handle) &&
           driver->cuIpcOpenEventHandle(event_out, handle) == SP_CU_SUCCESS;
}

/* The parent's side. */
static sp_cu_event send_event(const struct partner *partner)
{
    struct sp_cu_ipc_event_handle handle;
    sp_cu_event event;

    assert_done(cuInit(0));
    assert_done(cuCtxCreate(&sp_model.context, 0, 0));
    assert_done(cuMemHostAlloc((void **)&sp_model.flag, sizeof(*sp_model.flag), 0));
    event = new_shared_event();
    assert_done(cuIpcGetEventHandle(&handle, event));
    assert_int_equal(write(partner->socket, &handle, sizeof(handle)), sizeof(handle));
    return event;
}

static int wait_in_child(int socket)
{
    const struct sp_driver *driver = sp_model.driver;
    sp_cu_stream stream;
    sp_cu_event event;

    if (!open_partners_event(socket, &event, &stream) || !exchange(socket, '1'))
        return 1;
    if (driver->cuEventQuery(event) != SP_CU_NOT_READY ||
        driver->cuStreamWaitEvent(stream, event, 0) != SP_CU_SUCCESS ||
        driver->cuStreamQuery(stream) != SP_CU_NOT_READY)
        return 2;
    if (!exchange(socket, '2'))
        return 3;
    if (driver->cuStreamSynchronize(stream) != SP_CU_SUCCESS ||
        driver->cuEventQuery(event) != SP_CU_SUCCESS)
        return 4;
    return 0;
}

static void a_stream_waits_for_another_process(void **state)
{
    enum starpool_model_exec exec = *(enum starpool_model_exec *)*state;
    struct partner partner;
    sp_cu_event event;
    sp_cu_stream stream;

    sp_test_model_configure(1, exec);
    partner = start_partner(wait_in_child);
    event = send_event(&partner);
    stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_test_hold(stream);
    assert_done(cuEventRecord(event, stream));
    assert_true(exchange(partner.socket, '1'));
    assert_true(exchange(partner.socket, '2'));
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(end_partner(&partner), 0);
}

/* Records the event where it will never be executed, and is gone. */
static int record_and_die(int socket)
{
    static uint32_t never;
    const struct sp_driver *driver = sp_model.driver;
    sp_cu_stream stream;
    sp_cu_event event;

    if (!open_partners_event(socket, &event, &stream) ||
        driver->cuStreamWaitValue32(stream, (uintptr_t)&never, 1, 0) != SP_CU_SUCCESS ||
        driver->cuEventRecord(event, stream) != SP_CU_SUCCESS)
        return 1;
    return exchange(socket, '1') ? 0 : 2;
}

static void a_recording_of_a_process_that_is_gone_holds_nobody(void **state)
{
    enum starpool_model_exec exec = *(enum starpool_model_exec *)*state;
    struct partner partner;
    sp_cu_event event;
    sp_cu_stream stream;
    char word;

    sp_test_model_configure(1, exec);
    partner = start_partner(record_and_die);
    event = send_event(&partner);
    stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    assert_int_equal(read(partner.socket, &word, 1), 1);
    assert_result(SP_CU_NOT_READY, cuEventQuery(event));
    assert_done(cuStreamWaitEvent(stream, event, 0));
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
    assert_int_equal(write(partner.socket, "1", 1), 1);
    assert_int_equal(end_partner(&partner), 0);
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuEventSynchronize(event));
}

/* ---- the list ------------------------------------------------------------------------ */

static enum starpool_model_exec threads = STARPOOL_MODEL_THREADS;
static enum starpool_model_exec within = STARPOOL_MODEL_INLINE;

#define THREADS(test)                                               \
    {                                                               \
#test, test, sp_test_model_threads, sp_test_model_end, NULL \
    }
#define PAIR(test)                                              \
    {#test, test, NULL, sp_test_model_end, &threads},           \
    {                                                           \
#test "_inline", test, NULL, sp_test_model_end, &within \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_shared_event_orders_streams_that_know_it_by_two_names),
        SP_TEST_BOTH(anothers_recording_says_nothing_of_ones_own_before_it),
        THREADS(a_pool_is_never_exported_as_descriptor_0),
        THREADS(random_bytes_are_no_handle),
        THREADS(only_sealed_files_of_ours_are_taken),
        THREADS(plain_memory_is_shared_by_its_handle),
        PAIR(a_stream_waits_for_another_process),
        PAIR(a_recording_of_a_process_that_is_gone_holds_nobody),
    };

    return cmocka_run_group_tests_name("model between processes", tests, NULL, NULL);
}

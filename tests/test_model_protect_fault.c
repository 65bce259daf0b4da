/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How accesses of the host to the devices' memory end: in processes of their own, which say
 * what they expect on their standard error. */
#include "config.h"

#include "tests/exec_fixture.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/poison.h"
#include "src/util/util.h"
#include "tests/script.h"

#define SIZE   ((size_t)64 << 10)
#define WRITER 7 /* what a handler of the program's ends the process with */

/* What a child has to say, shared with it. */
static struct notes {
    char expected[256]; /* a part of the line */
    int is_expected;    /* a line is */
} * notes;

/* What became of it. */
static struct {
    int status;
    char text[4096]; /* its standard error */
} child;

static int prepare(void **state)
{
    (void)state;
    notes =
        mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return notes == MAP_FAILED;
}

static void expect(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void expect(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(notes->expected, sizeof(notes->expected), format, args);
    va_end(args);
    notes->is_expected = 1;
}

/* ---- children ------------------------------------------------------------------------ */

static void start_model(void)
{
    struct starpool_model_config shape = sp_test_model_shape(2, STARPOOL_MODEL_INLINE);

    shape.is_protected = true;
    if (sp_test_model_begin(&shape) != 0)
        _exit(99);
}

static void read_all(int file)
{
    size_t n = 0;
    ssize_t got;

    while ((got = read(file, child.text + n, sizeof(child.text) - 1 - n)) > 0)
        n += (size_t)got;
    child.text[n] = '\0';
}

/* The model has not been started here, so that it can be in the child. */
static void run(void (*before)(void), void (*touch)(void))
{
    const struct rlimit no_core = {0, 0};
    int ends[2];
    pid_t pid;

    memset(notes, 0, sizeof(*notes));
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGSEGV, SIG_DFL);
        (void)signal(SIGBUS, SIG_DFL);
        if (before != NULL)
            before();
        start_model();
        touch();
        _exit(0);
    }
    assert_int_equal(close(ends[1]), 0);
    read_all(ends[0]);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(waitpid(pid, &child.status, 0), pid);
}

/* One line that holds what was expected, and an end by the signal. */
static void assert_died(void)
{
    if (!WIFSIGNALED(child.status) || strstr(child.text, notes->expected) == NULL)
        fprintf(stderr, "status %d, expected: %s, stderr: %s\n", child.status, notes->expected,
                child.text);
    assert_true(WIFSIGNALED(child.status));
    assert_int_equal(WTERMSIG(child.status), SIGSEGV);
    if (!notes->is_expected) {
        assert_string_equal(child.text, "");
        return;
    }
    assert_non_null(strstr(child.text, notes->expected));
    assert_ptr_equal(strchr(child.text, '\n'), child.text + strlen(child.text) - 1);
}

/* Not inlined: the compiler would warn of addresses that are as wrong as they are meant to be.
 */
__attribute__((noinline)) static void touch_at(sp_cu_ptr ptr)
{
    *(volatile char *)(uintptr_t)ptr = 1;
}

static uint64_t id_of(sp_cu_ptr ptr)
{
    unsigned long long id = 0;

    assert_done(cuPointerGetAttribute(&id, SP_CU_POINTER_BUFFER_ID, ptr));
    return id;
}

/* ---- where --------------------------------------------------------------------------- */

static void touch_plain(void)
{
    sp_cu_context context;
    sp_cu_ptr ptr;

    assert_done(cuCtxCreate(&context, 0, 1));
    assert_done(cuMemAlloc(&ptr, 1000));
    expect("address 0x%llx of device 1, in the live allocation at 0x%llx of 1000 bytes, buffer "
           "id %" PRIu64 "; the host must copy it with cuMemcpy() or cudaMemcpy()",
           ptr + 10, ptr, id_of(ptr));
    touch_at(ptr + 10);
}

static void touch_block(void)
{
    sp_cu_ptr ptr;

    assert_done(cuMemAllocAsync(&ptr, 1000, NULL));
    expect("address 0x%llx of device 0, in the live block of a pool at 0x%llx of 1000 bytes, "
           "buffer id %" PRIu64 ";",
           ptr, ptr, id_of(ptr));
    touch_at(ptr);
}

static void touch_freed_block(void)
{
    sp_cu_ptr ptr;
    uint64_t id;

    assert_done(cuMemAllocAsync(&ptr, SIZE, NULL));
    id = id_of(ptr);
    assert_done(cuMemFreeAsync(ptr, NULL));
    expect("in the freed block of a pool at 0x%llx of %zu bytes, buffer id %" PRIu64 ";", ptr,
           SIZE, id);
    touch_at(ptr + SIZE - 1);
}

static void touch_no_block(void)
{
    sp_cu_ptr ptr;

    assert_done(cuMemAllocAsync(&ptr, SIZE, NULL));
    expect("of device 0, in a pool's memory, where no block is allocated;");
    touch_at(ptr + 4 * SIZE);
}

static void touch_freed_plain(void)
{
    sp_cu_ptr ptr;
    uint64_t id;

    assert_done(cuMemAlloc(&ptr, SIZE));
    id = id_of(ptr);
    assert_done(cuMemFree(ptr));
    expect("in the freed allocation at 0x%llx of %zu bytes, buffer id %" PRIu64 ";", ptr, SIZE,
           id);
    touch_at(ptr);
}

static void touch_nothing(void)
{
    sp_cu_ptr ptr;

    assert_done(cuMemAlloc(&ptr, SIZE));
    expect("of device 0, where nothing is allocated;");
    touch_at(ptr + 16 * SIZE);
}

static void touch_opened(void)
{
    struct sp_cu_ipc_mem_handle handle;
    sp_cu_ptr ptr, opened;

    assert_done(cuMemAlloc(&ptr, SIZE));
    assert_done(cuIpcGetMemHandle(&handle, ptr));
    assert_done(cuIpcOpenMemHandle(&opened, handle, 1));
    expect("in the live allocation of another process at 0x%llx of %zu bytes", opened, SIZE);
    touch_at(opened);
}

static void touch_graphs(void)
{
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_test_add_alloc(graph, SIZE, NULL, 0, &node);

    assert_done(cuGraphLaunch(sp_test_exec(graph, 0), NULL));
    expect("in the allocation of a graph at 0x%llx of %zu bytes, buffer id %" PRIu64 ";", ptr,
           SIZE, id_of(ptr));
    touch_at(ptr);
}

static void the_line_names_the_block_and_the_device(void **state)
{
    static void (*const touches[])(void) = {
        touch_plain,       touch_block,   touch_freed_block, touch_no_block,
        touch_freed_plain, touch_nothing, touch_opened,      touch_graphs,
    };

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(touches); i++) {
        run(NULL, touches[i]);
        assert_died();
        assert_true(notes->is_expected);
    }
}

/* ---- who ----------------------------------------------------------------------------- */

static sp_cu_result run_stand_in(void *arg)
{
    touch_at(*(sp_cu_ptr *)arg);
    return SP_CU_SUCCESS;
}

/* What stands in for a kernel runs, with the memory of its argument open or not. */
static void run_kernel(bool is_argument)
{
    struct sp_model_stream *stream;
    sp_cu_ptr ptr, *arg = malloc(sizeof(*arg));

    assert_done(cuMemAlloc(&ptr, SIZE));
    *arg = ptr;
    sp_lock_take(sp_model_lock());
    if (is_argument)
        sp_model_expose((uintptr_t)ptr);
    assert_int_equal(sp_model_stream_get(NULL, &stream), SP_CU_SUCCESS);
    assert_int_equal(sp_model_submit(stream, SP_OP_KERNEL, 0, run_stand_in, arg, NULL), 0);
    sp_lock_give(sp_model_lock());
    assert_done(cuCtxSynchronize());
}

static void touch_in_kernel(void)
{
    expect("; this is a kernel's stand-in, which reaches memory that none of its arguments "
           "points to");
    run_kernel(false);
}

static void touch_argument(void)
{
    run_kernel(true);
}

static void a_stand_in_that_reaches_other_memory_is_told_so(void **state)
{
    (void)state;
    run(NULL, touch_in_kernel);
    assert_died();
    run(NULL, touch_argument);
    assert_true(WIFEXITED(child.status));
    assert_string_equal(child.text, "");
}

static void *touch_in_thread(void *arg)
{
    touch_at(*(sp_cu_ptr *)arg);
    return NULL;
}

/* While another thread has the lock for long. */
static void touch_beside_a_call(void)
{
    pthread_t thread;
    sp_cu_ptr ptr;

    assert_done(cuMemAlloc(&ptr, SIZE));
    expect("address 0x%llx of device 0; the host must copy it", ptr);
    sp_lock_take(sp_model_lock());
    (void)pthread_create(&thread, NULL, touch_in_thread, &ptr);
    (void)pthread_join(thread, NULL);
}

static void touch_from_a_thread(void)
{
    pthread_t thread;
    sp_cu_ptr ptr;

    assert_done(cuMemAlloc(&ptr, SIZE));
    expect("address 0x%llx of device 0, in the live allocation", ptr);
    (void)pthread_create(&thread, NULL, touch_in_thread, &ptr);
    (void)pthread_join(thread, NULL);
}

static void any_thread_may_touch_it(void **state)
{
    (void)state;
    run(NULL, touch_from_a_thread);
    assert_died();
    run(NULL, touch_beside_a_call);
    assert_died();
}

/* A child of the child has no model, but the addresses. */
static void touch_after_fork(void)
{
    sp_cu_ptr ptr;
    int status = 0;
    pid_t pid;

    assert_done(cuMemAlloc(&ptr, SIZE));
    expect("address 0x%llx of device 0; the host must copy it", ptr);
    pid = fork();
    if (pid == 0)
        touch_at(ptr);
    (void)waitpid(pid, &status, 0);
    (void)kill(getpid(), WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL);
}

static void a_forked_childs_accesses_end_the_same_way(void **state)
{
    (void)state;
    run(NULL, touch_after_fork);
    assert_died();
}

/* ---- the fault's own course ---------------------------------------------------------- */

static void touch_null(void)
{
    touch_at(8);
}

static void be_killed(void)
{
    (void)kill(getpid(), SIGSEGV);
}

static void other_faults_are_none_of_its_business(void **state)
{
    (void)state;
    run(NULL, touch_null);
    assert_died();
    run(NULL, be_killed);
    assert_died();
}

static void leave(int signal_number)
{
    (void)signal_number;
    _exit(WRITER);
}

static void leave_with_address(int signal_number, siginfo_t *info, void *context)
{
    char text[32];

    (void)context;
    _exit(signal_number == SIGSEGV &&
                  snprintf(text, sizeof(text), "0x%" PRIxPTR, (uintptr_t)info->si_addr) > 0 &&
                  strstr(notes->expected, text) != NULL
              ? WRITER
              : 1);
}

static void install_plain(void)
{
    (void)signal(SIGSEGV, leave);
}

static void install_informed(void)
{
    struct sigaction action = {.sa_sigaction = leave_with_address, .sa_flags = SA_SIGINFO};

    (void)sigaction(SIGSEGV, &action, NULL);
}

static void install_ignored(void)
{
    (void)signal(SIGSEGV, SIG_IGN);
}

static void the_handler_that_was_there_is_called(void **state)
{
    (void)state;
    run(install_plain, touch_block);
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), WRITER);
    assert_non_null(strstr(child.text, notes->expected));
    run(install_informed, touch_block);
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), WRITER);
    assert_non_null(strstr(child.text, notes->expected));
    run(install_plain, touch_null);
    assert_int_equal(WEXITSTATUS(child.status), WRITER);
    run(install_ignored, touch_block);
    assert_died();
    run(install_ignored, be_killed);
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), 0);
}

static bool has_handler(void (*handler)(int))
{
    struct sigaction now;

    assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
    return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler;
}

static void the_handler_that_was_there_comes_back(void **state)
{
    struct starpool_model_config shape = sp_test_model_shape(1, STARPOOL_MODEL_INLINE);
    void (*before)(int);

    (void)state;
    shape.is_protected = false;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    before = signal(SIGSEGV, leave);
    shape.is_protected = true;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    assert_false(has_handler(leave));
    shape.is_protected = false;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    assert_true(has_handler(leave));
    assert_true(signal(SIGSEGV, before) == leave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_names_the_block_and_the_device),
        cmocka_unit_test(a_stand_in_that_reaches_other_memory_is_told_so),
        cmocka_unit_test(any_thread_may_touch_it),
        cmocka_unit_test(a_forked_childs_accesses_end_the_same_way),
        cmocka_unit_test(other_faults_are_none_of_its_business),
        cmocka_unit_test(the_handler_that_was_there_is_called),
        cmocka_unit_test_teardown(the_handler_that_was_there_comes_back, sp_test_model_end),
    };

    sp_poison_setup();
    if (sp_poison_is_on && !SP_HAS_SANITIZER) {
        printf("1..0 # SKIP valgrind has words of its own for each of these accesses\n");
        return 77;
    }
    /* Before the options are read: a model that starts over must be without it. */
    if (unsetenv("STARPOOL_MODEL_PROTECT") != 0)
        return EXIT_FAILURE;
    return cmocka_run_group_tests_name("model_protect_fault", tests, prepare, NULL);
}

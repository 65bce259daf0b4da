/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Traces: what is recorded is read back, whatever threads, forks and crashes do, and a file
 * that is not whole is told with place and reason. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/trace/record.h"
#include "src/trace/ring.h"
#include "tests/script.h"
#include "tests/trace_case.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER true
#else
#define HAS_THREAD_SANITIZER false
#endif
#else
#define HAS_THREAD_SANITIZER false
#endif

#define N_THREADS 6
#define FILE_ROOM 65536

static struct sp_trace_case result;
static unsigned char original[FILE_ROOM], changed[FILE_ROOM];

static const struct starpool_location node_one = {STARPOOL_HOST_NUMA, 1};

static int setup(void **state)
{
    (void)state;
    (void)starpool_trace_end(); /* Of a test that failed. */
    memset(&result, 0, sizeof(result));
    sp_log_set_level(SP_LOG_WARN);
    return 0;
}

static int begin_group(void **state)
{
    (void)state;
    sp_trace_case_begin();
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    sp_trace_case_end();
    return 0;
}

static void *at(uintptr_t address)
{
    return (void *)address;
}

/* One event of each kind. */
static void record_all_kinds(void)
{
    sp_trace_pool_create(3, node_one, 4096, "the \"pool\"", true);
    sp_trace_stream_create(7, node_one);
    sp_trace_grow(3, 0x10000, 0x8000);
    sp_trace_alloc_at(3, at(0x10000), 512, 7, 9, STARPOOL_TRACE_EDGE_FRESH);
    sp_trace_alloc(3, NULL, 1 << 20, 7, STARPOOL_ENODE);
    sp_trace_point(7, 10);
    sp_trace_wait(8, 7, 10);
    sp_trace_executed(7, 9);
    sp_trace_free(3, at(0x10000), 512, 8, 4);
    sp_trace_synchronize(8, 0);
    sp_trace_trim(3, 100);
    sp_trace_release(3, 0x10000, 0x8000);
    sp_trace_stream_destroy(7);
    sp_trace_pool_destroy(3);
}

static const int all_kinds[] = {
    STARPOOL_TRACE_POOL_CREATE,    STARPOOL_TRACE_STREAM_CREATE, STARPOOL_TRACE_GROW,
    STARPOOL_TRACE_ALLOC,          STARPOOL_TRACE_REFUSE,        STARPOOL_TRACE_RECORD,
    STARPOOL_TRACE_WAIT,           STARPOOL_TRACE_EXECUTED,      STARPOOL_TRACE_FREE,
    STARPOOL_TRACE_SYNCHRONIZE,    STARPOOL_TRACE_TRIM,          STARPOOL_TRACE_RELEASE,
    STARPOOL_TRACE_STREAM_DESTROY, STARPOOL_TRACE_POOL_DESTROY,
};

#define N_KINDS SP_ARRAY_SIZE(all_kinds)

/* A trace of all kinds, in `original`; its size. */
static size_t make_original(void)
{
    assert_ok(starpool_trace_begin(sp_trace_case_path("original")));
    record_all_kinds();
    assert_ok(starpool_trace_end());
    return sp_trace_case_load(sp_trace_case_path("original"), original, sizeof(original));
}

/* ---- recording -------------------------------------------------------------------------- */

static void events_come_back_as_they_were(void **state)
{
    const struct starpool_trace_record *r = result.records;

    (void)state;
    make_original();
    assert_true(sp_trace_case_read(sp_trace_case_path("original"), &result));
    assert_status(STARPOOL_OK, result.status);
    assert_int_equal(result.n, N_KINDS);
    for (size_t i = 0; i < N_KINDS; i++) {
        assert_int_equal(r[i].kind, all_kinds[i]);
        assert_true(i == 0 || r[i].time_ns >= r[i - 1].time_ns);
        assert_int_equal(r[i].thread, r[0].thread);
    }
    assert_string_equal(result.names[0], "the \"pool\"");
    assert_true(r[0].is_earlier);
    assert_int_equal(r[0].size, 4096);
    assert_int_equal(r[0].location.kind, STARPOOL_HOST_NUMA);
    assert_int_equal(r[1].location.id, 1);
    assert_int_equal(r[3].address, 0x10000);
    assert_int_equal(r[3].pool, 3);
    assert_int_equal(r[3].point, 9);
    assert_int_equal(r[3].edge, STARPOOL_TRACE_EDGE_FRESH);
    assert_status(STARPOOL_ENODE, r[4].status);
    assert_int_equal(r[6].stream, 8);
    assert_int_equal(r[6].other, 7);
    assert_int_equal(r[6].point, 10);
    assert_int_equal(r[6].address, 0);
    assert_int_equal(r[8].size, 512);
    assert_int_equal(result.n_lost, 0);
}

static void long_name_is_cut_and_the_next_is_its_own(void **state)
{
    char name[200];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_ok(starpool_trace_begin(sp_trace_case_path("names")));
    sp_trace_pool_create(1, node_one, 0, name, false);
    sp_trace_pool_create(2, node_one, 0, "b", false);
    assert_ok(starpool_trace_end());
    assert_true(sp_trace_case_read(sp_trace_case_path("names"), &result));
    assert_int_equal(strlen(result.names[0]), 63);
    assert_string_equal(result.names[1], "b");
}

static void nothing_is_recorded_while_it_is_off(void **state)
{
    (void)state;
    record_all_kinds();
    assert_ok(starpool_trace_begin(sp_trace_case_path("empty")));
    assert_ok(starpool_trace_end());
    record_all_kinds();
    assert_true(sp_trace_case_read(sp_trace_case_path("empty"), &result));
    assert_status(STARPOOL_OK, result.status);
    assert_int_equal(result.n, 0);
}

static void begin_and_end_answer_what_is_wrong(void **state)
{
    char long_path[5000];
    const char *path = sp_trace_case_path("link");

    (void)state;
    memset(long_path, 'p', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_status(STARPOOL_EINVAL, starpool_trace_begin(NULL));
    assert_status(STARPOOL_EINVAL, starpool_trace_begin(""));
    assert_status(STARPOOL_EINVAL, starpool_trace_begin(long_path));
    assert_status(STARPOOL_ENOTINIT, starpool_trace_end());
    assert_int_equal(symlink("nowhere", path), 0);
    sp_log_set_level((enum sp_log_level) - 1);
    assert_status(STARPOOL_EIO, starpool_trace_begin(path));
    assert_status(STARPOOL_EIO, starpool_trace_begin("/nowhere/at/all"));
    assert_status(STARPOOL_EIO, starpool_trace_begin("/"));
    assert_ok(starpool_trace_begin(sp_trace_case_path("busy")));
    assert_status(STARPOOL_EBUSY, starpool_trace_begin(sp_trace_case_path("other")));
    assert_ok(starpool_trace_end());
}

static void process_number_stands_in_the_name(void **state)
{
    char name[64];
    struct stat file;

    (void)state;
    assert_ok(starpool_trace_begin(sp_trace_case_path("%%-%p")));
    assert_ok(starpool_trace_end());
    snprintf(name, sizeof(name), "%%-%ld", (long)getpid());
    assert_int_equal(stat(sp_trace_case_path(name), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void *record_many(void *number)
{
    size_t n = sp_test_scaled(50000);

    for (size_t i = 1; i <= n; i++)
        sp_trace_free((uint32_t)(uintptr_t)number, at(i), i, 0, 0);
    return NULL;
}

/* Each thread's events are there in order, or counted as lost, and all are in the order of
 * time. */
static void many_threads_lose_no_event_uncounted(void **state)
{
    uint64_t latest[N_THREADS + 1] = {0}, n = 0, time_ns = 0;
    struct starpool_trace_record record = {.kind = 0};
    struct starpool_trace *reader;
    pthread_t threads[N_THREADS];

    (void)state;
    sp_log_set_level(SP_LOG_ERROR);
    assert_ok(starpool_trace_begin(sp_trace_case_path("many")));
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, (void *)(i + 1)), 0);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_ok(starpool_trace_end());
    assert_ok(starpool_trace_open(sp_trace_case_path("many"), &reader));
    for (;;) {
        assert_ok(starpool_trace_next(reader, &record));
        if (record.kind == STARPOOL_TRACE_END)
            break;
        n++;
        assert_true(record.time_ns >= time_ns);
        time_ns = record.time_ns;
        assert_in_range(record.pool, 1, N_THREADS);
        assert_true(record.address > latest[record.pool]);
        assert_int_equal(record.address, record.size);
        latest[record.pool] = record.address;
    }
    assert_int_equal(n + record.n_lost, N_THREADS * sp_test_scaled(50000));
    assert_ok(starpool_trace_next(reader, &record));
    assert_int_equal(record.kind, STARPOOL_TRACE_END);
    starpool_trace_close(reader);
}

static void *record_one(void *unused)
{
    sp_trace_trim(1, 1);
    return unused;
}

static size_t n_rings(void)
{
    size_t n = 0;

    for (struct sp_trace_ring *ring = sp_trace_rings(); ring != NULL; ring = ring->next)
        n++;
    return n;
}

static void ring_of_a_thread_that_ended_is_handed_on(void **state)
{
    size_t n_before;

    (void)state;
    assert_ok(starpool_trace_begin(sp_trace_case_path("rings")));
    record_one(NULL);
    n_before = n_rings();
    for (int i = 0; i < 100; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, record_one, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_in_range(n_rings(), n_before, n_before + 1);
    assert_ok(starpool_trace_end());
    assert_true(sp_trace_case_read(sp_trace_case_path("rings"), &result));
    assert_int_equal(result.n, 101);
    /* Each thread is one of its own, all the same. */
    for (size_t i = 1; i < result.n; i++)
        assert_true(result.records[i].thread != result.records[i - 1].thread);
}

static void *fill_a_ring(void *unused)
{
    for (size_t i = 0; i < SP_TRACE_RING_SIZE + 100; i++)
        sp_trace_trim(1, i);
    return unused;
}

/* On without a writer: nobody empties the ring. */
static void full_ring_loses_and_counts(void **state)
{
    uint64_t before = sp_trace_n_lost();
    pthread_t thread;

    (void)state;
    assert_true(sp_trace_rings_setup());
    atomic_store(&sp_trace_is_on, true);
    assert_int_equal(pthread_create(&thread, NULL, fill_a_ring, NULL), 0);
    pthread_join(thread, NULL);
    atomic_store(&sp_trace_is_on, false);
    assert_int_equal(sp_trace_n_lost() - before, 100);
    /* What was left over is not part of the next trace. */
    assert_ok(starpool_trace_begin(sp_trace_case_path("next")));
    assert_ok(starpool_trace_end());
    assert_true(sp_trace_case_read(sp_trace_case_path("next"), &result));
    assert_int_equal(result.n, 0);
    assert_int_equal(result.n_lost, 0);
}

static void file_that_takes_no_more_is_told_and_readable(void **state)
{
    struct rlimit before, limit;
    enum starpool_status status;
    const char *text;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = sizeof(struct sp_trace_header) + 5 * sizeof(struct sp_trace_entry) + 7;
    assert_ok(starpool_trace_begin(sp_trace_case_path("full")));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 20; i++)
        sp_trace_trim(1, 1);
    sp_script_stderr_begin();
    status = starpool_trace_end();
    setrlimit(RLIMIT_FSIZE, &before);
    text = sp_script_stderr_end();
    assert_status(STARPOOL_EIO, status);
    assert_true(sp_script_n_times(text, "trace lacks") <= 1);
    assert_true(sp_trace_case_read(sp_trace_case_path("full"), &result));
    assert_status(STARPOOL_EIO, result.status);
    assert_true(result.n <= 5);
}

/* ---- processes -------------------------------------------------------------------------- */

static int wait_for(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0)
        continue;
    return status;
}

static void forked_child_records_nothing(void **state)
{
    pid_t child;

    (void)state;
    assert_ok(starpool_trace_begin(sp_trace_case_path("parent")));
    sp_trace_trim(1, 1);
    child = fork();
    if (child == 0) {
        sp_trace_trim(1, 2);
        exit(starpool_trace_end() == STARPOOL_ENOTINIT ? 0 : 1);
    }
    assert_int_equal(wait_for(child), 0);
    sp_trace_trim(1, 3);
    assert_ok(starpool_trace_end());
    assert_true(sp_trace_case_read(sp_trace_case_path("parent"), &result));
    assert_status(STARPOOL_OK, result.status);
    assert_int_equal(result.n, 2);
    assert_int_equal(result.records[1].size, 3);
}

static void forked_child_may_have_a_trace_of_its_own(void **state)
{
    char own[512];
    pid_t child;

    (void)state;
    if (HAS_THREAD_SANITIZER) /* It starts no thread after a fork. */
        skip();
    snprintf(own, sizeof(own), "%s", sp_trace_case_path("child"));
    assert_ok(starpool_trace_begin(sp_trace_case_path("parent")));
    child = fork();
    if (child == 0) {
        if (starpool_trace_begin(own) != STARPOOL_OK)
            _exit(1);
        sp_trace_trim(1, 3);
        exit(0); /* Without a word to the trace. */
    }
    assert_int_equal(wait_for(child), 0);
    assert_ok(starpool_trace_end());
    assert_true(sp_trace_case_read(own, &result));
    assert_status(STARPOOL_OK, result.status);
    assert_int_equal(result.n, 1);
    assert_int_equal(result.records[0].size, 3);
}

/* This program, started as "crash PATH". */
static int crash(const char *path)
{
    if (starpool_trace_begin(path) != STARPOOL_OK)
        return 1;
    record_all_kinds();
    do /* Until the file has them. */
        (void)sp_trace_case_read(path, &result);
    while (result.n < N_KINDS);
    kill(getpid(), SIGKILL);
    return 1;
}

static void trace_of_a_crash_is_readable(void **state)
{
    char path[512];
    pid_t child;

    (void)state;
    snprintf(path, sizeof(path), "%s", sp_trace_case_path("crash"));
    child = fork();
    if (child == 0) {
        execl(sp_script_self(), sp_script_self(), "crash", path, (char *)NULL);
        _exit(1);
    }
    assert_true(WIFSIGNALED(wait_for(child)));
    assert_true(sp_trace_case_read(path, &result));
    assert_int_equal(result.n, N_KINDS);
    assert_status(STARPOOL_EIO, result.status);
    assert_non_null(strstr(result.reason, "no end"));
}

/* ---- reading what is wrong -------------------------------------------------------------- */

static void truncated_at_any_byte_is_told_with_its_place(void **state)
{
    const char *path = sp_trace_case_path("cut");
    size_t size = make_original();

    (void)state;
    for (size_t cut = 0; cut < size; cut++) {
        size_t n_whole = cut < 128 ? 0 : (cut - 128) / 48;

        assert_true(sp_trace_case_save(sp_trace_case_path("cut"), original, cut));
        assert_true(sp_trace_case_read(path, &result));
        assert_status(cut == 0 ? STARPOOL_EINVAL : STARPOOL_EIO, result.status);
        /* Two entries hold the name. */
        assert_int_equal(result.n, n_whole <= 2 ? 0 : n_whole - 2);
        assert_true(result.offset <= cut);
        assert_true(strlen(result.reason) > 0);
    }
}

static void foreign_file_is_told(void **state)
{
    static const char text[] =
        "This is no trace. It is long enough for a header, though, so that "
        "nothing but what it says is wrong with it: 1, 2, 3, 4, 5, 6, 7.";

    (void)state;
    assert_true(sp_trace_case_save(sp_trace_case_path("foreign"), text, sizeof(text)));
    assert_true(sp_trace_case_read(sp_trace_case_path("foreign"), &result));
    assert_status(STARPOOL_EINVAL, result.status);
    assert_int_equal(result.offset, 0);
    assert_non_null(strstr(result.reason, "no trace"));
    assert_true(sp_trace_case_read(sp_script_self(), &result));
    assert_status(STARPOOL_EINVAL, result.status);
    assert_false(sp_trace_case_read(sp_trace_case_path("missing"), &result));
    assert_status(STARPOOL_EIO, result.status);
    assert_false(sp_trace_case_read("/", &result));
    assert_status(STARPOOL_EIO, result.status);
}

static void swap_bytes(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        unsigned char byte = bytes[i];

        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = byte;
    }
}

static void trace_of_the_other_byte_order_reads_the_same(void **state)
{
    static struct sp_trace_case expected;
    size_t size = make_original();

    (void)state;
    assert_true(sp_trace_case_read(sp_trace_case_path("original"), &expected));
    memcpy(changed, original, size);
    for (size_t i = 8; i < 32; i += 4)
        swap_bytes(changed + i, 4);
    for (size_t i = 32; i < size; i += 8) {
        bool is_name = i >= 128 && original[i - (i - 128) % 48 + 8] == SP_TRACE_NAME;

        if (!is_name || (i - 128) % 48 < 16)
            swap_bytes(changed + i, 8);
    }
    assert_true(sp_trace_case_save(sp_trace_case_path("swapped"), changed, size));
    assert_true(sp_trace_case_read(sp_trace_case_path("swapped"), &result));
    assert_status(STARPOOL_OK, result.status);
    assert_int_equal(result.n, expected.n);
    assert_memory_equal(result.records, expected.records, expected.n * sizeof(*result.records));
    assert_string_equal(result.names[0], expected.names[0]);
}

/* Change one number of the header; the answer, and where. */
static enum starpool_status read_with(size_t offset, uint32_t value)
{
    size_t size = make_original();

    memcpy(changed, original, size);
    memcpy(changed + offset, &value, sizeof(value));
    assert_true(sp_trace_case_save(sp_trace_case_path("changed"), changed, size));
    assert_true(sp_trace_case_read(sp_trace_case_path("changed"), &result));
    assert_int_equal(result.n, 0);
    assert_int_equal(result.offset, offset);
    return result.status;
}

static void header_that_is_not_ours_is_told(void **state)
{
    (void)state;
    assert_status(STARPOOL_ENOTSUP, read_with(12, SP_TRACE_VERSION + 1));
    assert_non_null(strstr(result.reason, "version 2"));
    assert_status(STARPOOL_EINVAL, read_with(8, 0x01020403));
    assert_status(STARPOOL_EINVAL, read_with(12, 0));
    assert_status(STARPOOL_EINVAL, read_with(16, 129));
    assert_status(STARPOOL_EINVAL, read_with(20, 0));
    assert_status(STARPOOL_EINVAL, read_with(24, 2));
}

static void what_stands_behind_the_end_is_told(void **state)
{
    size_t size = make_original();

    (void)state;
    original[size] = 0;
    assert_true(sp_trace_case_save(sp_trace_case_path("behind"), original, size + 1));
    assert_true(sp_trace_case_read(sp_trace_case_path("behind"), &result));
    assert_status(STARPOOL_EINVAL, result.status);
    assert_int_equal(result.offset, size);
    assert_int_equal(result.n, N_KINDS);
}

static void hole_in_a_file_is_told(void **state)
{
    size_t size = make_original();

    (void)state;
    memset(original + 128 + 5 * 48, 0, 48);
    assert_true(sp_trace_case_save(sp_trace_case_path("hole"), original, size));
    assert_true(sp_trace_case_read(sp_trace_case_path("hole"), &result));
    assert_status(STARPOOL_EINVAL, result.status);
    assert_int_equal(result.offset, 128 + 5 * 48);
    assert_int_equal(result.n, 3);
}

static void kind_of_a_later_version_is_given_as_it_is(void **state)
{
    const struct sp_trace_entry entry = {.who = 77, .address = 1, .size = 2};

    (void)state;
    assert_true(sp_trace_case_write(sp_trace_case_path("later"), &entry, 1));
    assert_true(sp_trace_case_read(sp_trace_case_path("later"), &result));
    assert_status(STARPOOL_OK, result.status);
    assert_int_equal(result.records[0].kind, 77);
    assert_int_equal(result.records[0].size, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(events_come_back_as_they_were, setup),
        cmocka_unit_test_setup(long_name_is_cut_and_the_next_is_its_own, setup),
        cmocka_unit_test_setup(nothing_is_recorded_while_it_is_off, setup),
        cmocka_unit_test_setup(begin_and_end_answer_what_is_wrong, setup),
        cmocka_unit_test_setup(process_number_stands_in_the_name, setup),
        cmocka_unit_test_setup(many_threads_lose_no_event_uncounted, setup),
        cmocka_unit_test_setup(ring_of_a_thread_that_ended_is_handed_on, setup),
        cmocka_unit_test_setup(full_ring_loses_and_counts, setup),
        cmocka_unit_test_setup(file_that_takes_no_more_is_told_and_readable, setup),
        cmocka_unit_test_setup(forked_child_records_nothing, setup),
        cmocka_unit_test_setup(forked_child_may_have_a_trace_of_its_own, setup),
        cmocka_unit_test_setup(trace_of_a_crash_is_readable, setup),
        cmocka_unit_test_setup(truncated_at_any_byte_is_told_with_its_place, setup),
        cmocka_unit_test_setup(foreign_file_is_told, setup),
        cmocka_unit_test_setup(trace_of_the_other_byte_order_reads_the_same, setup),
        cmocka_unit_test_setup(header_that_is_not_ours_is_told, setup),
        cmocka_unit_test_setup(what_stands_behind_the_end_is_told, setup),
        cmocka_unit_test_setup(hole_in_a_file_is_told, setup),
        cmocka_unit_test_setup(kind_of_a_later_version_is_given_as_it_is, setup),
    };

    if (argc == 3 && strcmp(argv[1], "crash") == 0)
        return crash(argv[2]);
    return cmocka_run_group_tests_name("trace", tests, begin_group, end_group);
}

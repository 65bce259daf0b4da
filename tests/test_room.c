/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Room, read from made-up /proc and /sys trees: each source alone, the least of them, and files
 * that are missing or malformed. */
#include "config.h"

#include "tests/support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numa/cgroup.h"
#include "numa/procfile.h"
#include "numa/room.h"
#include "src/util/util.h"

/* The made-up machine of the running test. */
static char root[64];

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/starpool-room-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
    (void)stat, (void)type, (void)ftw;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Write a file below the root, making its folders. */
static void put(const char *path, const char *text)
{
    char whole[512];
    FILE *file;

    (void)snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        (void)mkdir(whole, 0700);
        *slash = '/';
    }
    file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A node with 1000 MiB free, 300 of file cache of which 20 are not clean, 100 of slab. */
static void put_node(int node)
{
    char path[96];

    (void)snprintf(path, sizeof(path), "sys/devices/system/node/node%d/meminfo", node);
    put(path, "Node 0 MemTotal:        4194304 kB\n"
              "Node 0 MemFree:         1024000 kB\n"
              "Node 0 Active(anon):      99999 kB\n"
              "Node 0 Active(file):     204800 kB\n"
              "Node 0 Inactive(file):   102400 kB\n"
              "Node 0 Dirty:             10240 kB\n"
              "Node 0 Writeback:         10240 kB\n"
              "Node 0 SReclaimable:     102400 kB\n");
}

static struct sp_room_sources ask(const int *nodes, int n_nodes, bool is_locking,
                                  bool is_mapped)
{
    const struct sp_room_question question = {.root = root,
                                              .nodes = nodes,
                                              .n_nodes = n_nodes,
                                              .is_locking = is_locking,
                                              .is_mapped = is_mapped};
    struct sp_room_sources sources;

    sp_room_read(&question, &sources);
    return sources;
}

static size_t ask_node(int node)
{
    return ask(&node, 1, false, false).bytes[SP_ROOM_NODE];
}

static void empty_machine_has_no_known_limit(void **state)
{
    struct sp_room_sources sources = ask(NULL, 0, true, false);
    struct sp_room room = sp_room_least(&sources);

    (void)state;
    assert_int_equal(room.cause, SP_ROOM_NONE);
    assert_true(room.bytes == SIZE_MAX);
}

static void node_counts_free_clean_cache_and_slab(void **state)
{
    (void)state;
    put_node(3);
    /* Kept: 8 MiB of the clean cache, half of the slab, 2 MiB of what is free. */
    assert_int_equal(ask_node(3), (size_t)(1000 - 2 + 280 - 8 + 100 - 50) * SP_MIB);
}

static void watermarks_of_the_node_alone_are_left(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    (void)state;
    put_node(0);
    /* Node 0: zone DMA has less than it should keep; zone Normal keeps high + protection. */
    put("proc/zoneinfo", "Node 0, zone      DMA\n"
                         "  pages free     10\n"
                         "        min      1\n"
                         "        low      10\n"
                         "        high     20\n"
                         "        managed  100\n"
                         "        protection: (0, 90, 500, 400)\n"
                         "              high:     7777\n"
                         "              high_min: 7777\n"
                         "Node 0, zone   Normal\n"
                         "        low      4096\n"
                         "        high     300\n"
                         "        managed  100000\n"
                         "        protection: (0, 0, 0, 0)\n"
                         "Node 1, zone   Normal\n"
                         "        low      5000\n"
                         "        high     9000\n"
                         "        managed  100000\n");
    /* 100 + 300 pages of reserve, and the low watermarks in place of 8 MiB of cache. */
    assert_int_equal(ask_node(0), 1328 * SP_MIB - (100 + 300 + 4106) * page);
}

static void nodes_are_added_up_each_less_the_reserve(void **state)
{
    static const int nodes[] = {0, 2, 5};
    struct sp_room_question question = {
        .root = root, .nodes = nodes, .n_nodes = 3, .reserve = {.bytes = 80 * SP_MIB}};
    struct sp_room_sources sources;

    (void)state;
    put_node(0);
    put_node(5);
    sp_room_read(&question, &sources);
    assert_int_equal(sources.bytes[SP_ROOM_NODE], 2480 * SP_MIB);
    question.reserve.bytes = 2000 * SP_MIB;
    sp_room_read(&question, &sources);
    assert_int_equal(sources.bytes[SP_ROOM_NODE], 0);
}

static void machine_without_node_files_answers_with_what_is_available(void **state)
{
    (void)state;
    put("proc/meminfo", "MemTotal: 9999 kB\nMemAvailable:     2048 kB\n");
    assert_int_equal(ask_node(0), 2 * SP_MIB);
}

static void malformed_node_files_are_no_limit(void **state)
{
    (void)state;
    put("sys/devices/system/node/node0/meminfo", "MemFree\n\nNode\nNode 0 MemFree: lots kB\n");
    put("proc/zoneinfo", "Node 0, zone\n high\nprotection: (\n");
    put("proc/meminfo", "MemAvailable: -1 kB\n");
    assert_true(ask_node(0) == SIZE_MAX);
    put("sys/devices/system/node/node0/meminfo",
        "Node 0 MemFree: 99999999999999999999999999 kB\n");
    assert_true(ask_node(0) == SIZE_MAX);
}

static void put_group_2(const char *group, const char *max, const char *high,
                        const char *current)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.max", group);
    put(path, max);
    (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.high", group);
    put(path, high);
    (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.current", group);
    put(path, current);
}

static const struct sp_reserve none;

static void reserve_is_at_most_its_part_of_little_memory(void **state)
{
    const struct sp_reserve whole = {.bytes = 64000};
    const struct sp_reserve part = {.bytes = 64000, .part = 16};

    (void)state;
    assert_int_equal(sp_reserve_of(&whole, 160000), 64000);
    assert_int_equal(sp_reserve_of(&part, 160000), 10000);
    assert_int_equal(sp_reserve_of(&part, SIZE_MAX), 64000);
    put("proc/self/cgroup", "0::/job\n");
    put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw shared:9 - cgroup2 cg rw\n");
    put_group_2("/job", "160000", "max", "100000");
    assert_int_equal(sp_cgroup_room(root, &none), 60000);
    assert_int_equal(sp_cgroup_room(root, &whole), 0);
    assert_int_equal(sp_cgroup_room(root, &part), 50000);
}

static void least_of_all_ancestors_holds_in_version_2(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/user/job/step\n");
    put("proc/self/mountinfo",
        "21 1 0:19 / /sys rw - sysfs sysfs rw\n"
        "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cg rw\n");
    put_group_2("/user", "max", "max", "77");
    put_group_2("/user/job", "1000000", "900000", "500000");
    put_group_2("/user/job/step", "2000000", "max", "300000");
    assert_int_equal(sp_cgroup_room(root, &none), 400000);
    put_group_2("/user", "650000", "max", "600000");
    assert_int_equal(sp_cgroup_room(root, &none), 50000);
    put("sys/fs/cgroup/user/memory.stat",
        "anon 1\ninactive_file 4000\nactive_file 3000\nfile_dirty 500\nfile_writeback 500\n"
        "slab_reclaimable 1000\nslab_reclaimable_not 9999999\n");
    assert_int_equal(sp_cgroup_room(root, &none), 50000 + 7000);
    put_group_2("/user", "650000", "max", "700000"); /* above the limit, for a moment */
    assert_int_equal(sp_cgroup_room(root, &none), 0);
}

static void version_1_counts_the_cache_and_the_limit_of_hidden_ancestors(void **state)
{
    (void)state;
    put("proc/self/cgroup", "5:cpu,cpuacct:/elsewhere\n4:memory:/docker/abc\n0::/\n");
    put("proc/self/mountinfo",
        "34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/abc /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n");
    put("sys/fs/cgroup/my memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/my memory/memory.usage_in_bytes", "500000\n");
    assert_true(sp_cgroup_room(root, &none) == SIZE_MAX);
    put("sys/fs/cgroup/my memory/memory.stat",
        "cache 1\nhierarchical_memory_limit 800000\ntotal_inactive_file 10000\n"
        "total_active_file 20000\ntotal_dirty 5000\n");
    assert_int_equal(sp_cgroup_room(root, &none), 325000);
    put("sys/fs/cgroup/my memory/memory.limit_in_bytes", "600000\n");
    assert_int_equal(sp_cgroup_room(root, &none), 125000);
}

static void group_outside_the_mount_is_looked_for_at_the_mount_point(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/../../other\n");
    put("proc/self/mountinfo", "31 23 0:28 /pod /sys/fs/cgroup rw - cgroup2 cg rw\n");
    put_group_2("", "1000", "max", "400");
    assert_int_equal(sp_cgroup_room(root, &none), 600);
}

static void malformed_group_files_are_no_limit(void **state)
{
    char line[6000];

    (void)state;
    put("proc/self/cgroup", "nonsense\n0:\n4:memory\n");
    assert_true(sp_cgroup_room(root, &none) == SIZE_MAX);
    put("proc/self/cgroup", "0::/job\n");
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    put("proc/self/mountinfo", line);
    assert_true(sp_cgroup_room(root, &none) == SIZE_MAX);
    /* A line that is too long must not hide the next one. */
    (void)snprintf(line + 4000, 200,
                   "\n - \n1 2 3 - cgroup2\n"
                   "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cg rw\n");
    put("proc/self/mountinfo", line);
    put_group_2("/job", "lots", "-5", "7");
    assert_true(sp_cgroup_room(root, &none) == SIZE_MAX);
    put_group_2("/job", "lots", "50", "7");
    assert_int_equal(sp_cgroup_room(root, &none), 43);
}

static void put_process(const char *capabilities, const char *limits)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "Name:\tx\nVmSize:\t    1000 kB\nVmLck:\t  20 kB\nCapEff:\t%s\n",
                   capabilities);
    put("proc/self/status", text);
    put("proc/self/limits", limits);
}

static void address_space_left_is_the_limit_less_what_is_mapped(void **state)
{
    (void)state;
    put_process("0", "Max address space         2048000     unlimited  bytes\n");
    assert_int_equal(ask(NULL, 0, false, false).bytes[SP_ROOM_ADDRESS], 1000 * SP_KIB);
    assert_true(ask(NULL, 0, false, true).bytes[SP_ROOM_ADDRESS] == SIZE_MAX);
    put_process("0", "Max address space         unlimited   unlimited  bytes\n");
    assert_true(ask(NULL, 0, false, false).bytes[SP_ROOM_ADDRESS] == SIZE_MAX);
}

static void locked_memory_counts_when_locking_without_the_capability(void **state)
{
    static const char limits[] = "Max locked memory         65536       65536      bytes\n";
    struct sp_room_sources sources;

    (void)state;
    put_process("0000000000000000", limits);
    sources = ask(NULL, 0, true, false);
    assert_int_equal(sources.bytes[SP_ROOM_MEMLOCK], 44 * SP_KIB);
    assert_int_equal(sp_room_least(&sources).cause, SP_ROOM_MEMLOCK);
    assert_true(ask(NULL, 0, false, false).bytes[SP_ROOM_MEMLOCK] == SIZE_MAX);
    put_process("0000000000004000", limits); /* CAP_IPC_LOCK */
    assert_true(ask(NULL, 0, true, false).bytes[SP_ROOM_MEMLOCK] == SIZE_MAX);
}

static void commit_limit_counts_under_strict_overcommit_only(void **state)
{
    (void)state;
    put("proc/meminfo", "CommitLimit:     5000 kB\nCommitted_AS:    3000 kB\n");
    put("proc/sys/vm/overcommit_memory", "0\n");
    assert_true(ask(NULL, 0, false, false).bytes[SP_ROOM_COMMIT] == SIZE_MAX);
    put("proc/sys/vm/overcommit_memory", "2\n");
    assert_int_equal(ask(NULL, 0, false, false).bytes[SP_ROOM_COMMIT], 2000 * SP_KIB);
    assert_true(ask(NULL, 0, false, true).bytes[SP_ROOM_COMMIT] == SIZE_MAX);
}

static void each_cause_has_its_status(void **state)
{
    struct sp_room_sources sources = {.bytes = {[SP_ROOM_NODE] = 9,
                                                [SP_ROOM_CGROUP] = 5,
                                                [SP_ROOM_ADDRESS] = 7,
                                                [SP_ROOM_MEMLOCK] = 6,
                                                [SP_ROOM_COMMIT] = 8}};

    (void)state;
    assert_int_equal(sp_room_least(&sources).cause, SP_ROOM_CGROUP);
    assert_int_equal(sp_room_least(&sources).bytes, 5);
    assert_status(STARPOOL_ENODE, sp_room_status(SP_ROOM_NODE));
    assert_status(STARPOOL_ECGROUP, sp_room_status(SP_ROOM_CGROUP));
    assert_status(STARPOOL_EMEMLOCK, sp_room_status(SP_ROOM_MEMLOCK));
    assert_status(STARPOOL_ENOMEM, sp_room_status(SP_ROOM_ADDRESS));
    assert_status(STARPOOL_ENOMEM, sp_room_status(SP_ROOM_COMMIT));
}

static void this_machine_leaves_some_room(void **state)
{
    struct sp_room room;

    (void)state;
    sp_room_query(-1, false, &room);
    assert_true(room.bytes > 0);
    assert_true(room.cause != SP_ROOM_MEMLOCK);
    assert_string_not_equal(sp_room_cause_text(room.cause), "");
}

#define room_test(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        room_test(empty_machine_has_no_known_limit),
        room_test(node_counts_free_clean_cache_and_slab),
        room_test(watermarks_of_the_node_alone_are_left),
        room_test(nodes_are_added_up_each_less_the_reserve),
        room_test(machine_without_node_files_answers_with_what_is_available),
        room_test(malformed_node_files_are_no_limit),
        room_test(reserve_is_at_most_its_part_of_little_memory),
        room_test(least_of_all_ancestors_holds_in_version_2),
        room_test(version_1_counts_the_cache_and_the_limit_of_hidden_ancestors),
        room_test(group_outside_the_mount_is_looked_for_at_the_mount_point),
        room_test(malformed_group_files_are_no_limit),
        room_test(address_space_left_is_the_limit_less_what_is_mapped),
        room_test(locked_memory_counts_when_locking_without_the_capability),
        room_test(commit_limit_counts_under_strict_overcommit_only),
        room_test(each_cause_has_its_status),
        cmocka_unit_test(this_machine_leaves_some_room),
    };

    return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}

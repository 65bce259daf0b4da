/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* DEF: default and current pools. */
#include "config.h"

#include "tests/conformance.h"

#include <pthread.h>
#include <unistd.h>

static sp_cu_pool current_pool(int device)
{
    sp_cu_pool pool;

    assert_success(cu->cuDeviceGetMemPool(&pool, device));
    return pool;
}

static void set_current(int device, sp_cu_pool pool)
{
    assert_success(cu->cuDeviceSetMemPool(device, pool));
}

/* As it is at first: the default pool is the current one. */
static void restore(int device)
{
    set_current(device, sp_case_default_pool(device));
}

static struct sp_cu_location place(int type, int id)
{
    return (struct sp_cu_location){.type = type, .id = id};
}

static sp_cu_pool pool_at(int type, int id)
{
    struct sp_cu_pool_props props = sp_case_props(0);

    props.location = place(type, id);
    return sp_case_pool_of(&props);
}

/* ---- default pools --------------------------------------------------------------------- */

static void def_01_a_device_has_one_default_pool(void)
{
    sp_cu_pool pool = sp_case_default_pool(0);

    assert_non_null(pool);
    assert_ptr_equal(sp_case_default_pool(0), pool);
    if (sp_case_n_devices() > 1)
        assert_ptr_not_equal(sp_case_default_pool(1), pool);
}

static void def_02_memory_of_a_default_pool_is_on_its_device(void)
{
    for (int device = 0; device < 2 && device < sp_case_n_devices(); device++) {
        sp_cu_stream stream;
        sp_cu_ptr ptr;

        sp_case_device(device);
        stream = sp_case_stream();
        ptr = sp_case_alloc(sp_case_default_pool(device), 512, stream);
        assert_int_equal(sp_case_device_of_ptr(ptr), device);
        sp_case_free(ptr, stream);
    }
}

static void def_03_bad_devices_have_a_result_of_their_own(void)
{
    sp_cu_pool pool;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceGetDefaultMemPool(NULL, 0));
    assert_cu(SP_CU_INVALID_DEVICE, cu->cuDeviceGetDefaultMemPool(&pool, -1));
    assert_cu(SP_CU_INVALID_DEVICE, cu->cuDeviceGetDefaultMemPool(&pool, sp_case_n_devices()));
}

static void def_04_default_pools_cannot_be_exported(void)
{
    int file = -1;

    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolExportToShareableHandle(&file, sp_case_default_pool(0),
                                                   SP_CU_HANDLE_POSIX_FD, 0));
    assert_int_equal(file, -1);
}

/* ---- the current pool ------------------------------------------------------------------ */

static void def_05_default_pool_is_current_at_first(void)
{
    for (int device = 0; device < sp_case_n_devices(); device++)
        assert_ptr_equal(current_pool(device), sp_case_default_pool(device));
}

/* What another thread, which has no context, sees. */
static void *ask(void *pool_out)
{
    (void)!cu->cuDeviceGetMemPool(pool_out, 0);
    return NULL;
}

static void def_06_current_pool_is_the_whole_process_s(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_pool seen = NULL;
    pthread_t thread;

    assert_ptr_equal(current_pool(0), sp_case_default_pool(0));
    set_current(0, pool);
    assert_ptr_equal(current_pool(0), pool);
    assert_int_equal(pthread_create(&thread, NULL, ask, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ptr_equal(seen, pool);
    assert_ptr_not_equal(sp_case_pool(0), pool);
    assert_ptr_equal(current_pool(0), pool);
    if (sp_case_n_devices() > 1) {
        sp_case_device(1);
        assert_ptr_equal(current_pool(0), pool);
        assert_ptr_equal(current_pool(1), sp_case_default_pool(1));
    }
    restore(0);
}

static void def_07_bad_arguments_are_all_invalid_values(void)
{
    sp_cu_pool own = sp_case_pool(0);
    sp_cu_pool pool;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceGetMemPool(NULL, 0));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceGetMemPool(&pool, -1));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceGetMemPool(&pool, sp_case_n_devices()));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(0, NULL));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(-1, own));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(sp_case_n_devices(), own));
    assert_ptr_equal(current_pool(0), sp_case_default_pool(0));
}

static void def_08_pool_of_another_device_cannot_be_current(void)
{
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(0, sp_case_pool(1)));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(0, sp_case_default_pool(1)));
    assert_ptr_equal(current_pool(0), sp_case_default_pool(0));
}

static void def_08_host_pools_cannot_be_current_for_a_device(void)
{
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(0, pool_at(SP_CU_LOCATION_HOST, 0)));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(0, pool_at(SP_CU_LOCATION_HOST_NUMA,
                                                                     sp_case_numa_node())));
    assert_ptr_equal(current_pool(0), sp_case_default_pool(0));
}

static void import_and_set(const char *role, int socket)
{
    int file = sp_case_receive_file(socket);
    sp_cu_pool pool;

    (void)role;
    sp_case_start();
    assert_success(cu->cuMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)file,
                                                          SP_CU_HANDLE_POSIX_FD, 0));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetMemPool(0, pool));
    assert_ptr_equal(current_pool(0), sp_case_default_pool(0));
    assert_success(cu->cuMemPoolDestroy(pool));
    assert_int_equal(close(file), 0);
}

static void def_09_imported_pool_cannot_be_current(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    struct sp_child child;
    int file = -1;

    props.handle_types = SP_CU_HANDLE_POSIX_FD;
    assert_success(cu->cuMemPoolExportToShareableHandle(&file, sp_case_pool_of(&props),
                                                        SP_CU_HANDLE_POSIX_FD, 0));
    sp_case_child_start(&child, "");
    sp_case_send_file(child.socket, file);
    sp_case_child_end(&child);
    assert_int_equal(close(file), 0);
}

static void def_10_allocation_comes_from_the_pool_that_is_current_at_the_call(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool one = sp_case_pool(0);
    sp_cu_pool two = sp_case_pool(0);
    sp_cu_ptr from_one, from_two;

    set_current(0, one);
    assert_success(cu->cuMemAllocAsync(&from_one, 512, stream));
    set_current(0, two);
    assert_success(cu->cuMemAllocAsync(&from_two, 1024, stream));
    assert_ptr_equal(sp_case_pool_of_ptr(from_one), one);
    assert_ptr_equal(sp_case_pool_of_ptr(from_two), two);
    assert_int_equal(sp_case_used(one), 512);
    assert_int_equal(sp_case_used(two), 1024);
    sp_case_fill(from_one, 1, 512, stream);
    sp_case_assert_bytes(from_one, 1, 512, stream);
    sp_case_free(from_one, stream);
    sp_case_free(from_two, stream);
    restore(0);
}

static void def_10_device_is_the_stream_s_and_not_the_current_context_s(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr;

    set_current(0, pool);
    sp_case_device(1);
    assert_success(cu->cuMemAllocAsync(&ptr, 512, stream));
    assert_ptr_equal(sp_case_pool_of_ptr(ptr), pool);
    assert_int_equal(sp_case_device_of_ptr(ptr), 0);
    sp_case_free(ptr, stream);
    restore(0);
}

static void def_11_default_pool_follows_the_current_one_that_is_destroyed(void)
{
    sp_cu_pool current = sp_case_pool(0);
    sp_cu_pool other = sp_case_pool(0);

    set_current(0, current);
    sp_case_forget_pool(other);
    assert_success(cu->cuMemPoolDestroy(other));
    assert_ptr_equal(current_pool(0), current);
    sp_case_forget_pool(current);
    assert_success(cu->cuMemPoolDestroy(current));
    assert_ptr_equal(current_pool(0), sp_case_default_pool(0));
}

/* ---- by location and kind -------------------------------------------------------------- */

static void assert_is_a_place(struct sp_cu_location location, int kind)
{
    sp_cu_pool pool = NULL;
    sp_cu_pool current = NULL;
    sp_cu_result result = cu->cuMemGetDefaultMemPool(&pool, &location, kind);

    if (result == SP_CU_NOT_SUPPORTED && !cu->is_model)
        return;
    assert_cu(SP_CU_SUCCESS, result);
    assert_non_null(pool);
    assert_success(cu->cuMemGetMemPool(&current, &location, kind));
    assert_ptr_equal(current, pool);
    assert_success(cu->cuMemSetMemPool(&location, kind, pool));
}

static void def_12_places_and_kinds_that_have_default_pools(void)
{
    sp_case_need(SP_CALL_cuMemGetDefaultMemPool);
    for (int kind = SP_CU_ALLOCATION_PINNED; kind <= SP_CU_ALLOCATION_MANAGED; kind++) {
        assert_is_a_place(place(SP_CU_LOCATION_DEVICE, 0), kind);
        assert_is_a_place(place(SP_CU_LOCATION_HOST, 0), kind);
        assert_is_a_place(place(SP_CU_LOCATION_HOST_NUMA, sp_case_numa_node()), kind);
    }
    assert_is_a_place(place(SP_CU_LOCATION_NONE, 0), SP_CU_ALLOCATION_MANAGED);
}

static void assert_is_no_place(struct sp_cu_location location, int kind)
{
    sp_cu_pool pool = NULL;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemGetDefaultMemPool(&pool, &location, kind));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemGetMemPool(&pool, &location, kind));
    assert_null(pool);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemSetMemPool(&location, kind, sp_case_default_pool(0)));
}

static void def_12_everything_else_is_an_invalid_value(void)
{
    struct sp_cu_location device = place(SP_CU_LOCATION_DEVICE, 0);
    sp_cu_pool pool;

    sp_case_need(SP_CALL_cuMemGetDefaultMemPool);
    assert_is_no_place(place(SP_CU_LOCATION_NONE, 0), SP_CU_ALLOCATION_PINNED);
    assert_is_no_place(place(SP_CU_LOCATION_HOST_NUMA_CURRENT, 0), SP_CU_ALLOCATION_PINNED);
    assert_is_no_place(place(SP_CU_LOCATION_HOST_NUMA_CURRENT, 0), SP_CU_ALLOCATION_MANAGED);
    assert_is_no_place(place(99, 0), SP_CU_ALLOCATION_PINNED);
    assert_is_no_place(device, SP_CU_ALLOCATION_INVALID);
    assert_is_no_place(device, 99);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemGetDefaultMemPool(NULL, &device, SP_CU_ALLOCATION_PINNED));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemGetDefaultMemPool(&pool, NULL, SP_CU_ALLOCATION_PINNED));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemGetMemPool(NULL, &device, SP_CU_ALLOCATION_PINNED));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemGetMemPool(&pool, NULL, SP_CU_ALLOCATION_PINNED));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemSetMemPool(NULL, SP_CU_ALLOCATION_PINNED, sp_case_default_pool(0)));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemSetMemPool(&device, SP_CU_ALLOCATION_PINNED, NULL));
}

static void def_13_current_pool_of_the_host_serves_no_allocation_in_a_stream(void)
{
    struct sp_cu_location host = place(SP_CU_LOCATION_HOST, 0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool, before, current;
    sp_cu_ptr ptr;

    sp_case_need(SP_CALL_cuMemSetMemPool);
    pool = pool_at(SP_CU_LOCATION_HOST, 0);
    assert_success(cu->cuMemGetMemPool(&before, &host, SP_CU_ALLOCATION_PINNED));
    assert_success(cu->cuMemSetMemPool(&host, SP_CU_ALLOCATION_PINNED, pool));
    assert_success(cu->cuMemGetMemPool(&current, &host, SP_CU_ALLOCATION_PINNED));
    assert_ptr_equal(current, pool);
    assert_success(cu->cuMemAllocAsync(&ptr, 512, stream));
    assert_ptr_equal(sp_case_pool_of_ptr(ptr), sp_case_default_pool(0));
    assert_int_equal(sp_case_device_of_ptr(ptr), 0);
    assert_int_equal(sp_case_used(pool), 0);
    sp_case_free(ptr, stream);
    assert_success(cu->cuMemSetMemPool(&host, SP_CU_ALLOCATION_PINNED, before));
}

static void def_14_both_ways_to_ask_and_to_set_are_one(void)
{
    struct sp_cu_location device = place(SP_CU_LOCATION_DEVICE, 0);
    sp_cu_pool own = sp_case_pool(0);
    sp_cu_pool pool;

    sp_case_need(SP_CALL_cuMemSetMemPool);
    assert_success(cu->cuMemGetDefaultMemPool(&pool, &device, SP_CU_ALLOCATION_PINNED));
    assert_ptr_equal(pool, sp_case_default_pool(0));
    assert_success(cu->cuMemSetMemPool(&device, SP_CU_ALLOCATION_PINNED, own));
    assert_ptr_equal(current_pool(0), own);
    restore(0);
    assert_success(cu->cuMemGetMemPool(&pool, &device, SP_CU_ALLOCATION_PINNED));
    assert_ptr_equal(pool, sp_case_default_pool(0));
    set_current(0, own);
    assert_success(cu->cuMemGetMemPool(&pool, &device, SP_CU_ALLOCATION_PINNED));
    assert_ptr_equal(pool, own);
    restore(0);
}

static void def_14_pool_must_match_place_and_kind(void)
{
    struct sp_cu_location device = place(SP_CU_LOCATION_DEVICE, 0);
    struct sp_cu_location host = place(SP_CU_LOCATION_HOST, 0);
    sp_cu_pool of_device, of_host;

    sp_case_need(SP_CALL_cuMemSetMemPool);
    of_device = sp_case_pool(0);
    of_host = pool_at(SP_CU_LOCATION_HOST, 0);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemSetMemPool(&host, SP_CU_ALLOCATION_PINNED, of_device));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemSetMemPool(&device, SP_CU_ALLOCATION_PINNED, of_host));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemSetMemPool(&device, SP_CU_ALLOCATION_MANAGED, of_device));
    assert_ptr_equal(current_pool(0), sp_case_default_pool(0));
}

static void def_14_a_host_pool_matches_whatever_id_it_was_made_with(void)
{
    struct sp_cu_location host = place(SP_CU_LOCATION_HOST, 0);
    sp_cu_pool own, before, now;

    sp_case_need(SP_CALL_cuMemSetMemPool);
    own = pool_at(SP_CU_LOCATION_HOST, 12345);
    assert_success(cu->cuMemGetMemPool(&before, &host, SP_CU_ALLOCATION_PINNED));
    assert_success(cu->cuMemSetMemPool(&host, SP_CU_ALLOCATION_PINNED, own));
    assert_success(cu->cuMemGetMemPool(&now, &host, SP_CU_ALLOCATION_PINNED));
    assert_ptr_equal(now, own);
    assert_success(cu->cuMemSetMemPool(&host, SP_CU_ALLOCATION_PINNED, before));
}

static sp_cu_result default_pool_at(void *location)
{
    sp_cu_pool pool;

    return cu->cuMemGetDefaultMemPool(&pool, location, SP_CU_ALLOCATION_PINNED);
}

static void def_15_default_pool_of_a_device_that_does_not_exist(void)
{
    static const struct sp_choice choices[] = {
        {"invalid-device", SP_CU_INVALID_DEVICE},
        {"invalid-value", SP_CU_INVALID_VALUE},
    };
    struct sp_cu_location above = place(SP_CU_LOCATION_DEVICE, sp_case_n_devices());
    struct sp_cu_location below = place(SP_CU_LOCATION_DEVICE, -1);

    sp_case_need(SP_CALL_cuMemGetDefaultMemPool);
    sp_case_choose("DEF-15", "default_bad_device", choices, 2, default_pool_at, &above);
    sp_case_choose("DEF-15", "default_bad_device", choices, 2, default_pool_at, &below);
}

static void def_15_managed_pools_need_concurrent_managed_access(void)
{
    struct sp_cu_location nowhere = place(SP_CU_LOCATION_NONE, 0);
    bool is_there = sp_case_device_attribute(SP_CU_DEVICE_CONCURRENT_MANAGED_ACCESS, 0) != 0;
    sp_cu_pool pool;

    sp_case_need(SP_CALL_cuMemGetDefaultMemPool);
    assert_cu(is_there ? SP_CU_SUCCESS : SP_CU_NOT_SUPPORTED,
              cu->cuMemGetDefaultMemPool(&pool, &nowhere, SP_CU_ALLOCATION_MANAGED));
}

static const struct sp_case cases[] = {
    SP_CASE(def_01_a_device_has_one_default_pool, 0),
    SP_CASE(def_02_memory_of_a_default_pool_is_on_its_device, 0),
    SP_CASE(def_03_bad_devices_have_a_result_of_their_own, 0),
    SP_CASE(def_04_default_pools_cannot_be_exported, 0),
    SP_CASE(def_05_default_pool_is_current_at_first, 0),
    SP_CASE(def_06_current_pool_is_the_whole_process_s, SP_TAG_THR),
    SP_CASE(def_07_bad_arguments_are_all_invalid_values, 0),
    SP_CASE(def_08_pool_of_another_device_cannot_be_current, SP_TAG_GPU2),
    SP_CASE(def_08_host_pools_cannot_be_current_for_a_device, SP_TAG_HOST),
    SP_CASE_CHILD(def_09_imported_pool_cannot_be_current, SP_TAG_PROC, import_and_set),
    SP_CASE(def_10_allocation_comes_from_the_pool_that_is_current_at_the_call, 0),
    SP_CASE(def_10_device_is_the_stream_s_and_not_the_current_context_s, SP_TAG_GPU2),
    SP_CASE(def_11_default_pool_follows_the_current_one_that_is_destroyed, 0),
    SP_CASE(def_12_places_and_kinds_that_have_default_pools, 0),
    SP_CASE(def_12_everything_else_is_an_invalid_value, 0),
    SP_CASE(def_13_current_pool_of_the_host_serves_no_allocation_in_a_stream, SP_TAG_HOST),
    SP_CASE(def_14_both_ways_to_ask_and_to_set_are_one, 0),
    SP_CASE(def_14_pool_must_match_place_and_kind, SP_TAG_HOST),
    SP_CASE(def_14_a_host_pool_matches_whatever_id_it_was_made_with, SP_TAG_HOST),
    SP_CASE(def_15_default_pool_of_a_device_that_does_not_exist, 0),
    SP_CASE(def_15_managed_pools_need_concurrent_managed_access, 0),
};

const struct sp_case_group sp_cases_def = SP_CASE_GROUP("DEF", cases);

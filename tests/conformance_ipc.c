/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* IPC: pools that go to another process, or back into the same, and the list of all cases of
 * IPC. */
#include "config.h"

#include "tests/conformance_ipc.h"

#include <string.h>
#include <unistd.h>

#define SIZE ((size_t)4096)
#define BIG  ((size_t)48 << 20)

void sp_ipc_say(int socket)
{
    sp_case_send(socket, "", 1);
}

void sp_ipc_hear(int socket)
{
    char byte;

    sp_case_receive(socket, &byte, 1);
}

/* ---- exporting and importing what must succeed ----------------------------------------------
 */

sp_cu_pool sp_ipc_shareable_pool(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);

    if ((sp_case_device_attribute(SP_CU_DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0) &
         SP_CU_HANDLE_POSIX_FD) == 0)
        sp_case_skip("device 0 cannot export pools as descriptors");
    props.handle_types = SP_CU_HANDLE_POSIX_FD;
    return sp_case_pool_of(&props);
}

int sp_ipc_export_pool(sp_cu_pool pool)
{
    int file = -1;

    assert_success(cu->cuMemPoolExportToShareableHandle(&file, pool, SP_CU_HANDLE_POSIX_FD, 0));
    assert_true(file >= 0);
    return file;
}

sp_cu_pool sp_ipc_import_pool(int file)
{
    sp_cu_pool pool = NULL;

    assert_success(cu->cuMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)file,
                                                          SP_CU_HANDLE_POSIX_FD, 0));
    assert_non_null(pool);
    assert_int_equal(close(file), 0);
    return pool;
}

struct sp_cu_pointer_export sp_ipc_export_pointer(sp_cu_ptr ptr)
{
    struct sp_cu_pointer_export data;

    memset(&data, 0, sizeof(data));
    assert_success(cu->cuMemPoolExportPointer(&data, ptr));
    return data;
}

sp_cu_ptr sp_ipc_import_pointer(sp_cu_pool pool, struct sp_cu_pointer_export *data)
{
    sp_cu_ptr ptr = 0;

    assert_success(cu->cuMemPoolImportPointer(&ptr, pool, data));
    assert_int_not_equal(ptr, 0);
    return ptr;
}

void sp_ipc_send_pool(int socket, sp_cu_pool pool)
{
    int file = sp_ipc_export_pool(pool);

    sp_case_send_file(socket, file);
    assert_int_equal(close(file), 0);
}

void sp_ipc_send_pointer(int socket, sp_cu_ptr ptr)
{
    struct sp_cu_pointer_export data = sp_ipc_export_pointer(ptr);

    sp_case_send(socket, &data, sizeof(data));
}

sp_cu_ptr sp_ipc_receive_pointer(int socket, sp_cu_pool pool)
{
    struct sp_cu_pointer_export data;

    sp_case_receive(socket, &data, sizeof(data));
    return sp_ipc_import_pointer(pool, &data);
}

/* ---- pools ----------------------------------------------------------------------------------
 */

static void ipc_01_a_pool_is_exported_as_a_descriptor_and_imported_by_its_value(void)
{
    sp_cu_pool pool = sp_ipc_shareable_pool();
    int file = sp_ipc_export_pool(pool);
    int second = sp_ipc_export_pool(pool);
    sp_cu_pool imported;

    assert_int_not_equal(file, second);
    imported = sp_ipc_import_pool(file);
    assert_success(cu->cuMemPoolDestroy(imported));
    assert_int_equal(close(second), 0);
}

static void ipc_02_bad_exports_are_refused(void)
{
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_pool unshared = sp_case_pool(0);
    int file = -1;

    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolExportToShareableHandle(&file, unshared, SP_CU_HANDLE_POSIX_FD, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolExportToShareableHandle(&file, pool, SP_CU_HANDLE_NONE, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolExportToShareableHandle(NULL, pool, SP_CU_HANDLE_POSIX_FD, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolExportToShareableHandle(&file, NULL, SP_CU_HANDLE_POSIX_FD, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolExportToShareableHandle(&file, pool, SP_CU_HANDLE_POSIX_FD, 1));
}

static void ipc_03_bad_imports_are_refused(void)
{
    sp_cu_pool pool = sp_ipc_shareable_pool();
    int file = sp_ipc_export_pool(pool);
    void *handle = (void *)(uintptr_t)file;
    sp_cu_pool out = NULL;

    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolImportFromShareableHandle(NULL, handle, SP_CU_HANDLE_POSIX_FD, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolImportFromShareableHandle(&out, NULL, SP_CU_HANDLE_POSIX_FD, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolImportFromShareableHandle(&out, handle, SP_CU_HANDLE_NONE, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuMemPoolImportFromShareableHandle(&out, handle, SP_CU_HANDLE_POSIX_FD, 1));
    /* The descriptor itself was good. */
    assert_success(cu->cuMemPoolDestroy(sp_ipc_import_pool(file)));
}

/* A process whose IMEX channel the role names: what does importing the pool answer? */
static void fabric_child(const char *role, int socket)
{
    struct sp_cu_fabric_handle handle;
    sp_cu_pool pool = NULL;
    sp_cu_result result;

    sp_case_start();
    assert_true(sp_case_switch("imex", role));
    sp_case_receive(socket, &handle, sizeof(handle));
    result = cu->cuMemPoolImportFromShareableHandle(&pool, &handle, SP_CU_HANDLE_FABRIC, 0);
    if (result == SP_CU_SUCCESS)
        assert_success(cu->cuMemPoolDestroy(pool));
    sp_case_send(socket, &result, sizeof(result));
}

/* What a process with that channel answers when it imports a pool of one with channel 3. */
static sp_cu_result import_by_fabric(const char *channel)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    struct sp_cu_fabric_handle handle;
    struct sp_child child;
    sp_cu_result result;
    sp_cu_pool pool;

    assert_true(sp_case_switch("imex", "channel=3"));
    props.handle_types = SP_CU_HANDLE_FABRIC;
    pool = sp_case_pool_of(&props);
    memset(&handle, 0, sizeof(handle));
    assert_success(cu->cuMemPoolExportToShareableHandle(&handle, pool, SP_CU_HANDLE_FABRIC, 0));
    sp_case_child_start(&child, channel);
    sp_case_send(child.socket, &handle, sizeof(handle));
    sp_case_receive(child.socket, &result, sizeof(result));
    sp_case_child_end(&child);
    return result;
}

static void ipc_04_without_a_channel_the_fabric_imports_nothing(void)
{
    assert_cu(SP_CU_NOT_PERMITTED, import_by_fabric("no-channel"));
}

static void ipc_16_the_same_channel_imports_and_another_does_not(void)
{
    assert_cu(SP_CU_SUCCESS, import_by_fabric("channel=3"));
    assert_cu(SP_CU_NOT_PERMITTED, import_by_fabric("channel=4"));
}

static void alloc_child(const char *role, int socket)
{
    sp_cu_ptr ptr = 0;
    sp_cu_result result;
    sp_cu_pool pool;

    (void)role;
    sp_case_start();
    pool = sp_ipc_import_pool(sp_case_receive_file(socket));
    result = cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, sp_case_stream());
    assert_success(cu->cuMemPoolDestroy(pool));
    sp_case_send(socket, &result, sizeof(result));
}

static void ipc_05_an_imported_pool_allocates_nothing(void)
{
    sp_cu_pool pool = sp_ipc_shareable_pool();
    struct sp_child child;
    sp_cu_result result;

    sp_case_child_start(&child, "");
    sp_ipc_send_pool(child.socket, pool);
    sp_case_receive(child.socket, &result, sizeof(result));
    sp_case_child_end(&child);
    assert_int_not_equal(result, SP_CU_SUCCESS);
    sp_case_observe("IPC-05", "%d", result);
    if (cu->is_model)
        assert_cu(SP_CU_INVALID_VALUE, result);
}

static int access_of(sp_cu_pool pool, int device)
{
    struct sp_cu_location location = {.type = SP_CU_LOCATION_DEVICE, .id = device};
    int flags = -1;

    assert_success(cu->cuMemPoolGetAccess(&flags, pool, &location));
    return flags;
}

static void grant_peer(sp_cu_pool pool)
{
    struct sp_cu_access_desc access = {{.type = SP_CU_LOCATION_DEVICE, .id = 1},
                                       SP_CU_ACCESS_READWRITE};

    assert_success(cu->cuMemPoolSetAccess(pool, &access, 1));
    assert_int_equal(access_of(pool, 1), SP_CU_ACCESS_READWRITE);
}

static void access_child(const char *role, int socket)
{
    sp_cu_pool pool;

    (void)role;
    sp_case_start();
    pool = sp_ipc_import_pool(sp_case_receive_file(socket));
    assert_int_equal(access_of(pool, 0), SP_CU_ACCESS_READWRITE);
    assert_int_equal(access_of(pool, 1), SP_CU_ACCESS_NONE);
    grant_peer(pool);
    assert_success(cu->cuMemPoolDestroy(pool));
}

static void ipc_06_an_imported_pool_begins_with_its_home_device_only(void)
{
    sp_cu_pool pool = sp_ipc_shareable_pool();
    struct sp_child child;

    grant_peer(pool);
    sp_case_child_start(&child, "");
    sp_ipc_send_pool(child.socket, pool);
    sp_case_child_end(&child);
}

static void figures_child(const char *role, int socket)
{
    struct sp_cu_pointer_export data;
    uint64_t reserved;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    (void)role;
    sp_case_start();
    pool = sp_ipc_import_pool(sp_case_receive_file(socket));
    sp_case_receive(socket, &data, sizeof(data));
    /* The exporter's two blocks are nothing to this process until it has one of them. */
    assert_int_equal(sp_case_used(pool), 0);
    ptr = sp_ipc_import_pointer(pool, &data);
    assert_int_equal(sp_case_used(pool), SIZE);
    reserved = sp_case_reserved(pool);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_int_equal(sp_case_reserved(pool), reserved);
    assert_success(cu->cuMemFree(ptr));
    assert_int_equal(sp_case_used(pool), 0);
    assert_success(cu->cuMemPoolDestroy(pool));
}

static void ipc_11_figures_of_an_imported_pool_are_of_what_was_imported(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_ptr shared = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr kept = sp_case_alloc(pool, 2 * SIZE, stream);
    struct sp_child child;

    sp_case_finish(stream);
    sp_case_child_start(&child, "");
    sp_ipc_send_pool(child.socket, pool);
    sp_ipc_send_pointer(child.socket, shared);
    sp_case_child_end(&child);
    assert_int_equal(sp_case_used(pool), 3 * SIZE);
    sp_case_free(shared, stream);
    sp_case_free(kept, stream);
    sp_case_finish(stream);
}

static void ipc_11_a_pool_that_can_be_exported_gives_nothing_back(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    uint64_t reserved;

    assert_int_equal(sp_case_bytes(pool, SP_CU_POOL_RELEASE_THRESHOLD), 0);
    sp_case_free(sp_case_alloc(pool, BIG, stream), stream);
    reserved = sp_case_reserved(pool);
    assert_true(reserved >= BIG);
    sp_case_finish(stream);
    assert_int_equal(sp_case_reserved(pool), reserved);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_int_equal(sp_case_reserved(pool), reserved);
}

static const struct sp_case cases[] = {
    SP_CASE(ipc_01_a_pool_is_exported_as_a_descriptor_and_imported_by_its_value, 0),
    SP_CASE(ipc_02_bad_exports_are_refused, 0),
    SP_CASE(ipc_03_bad_imports_are_refused, 0),
    SP_CASE_CHILD(ipc_04_without_a_channel_the_fabric_imports_nothing,
                  SP_TAG_IMEX | SP_TAG_PROC | SP_TAG_MODEL, fabric_child),
    SP_CASE_CHILD(ipc_05_an_imported_pool_allocates_nothing, SP_TAG_PROC, alloc_child),
    SP_CASE_CHILD(ipc_06_an_imported_pool_begins_with_its_home_device_only,
                  SP_TAG_PROC | SP_TAG_P2P, access_child),
    SP_CASE(ipc_07_an_exported_pointer_is_64_bytes_of_plain_data, 0),
    SP_CASE(ipc_07_bad_pointer_exports_are_refused, 0),
    SP_CASE_CHILD(ipc_08_importing_does_not_wait_for_the_exporters_stream,
                  SP_TAG_PROC | SP_TAG_STALL, sp_ipc_early_child),
    SP_CASE(ipc_09_bad_pointer_imports_are_refused, 0),
    SP_CASE(ipc_09_bytes_that_nobody_exported_are_refused, SP_TAG_MODEL),
    SP_CASE_CHILD(ipc_10_the_importer_frees_either_way_before_the_exporter, SP_TAG_PROC,
                  sp_ipc_freeing_child),
    SP_CASE_CHILD(ipc_10_the_exporter_calls_its_free_first_in_a_stream_that_waits,
                  SP_TAG_PROC | SP_TAG_STALL, sp_ipc_late_child),
    SP_CASE_CHILD(ipc_10_three_processes_share_a_block_and_one_of_them_dies,
                  SP_TAG_PROC | SP_TAG_MODEL, sp_ipc_adding_child),
    SP_CASE_CHILD(ipc_10_an_importer_outlives_an_exporter_that_dies, SP_TAG_PROC | SP_TAG_MODEL,
                  sp_ipc_exporting_child),
    SP_CASE_CHILD(ipc_11_figures_of_an_imported_pool_are_of_what_was_imported, SP_TAG_PROC,
                  figures_child),
    SP_CASE(ipc_11_a_pool_that_can_be_exported_gives_nothing_back, 0),
    SP_CASE(ipc_12_a_process_imports_what_it_exported, 0),
    SP_CASE(ipc_13_a_second_import_is_the_first_again_or_counted, 0),
    SP_CASE(ipc_14_legacy_handles_are_not_for_pools, 0),
    SP_CASE_CHILD(ipc_15_an_event_orders_streams_of_two_processes, SP_TAG_PROC | SP_TAG_STALL,
                  sp_ipc_waiting_child),
    SP_CASE(ipc_15_an_event_with_timing_cannot_be_shared, 0),
    SP_CASE_CHILD(ipc_16_the_same_channel_imports_and_another_does_not,
                  SP_TAG_IMEX | SP_TAG_PROC | SP_TAG_MODEL, fabric_child),
};

const struct sp_case_group sp_cases_ipc = SP_CASE_GROUP("IPC", cases);

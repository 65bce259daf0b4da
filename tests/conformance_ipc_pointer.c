/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* IPC-07 to IPC-10 and IPC-12 to IPC-15: pointers of pools, and events, that go to another
 * process or back into the same; and the older way that pools do not have. */
#include "config.h"

#include "tests/conformance_ipc.h"

#include <string.h>
#include <unistd.h>

#define SIZE ((size_t)4096)

/* ---- pointers -------------------------------------------------------------------------------
 */

void ipc_07_an_exported_pointer_is_64_bytes_of_plain_data(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    struct sp_cu_pointer_export data = sp_ipc_export_pointer(ptr);
    unsigned char bytes[64];
    struct sp_cu_pointer_export copy;
    sp_cu_pool imported;
    sp_cu_ptr again;

    assert_int_equal(sizeof(data), sizeof(bytes));
    memcpy(bytes, &data, sizeof(bytes));
    memset(&data, 0, sizeof(data));
    memcpy(&copy, bytes, sizeof(copy));
    sp_case_fill(ptr, 6, SIZE, stream);
    sp_case_finish(stream);
    imported = sp_ipc_import_pool(sp_ipc_export_pool(pool));
    again = sp_ipc_import_pointer(imported, &copy);
    sp_case_assert_bytes(again, 6, SIZE, stream);
    assert_success(cu->cuMemFree(again));
    assert_success(cu->cuMemPoolDestroy(imported));
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

void ipc_07_bad_pointer_exports_are_refused(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_pool unshared = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr other = sp_case_alloc(unshared, SIZE, stream);
    struct sp_cu_pointer_export data;
    sp_cu_ptr plain;

    assert_success(cu->cuMemAlloc(&plain, SIZE));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolExportPointer(NULL, ptr));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolExportPointer(&data, 0));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolExportPointer(&data, other));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolExportPointer(&data, plain));
    assert_success(cu->cuMemFree(plain));
    sp_case_free(ptr, stream);
    sp_case_free(other, stream);
    sp_case_finish(stream);
}

void sp_ipc_early_child(const char *role, int socket)
{
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    (void)role;
    sp_case_start();
    pool = sp_ipc_import_pool(sp_case_receive_file(socket));
    ptr = sp_ipc_receive_pointer(socket, pool);
    sp_ipc_say(socket); /* Imported; now the exporter's allocation may execute. */
    sp_ipc_hear(socket);
    sp_case_assert_bytes(ptr, 8, SIZE, sp_case_stream());
    assert_success(cu->cuMemFree(ptr));
    assert_success(cu->cuMemPoolDestroy(pool));
}

void ipc_08_importing_does_not_wait_for_the_exporters_stream(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    struct sp_child child;
    sp_cu_ptr ptr;

    (void)sp_case_stall(stream);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 8, SIZE, stream);
    sp_case_child_start(&child, "");
    sp_ipc_send_pool(child.socket, pool);
    sp_ipc_send_pointer(child.socket, ptr);
    sp_ipc_hear(child.socket);
    assert_false(sp_case_is_idle(stream));
    sp_case_release_all();
    sp_case_finish(stream);
    sp_ipc_say(child.socket);
    sp_case_child_end(&child);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

void ipc_09_bad_pointer_imports_are_refused(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool first = sp_ipc_shareable_pool();
    sp_cu_pool second = sp_ipc_shareable_pool();
    sp_cu_ptr ptr = sp_case_alloc(first, SIZE, stream);
    sp_cu_ptr other = sp_case_alloc(second, SIZE, stream);
    struct sp_cu_pointer_export data = sp_ipc_export_pointer(ptr);
    struct sp_cu_pointer_export strange = sp_ipc_export_pointer(other);
    sp_cu_pool imported = sp_ipc_import_pool(sp_ipc_export_pool(first));
    sp_cu_ptr out;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolImportPointer(NULL, imported, &data));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolImportPointer(&out, NULL, &data));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolImportPointer(&out, imported, NULL));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolImportPointer(&out, imported, &strange));
    assert_success(cu->cuMemPoolDestroy(imported));
    sp_case_free(ptr, stream);
    sp_case_free(other, stream);
    sp_case_finish(stream);
}

void ipc_09_bytes_that_nobody_exported_are_refused(void)
{
    static const int values[] = {0, 0x5a, 0xff};
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_pool imported = sp_ipc_import_pool(sp_ipc_export_pool(pool));
    struct sp_cu_pointer_export data;
    sp_cu_ptr out = 1;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        memset(&data, values[i], sizeof(data));
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolImportPointer(&out, imported, &data));
    }
    assert_int_equal(out, 1);
    assert_success(cu->cuMemPoolDestroy(imported));
}

/* ---- freeing on both sides ------------------------------------------------------------------
 */

/* An importer that has finished with the memory, and freed it as the role says. */
void sp_ipc_freeing_child(const char *role, int socket)
{
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_case_start();
    stream = sp_case_stream();
    pool = sp_ipc_import_pool(sp_case_receive_file(socket));
    ptr = sp_ipc_receive_pointer(socket, pool);
    sp_case_assert_bytes(ptr, 1, SIZE, stream);
    sp_case_fill(ptr, 2, SIZE, stream);
    if (strcmp(role, "cuMemFreeAsync") == 0) {
        assert_success(cu->cuMemFreeAsync(ptr, stream));
        sp_case_finish(stream);
    } else {
        sp_case_finish(stream);
        assert_success(cu->cuMemFree(ptr));
    }
    assert_int_equal(sp_case_used(pool), 0);
    assert_success(cu->cuMemPoolDestroy(pool));
}

void ipc_10_the_importer_frees_either_way_before_the_exporter(void)
{
    static const char *const ways[] = {"cuMemFree", "cuMemFreeAsync"};
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();

    for (int i = 0; i < 2; i++) {
        sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
        struct sp_child child;

        sp_case_fill(ptr, 1, SIZE, stream);
        sp_case_finish(stream);
        sp_case_child_start(&child, ways[i]);
        sp_ipc_send_pool(child.socket, pool);
        sp_ipc_send_pointer(child.socket, ptr);
        sp_case_child_end(&child);
        /* The other process's free has ended its own use of the memory only. */
        assert_int_equal(sp_case_used(pool), SIZE);
        sp_case_assert_bytes(ptr, 2, SIZE, stream);
        sp_case_free(ptr, stream);
        sp_case_finish(stream);
    }
}

static sp_cu_event shared_event(struct sp_cu_ipc_event_handle *handle_out)
{
    sp_cu_event event;

    assert_success(
        cu->cuEventCreate(&event, SP_CU_EVENT_INTERPROCESS | SP_CU_EVENT_DISABLE_TIMING));
    memset(handle_out, 0, sizeof(*handle_out));
    assert_success(cu->cuIpcGetEventHandle(handle_out, event));
    return event;
}

/* An importer that frees behind a held stream, and records an event after that. */
void sp_ipc_late_child(const char *role, int socket)
{
    struct sp_cu_ipc_event_handle handle;
    sp_cu_stream stream;
    sp_cu_event event;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    (void)role;
    sp_case_start();
    stream = sp_case_stream();
    event = shared_event(&handle);
    pool = sp_ipc_import_pool(sp_case_receive_file(socket));
    ptr = sp_ipc_receive_pointer(socket, pool);
    (void)sp_case_stall(stream);
    sp_case_fill(ptr, 2, SIZE, stream);
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    assert_success(cu->cuEventRecord(event, stream));
    sp_case_send(socket, &handle, sizeof(handle));
    sp_ipc_hear(socket); /* The exporter has called its free. */
    sp_case_release_all();
    sp_case_finish(stream);
    sp_ipc_say(socket);
    sp_ipc_hear(socket); /* The exporter has waited for the event. */
    assert_success(cu->cuEventDestroy(event));
    assert_success(cu->cuMemPoolDestroy(pool));
}

void ipc_10_the_exporter_calls_its_free_first_in_a_stream_that_waits(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    struct sp_cu_ipc_event_handle handle;
    struct sp_child child;
    sp_cu_event event;

    sp_case_finish(stream);
    sp_case_child_start(&child, "");
    sp_ipc_send_pool(child.socket, pool);
    sp_ipc_send_pointer(child.socket, ptr);
    sp_case_receive(child.socket, &handle, sizeof(handle));
    assert_success(cu->cuIpcOpenEventHandle(&event, handle));
    assert_success(cu->cuStreamWaitEvent(stream, event, 0));
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    assert_false(sp_case_is_idle(stream));
    sp_ipc_say(child.socket);
    sp_ipc_hear(child.socket);
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 0);
    assert_success(cu->cuEventDestroy(event));
    sp_ipc_say(child.socket);
    sp_case_child_end(&child);
}

/* ---- processes that die, and more than two --------------------------------------------------
 */

/* An importer that adds 1 to each byte, and ends without freeing if its role says so. */
void sp_ipc_adding_child(const char *role, int socket)
{
    unsigned char bytes[SIZE];
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_case_start();
    stream = sp_case_stream();
    pool = sp_ipc_import_pool(sp_case_receive_file(socket));
    ptr = sp_ipc_receive_pointer(socket, pool);
    assert_success(cu->cuMemcpyDtoH(bytes, ptr, SIZE));
    sp_case_fill(ptr, (unsigned char)(bytes[SIZE - 1] + 1), SIZE, stream);
    sp_case_finish(stream);
    sp_ipc_say(socket);
    while (strcmp(role, "dies") == 0)
        (void)pause();
    assert_success(cu->cuMemFree(ptr));
    assert_success(cu->cuMemPoolDestroy(pool));
}

void ipc_10_three_processes_share_a_block_and_one_of_them_dies(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    struct sp_child children[2];

    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_finish(stream);
    for (int i = 0; i < 2; i++) {
        sp_case_child_start(&children[i], i == 0 ? "dies" : "");
        sp_ipc_send_pool(children[i].socket, pool);
        sp_ipc_send_pointer(children[i].socket, ptr);
        sp_ipc_hear(children[i].socket);
    }
    sp_case_child_kill(&children[0]);
    sp_case_child_end(&children[1]);
    sp_case_assert_bytes(ptr, 3, SIZE, stream);
    assert_int_equal(sp_case_used(pool), SIZE);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

/* An exporter that is killed while others use its memory. */
void sp_ipc_exporting_child(const char *role, int socket)
{
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    (void)role;
    sp_case_start();
    stream = sp_case_stream();
    pool = sp_ipc_shareable_pool();
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 4, SIZE, stream);
    sp_case_finish(stream);
    sp_ipc_send_pool(socket, pool);
    sp_ipc_send_pointer(socket, ptr);
    for (;;)
        (void)pause(); /* Until it is killed. */
}

void ipc_10_an_importer_outlives_an_exporter_that_dies(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct sp_child child;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_case_child_start(&child, "");
    pool = sp_ipc_import_pool(sp_case_receive_file(child.socket));
    ptr = sp_ipc_receive_pointer(child.socket, pool);
    sp_case_child_kill(&child);
    sp_case_assert_bytes(ptr, 4, SIZE, stream);
    sp_case_fill(ptr, 5, SIZE, stream);
    sp_case_assert_bytes(ptr, 5, SIZE, stream);
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 0);
    assert_success(cu->cuMemPoolDestroy(pool));
}

/* ---- within one process ---------------------------------------------------------------------
 */

void ipc_12_a_process_imports_what_it_exported(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_pool imported = sp_ipc_import_pool(sp_ipc_export_pool(pool));
    /* Behind a small block, so that it does not begin with a page. */
    sp_cu_ptr small = sp_case_alloc(pool, 512, stream);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    struct sp_cu_pointer_export data = sp_ipc_export_pointer(ptr);
    sp_cu_ptr again;

    sp_case_fill(ptr, 1, SIZE, stream);
    sp_case_finish(stream);
    again = sp_ipc_import_pointer(imported, &data);
    sp_case_assert_bytes(again, 1, SIZE, stream);
    sp_case_fill(again, 2, SIZE, stream);
    sp_case_finish(stream);
    sp_case_assert_bytes(ptr, 2, SIZE, stream);
    assert_success(cu->cuMemFree(again));
    sp_case_assert_bytes(ptr, 2, SIZE, stream);
    assert_success(cu->cuMemPoolDestroy(imported));
    sp_case_free(ptr, stream);
    sp_case_free(small, stream);
    sp_case_finish(stream);
}

/* The same pointer imported twice, and freed: what does a second free answer? On a real driver
 * only the addresses are looked at: what the first free ends is not known. */
static sp_cu_result free_twice_imported(void *arg)
{
    sp_cu_stream stream = arg;
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_pool imported = sp_ipc_import_pool(sp_ipc_export_pool(pool));
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);
    struct sp_cu_pointer_export data = sp_ipc_export_pointer(ptr);
    sp_cu_result result;
    sp_cu_ptr first;
    sp_cu_ptr second;

    sp_case_finish(stream);
    first = sp_ipc_import_pointer(imported, &data);
    second = sp_ipc_import_pointer(imported, &data);
    sp_case_observe("IPC-13", "addresses 0x%llx and 0x%llx", first, second);
    assert_success(cu->cuMemFree(first));
    result = cu->cuMemFree(second);
    if (cu->is_model) {
        assert_int_equal(second, first);
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemFree(second));
    }
    assert_success(cu->cuMemPoolDestroy(imported));
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
    return result;
}

void ipc_13_a_second_import_is_the_first_again_or_counted(void)
{
    static const struct sp_choice choices[] = {{"same-mapping", SP_CU_INVALID_VALUE},
                                               {"counted", SP_CU_SUCCESS}};

    sp_case_choose("IPC-13", "import_twice", choices, 2, free_twice_imported, sp_case_stream());
}

/* ---- the older ways -------------------------------------------------------------------------
 */

/* An attribute that is a bitmask or a truth value, whatever width the driver writes. */
static uint64_t attribute_of(sp_cu_ptr ptr, int attribute)
{
    uint64_t value = 0;

    assert_success(cu->cuPointerGetAttribute(&value, attribute, ptr));
    return value;
}

void ipc_14_legacy_handles_are_not_for_pools(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_ipc_shareable_pool();
    sp_cu_ptr shared = sp_case_alloc(pool, SIZE, stream);
    sp_cu_ptr own = sp_case_alloc(sp_case_pool(0), SIZE, stream);
    struct sp_cu_ipc_mem_handle handle;

    sp_case_finish(stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuIpcGetMemHandle(&handle, shared));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuIpcGetMemHandle(&handle, own));
    assert_int_equal(attribute_of(shared, SP_CU_POINTER_IS_LEGACY_IPC_CAPABLE), 0);
    assert_int_equal(attribute_of(own, SP_CU_POINTER_IS_LEGACY_IPC_CAPABLE), 0);
    assert_int_equal(attribute_of(shared, SP_CU_POINTER_ALLOWED_HANDLE_TYPES),
                     SP_CU_HANDLE_POSIX_FD);
    assert_int_equal(attribute_of(own, SP_CU_POINTER_ALLOWED_HANDLE_TYPES), SP_CU_HANDLE_NONE);
    sp_case_free(shared, stream);
    sp_case_free(own, stream);
    sp_case_finish(stream);
}

/* A stream that waits for the other process's event. */
void sp_ipc_waiting_child(const char *role, int socket)
{
    struct sp_cu_ipc_event_handle handle;
    sp_cu_stream stream;
    sp_cu_event event;

    (void)role;
    sp_case_start();
    stream = sp_case_stream();
    sp_case_receive(socket, &handle, sizeof(handle));
    assert_success(cu->cuIpcOpenEventHandle(&event, handle));
    assert_success(cu->cuStreamWaitEvent(stream, event, 0));
    assert_false(sp_case_is_idle(stream));
    assert_cu(SP_CU_NOT_READY, cu->cuEventQuery(event));
    sp_ipc_say(socket);
    sp_case_finish(stream);
    assert_success(cu->cuEventQuery(event));
    assert_success(cu->cuEventDestroy(event));
}

void ipc_15_an_event_orders_streams_of_two_processes(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct sp_cu_ipc_event_handle handle;
    sp_cu_event event = shared_event(&handle);
    struct sp_child child;

    (void)sp_case_stall(stream);
    assert_success(cu->cuEventRecord(event, stream));
    sp_case_child_start(&child, "");
    sp_case_send(child.socket, &handle, sizeof(handle));
    sp_ipc_hear(child.socket); /* The other stream is held by this one. */
    sp_case_release_all();
    sp_case_finish(stream);
    sp_case_child_end(&child);
    assert_success(cu->cuEventDestroy(event));
}

void ipc_15_an_event_with_timing_cannot_be_shared(void)
{
    sp_cu_event event;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuEventCreate(&event, SP_CU_EVENT_INTERPROCESS));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools of the model shared between real processes: what each sees, in which order blocks are
 * freed, and what a death leaves behind, which is nothing. */
#include "config.h"

#include <stdlib.h>

#include "tests/roles.h"
#include "tests/support.h"

/* ---- data and frees ------------------------------------------------------------------------
 */

static void exporter_of_data(const int *sockets)
{
    struct sp_holdings before;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    stream = sp_role_stream();
    pool = sp_role_pool();
    ptr = sp_role_block(pool, stream, 0x5a);
    sp_role_send_block(sockets[1], pool, ptr);
    sp_role_wait(sockets[1]);
    EXPECT(sp_role_holds(ptr, 0xa5));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, stream));
    EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    sp_role_end(&before);
}

/* Reads, writes, and frees: at once or in a stream's order. */
static void import_data(const int *sockets, bool frees_in_order)
{
    struct sp_holdings before;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    stream = sp_role_stream();
    sp_role_receive_block(sockets[0], &pool, &ptr);
    EXPECT(sp_role_holds(ptr, 0x5a));
    EXPECT_CU(SUCCESS, cu->cuMemsetD8Async(ptr, 0xa5, SP_ROLE_SIZE, stream));
    EXPECT(sp_role_attribute(pool, SP_CU_POOL_USED_MEM_CURRENT) == SP_ROLE_SIZE);
    if (frees_in_order) {
        EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, stream));
        EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    } else {
        EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
        EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    }
    EXPECT(sp_role_attribute(pool, SP_CU_POOL_USED_MEM_CURRENT) == 0);
    EXPECT(sp_role_attribute(pool, SP_CU_POOL_USED_MEM_HIGH) == SP_ROLE_SIZE);
    EXPECT_CU(INVALID_VALUE, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    sp_role_end(&before);
    sp_role_signal(sockets[0]);
}

static void importer_that_frees_at_once(const int *sockets)
{
    import_data(sockets, false);
}

static void importer_that_frees_in_order(const int *sockets)
{
    import_data(sockets, true);
}

static void two_processes_see_each_others_data(void **state)
{
    (void)state;
    sp_roles_run(exporter_of_data, importer_that_frees_at_once, NULL);
}

static void an_importer_may_free_in_stream_order(void **state)
{
    (void)state;
    sp_roles_run(exporter_of_data, importer_that_frees_in_order, NULL);
}

/* The exporter's free is called while the importer's work is stalled; an event of the
 * importer's orders it. The same memory then shows what the importer wrote last. */
static void exporter_that_frees_first(const int *sockets)
{
    struct sp_cu_ipc_event_handle handle;
    struct sp_holdings before;
    sp_cu_event event;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr, again;

    sp_role_begin(&before);
    stream = sp_role_stream();
    pool = sp_role_pool();
    ptr = sp_role_block(pool, stream, 1);
    sp_role_send_block(sockets[1], pool, ptr);
    sp_role_receive(sockets[1], &handle, sizeof(handle));
    EXPECT_CU(SUCCESS, cu->cuIpcOpenEventHandle(&event, handle));
    EXPECT_CU(SUCCESS, cu->cuStreamWaitEvent(stream, event, 0));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, stream));
    EXPECT_CU(NOT_READY, cu->cuStreamQuery(stream));
    sp_role_signal(sockets[1]);
    EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    EXPECT_CU(SUCCESS, cu->cuMemAllocFromPoolAsync(&again, SP_ROLE_SIZE, pool, stream));
    EXPECT(again == ptr);
    EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    EXPECT(sp_role_holds(again, 7));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(again, stream));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    EXPECT_CU(SUCCESS, cu->cuEventDestroy(event));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    sp_role_end(&before);
    sp_role_signal(sockets[1]);
}

static void importer_that_frees_last(const int *sockets)
{
    struct sp_cu_ipc_event_handle handle;
    struct sp_holdings before;
    _Atomic uint32_t *flag;
    sp_cu_event event;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    stream = sp_role_stream();
    sp_role_receive_block(sockets[0], &pool, &ptr);
    EXPECT_CU(SUCCESS,
              cu->cuEventCreate(&event, SP_CU_EVENT_INTERPROCESS | SP_CU_EVENT_DISABLE_TIMING));
    flag = sp_role_stall(stream);
    EXPECT_CU(SUCCESS, cu->cuMemsetD8Async(ptr, 7, SP_ROLE_SIZE, stream));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, stream));
    EXPECT_CU(SUCCESS, cu->cuEventRecord(event, stream));
    EXPECT_CU(SUCCESS, cu->cuIpcGetEventHandle(&handle, event));
    sp_role_send(sockets[0], &handle, sizeof(handle), -1);
    sp_role_wait(sockets[0]);
    sp_role_let_go(flag, stream);
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_wait(sockets[0]);
    EXPECT_CU(SUCCESS, cu->cuEventDestroy(event));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    sp_role_end(&before);
}

static void an_event_orders_the_exporters_free_after_the_importers(void **state)
{
    (void)state;
    sp_roles_run(exporter_that_frees_first, importer_that_frees_last, NULL);
}

/* ---- three processes -----------------------------------------------------------------------
 */

static void exporter_for_two(const int *sockets)
{
    struct sp_holdings before;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    stream = sp_role_stream();
    pool = sp_role_pool();
    ptr = sp_role_block(pool, stream, 1);
    for (int i = 1; i <= 2; i++) {
        sp_role_send_block(sockets[i], pool, ptr);
        sp_role_wait(sockets[i]);
        EXPECT(sp_role_holds(ptr, (unsigned char)(i + 1)));
    }
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    sp_role_end(&before);
}

/* Each finds what the one before has left, and adds 1. */
static void import_as(const int *sockets, unsigned char found)
{
    struct sp_holdings before;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    sp_role_receive_block(sockets[0], &pool, &ptr);
    EXPECT(sp_role_holds(ptr, found));
    EXPECT_CU(SUCCESS, cu->cuMemsetD8(ptr, (unsigned char)(found + 1), SP_ROLE_SIZE));
    EXPECT_CU(SUCCESS, cu->cuCtxSynchronize());
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_signal(sockets[0]);
    sp_role_end(&before);
}

static void first_importer(const int *sockets)
{
    import_as(sockets, 1);
}

static void second_importer(const int *sockets)
{
    import_as(sockets, 2);
}

static void three_processes_share_one_block(void **state)
{
    (void)state;
    sp_roles_run(exporter_for_two, first_importer, second_importer);
}

/* ---- deaths --------------------------------------------------------------------------------
 */

static void exporter_that_dies(const int *sockets)
{
    struct sp_holdings before;
    sp_cu_pool pool;

    sp_role_begin(&before);
    pool = sp_role_pool();
    sp_role_send_block(sockets[0], pool, sp_role_block(pool, sp_role_stream(), 9));
    sp_role_wait(sockets[0]);
    sp_role_die();
}

static void importer_that_survives(const int *sockets)
{
    struct sp_holdings before;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    sp_role_receive_block(sockets[1], &pool, &ptr);
    sp_role_signal(sockets[1]);
    sp_role_wait_for_end(sockets[1]);
    EXPECT(sp_role_holds(ptr, 9));
    EXPECT_CU(SUCCESS, cu->cuMemsetD8(ptr, 10, SP_ROLE_SIZE));
    EXPECT(sp_role_holds(ptr, 10));
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
}

static void an_exporter_that_dies_leaves_the_importer_whole(void **state)
{
    (void)state;
    sp_roles_run_with_death(importer_that_survives, exporter_that_dies);
}

static void importer_that_dies(const int *sockets)
{
    struct sp_holdings before;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    sp_role_receive_block(sockets[0], &pool, &ptr);
    EXPECT_CU(SUCCESS, cu->cuMemsetD8(ptr, 4, SP_ROLE_SIZE));
    EXPECT_CU(SUCCESS, cu->cuCtxSynchronize());
    sp_role_die();
}

static void exporter_that_survives(const int *sockets)
{
    struct sp_holdings before;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr, again;

    sp_role_begin(&before);
    stream = sp_role_stream();
    pool = sp_role_pool();
    ptr = sp_role_block(pool, stream, 3);
    sp_role_send_block(sockets[1], pool, ptr);
    sp_role_wait_for_end(sockets[1]);
    EXPECT(sp_role_holds(ptr, 4));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, stream));
    again = sp_role_block(pool, stream, 5);
    EXPECT(again == ptr && sp_role_holds(again, 5));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(again, stream));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    EXPECT_CU(SUCCESS, cu->cuStreamSynchronize(stream));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    sp_role_end(&before);
}

static void an_importer_that_dies_leaves_the_exporter_whole(void **state)
{
    (void)state;
    sp_roles_run_with_death(exporter_that_survives, importer_that_dies);
}

/* ---- rules of imported pools ---------------------------------------------------------------
 */

static int access_from(sp_cu_pool pool, int device)
{
    struct sp_cu_location location = {.type = SP_CU_LOCATION_DEVICE, .id = device};
    int flags = -1;

    EXPECT_CU(SUCCESS, cu->cuMemPoolGetAccess(&flags, pool, &location));
    return flags;
}

static void exporter_with_a_peer(const int *sockets)
{
    struct sp_cu_access_desc peer = {.location = {.type = SP_CU_LOCATION_DEVICE, .id = 1},
                                     .flags = SP_CU_ACCESS_READWRITE};
    struct sp_holdings before;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    stream = sp_role_stream();
    pool = sp_role_pool();
    EXPECT_CU(SUCCESS, cu->cuMemPoolSetAccess(pool, &peer, 1));
    EXPECT(access_from(pool, 1) == SP_CU_ACCESS_READWRITE);
    ptr = sp_role_block(pool, stream, 1);
    sp_role_send_block(sockets[1], pool, ptr);
    sp_role_wait(sockets[1]);
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolTrimTo(pool, 0));
    EXPECT(sp_role_attribute(pool, SP_CU_POOL_RESERVED_MEM_CURRENT) > 0);
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    sp_role_end(&before);
}

static void importer_that_tries_all(const int *sockets)
{
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    sp_cu_pool pool, current;
    sp_cu_ptr ptr, other = 0;
    uint64_t reserved;
    int file = -1;

    sp_role_begin(&before);
    sp_role_receive_block(sockets[0], &pool, &ptr);
    EXPECT_CU(INVALID_VALUE, cu->cuMemAllocFromPoolAsync(&other, 512, pool, NULL));
    EXPECT(other == 0);
    EXPECT_CU(INVALID_VALUE, cu->cuDeviceSetMemPool(0, pool));
    EXPECT_CU(SUCCESS, cu->cuDeviceGetMemPool(&current, 0));
    EXPECT(current != pool);
    EXPECT(access_from(pool, 0) == SP_CU_ACCESS_READWRITE);
    EXPECT(access_from(pool, 1) == SP_CU_ACCESS_NONE);
    reserved = sp_role_attribute(pool, SP_CU_POOL_RESERVED_MEM_CURRENT);
    EXPECT(reserved >= SP_ROLE_SIZE);
    EXPECT_CU(SUCCESS, cu->cuMemPoolTrimTo(pool, 0));
    EXPECT(sp_role_attribute(pool, SP_CU_POOL_RESERVED_MEM_CURRENT) == reserved);
    EXPECT_CU(INVALID_VALUE,
              cu->cuMemPoolExportToShareableHandle(&file, pool, SP_CU_HANDLE_POSIX_FD, 0));
    EXPECT(file == -1);
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolExportPointer(&data, ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    EXPECT(sp_role_holds(ptr, 1));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, NULL));
    sp_role_end(&before);
    sp_role_signal(sockets[0]);
}

static void an_imported_pool_serves_only_what_was_imported(void **state)
{
    (void)state;
    sp_roles_run(exporter_with_a_peer, importer_that_tries_all, NULL);
}

/* The allocation has not executed yet when its pointer is exported and imported. */
static void exporter_that_is_stalled(const int *sockets)
{
    struct sp_holdings before;
    _Atomic uint32_t *flag;
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    stream = sp_role_stream();
    pool = sp_role_pool();
    flag = sp_role_stall(stream);
    EXPECT_CU(SUCCESS, cu->cuMemAllocFromPoolAsync(&ptr, SP_ROLE_SIZE, pool, stream));
    EXPECT_CU(SUCCESS, cu->cuMemsetD8Async(ptr, 0x5a, SP_ROLE_SIZE, stream));
    sp_role_send_block(sockets[1], pool, ptr);
    sp_role_wait(sockets[1]);
    sp_role_let_go(flag, stream);
    sp_role_signal(sockets[1]);
    sp_role_wait(sockets[1]);
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, stream));
    EXPECT_CU(SUCCESS, cu->cuStreamDestroy(stream));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
}

static void importer_that_comes_early(const int *sockets)
{
    struct sp_holdings before;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    sp_role_receive_block(sockets[0], &pool, &ptr);
    sp_role_signal(sockets[0]);
    sp_role_wait(sockets[0]);
    EXPECT(sp_role_holds(ptr, 0x5a));
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
    sp_role_signal(sockets[0]);
}

static void a_pointer_is_imported_before_its_allocation_has_run(void **state)
{
    (void)state;
    sp_roles_run(exporter_that_is_stalled, importer_that_comes_early, NULL);
}

/* One process with both ends; the same pointer twice, under both values of the switch. */
static void import_twice(const char *value, bool is_counted)
{
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    sp_cu_pool pool, imported;
    sp_cu_ptr ptr, first, second;
    int file;

    sp_role_begin(&before);
    EXPECT(starpool_model_set_switch("import_twice", value) == STARPOOL_OK);
    pool = sp_role_pool();
    ptr = sp_role_block(pool, NULL, 6);
    file = sp_role_export(pool);
    EXPECT_CU(SUCCESS, sp_role_import(file, &imported));
    close(file);
    EXPECT(imported != pool);
    EXPECT_CU(SUCCESS, cu->cuMemPoolExportPointer(&data, ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolImportPointer(&first, imported, &data));
    EXPECT_CU(SUCCESS, cu->cuMemPoolImportPointer(&second, imported, &data));
    EXPECT(first == second && first != ptr);
    EXPECT_CU(SUCCESS, cu->cuMemFree(first));
    if (is_counted) {
        EXPECT(sp_role_holds(second, 6));
        EXPECT_CU(SUCCESS, cu->cuMemFree(second));
    }
    EXPECT_CU(INVALID_VALUE, cu->cuMemFree(second));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(imported));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, NULL));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
}

static void importer_of_one_mapping(const int *sockets)
{
    (void)sockets;
    import_twice("same-mapping", false);
}

static void importer_that_is_counted(const int *sockets)
{
    (void)sockets;
    import_twice("counted", true);
}

static void the_first_free_ends_a_pointer_imported_twice(void **state)
{
    (void)state;
    sp_roles_run(importer_of_one_mapping, NULL, NULL);
}

static void a_counted_pointer_takes_as_many_frees_as_imports(void **state)
{
    (void)state;
    sp_roles_run(importer_that_is_counted, NULL, NULL);
}

/* A block that does not begin with a page, and whose pages are its neighbours', too. */
static void exporter_of_a_small_block(const int *sockets)
{
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    sp_cu_pool pool, imported;
    sp_cu_ptr blocks[3], ptr;
    unsigned char byte;
    int file;

    (void)sockets;
    sp_role_begin(&before);
    pool = sp_role_pool();
    for (int i = 0; i < 3; i++) {
        EXPECT_CU(SUCCESS, cu->cuMemAllocFromPoolAsync(&blocks[i], 512, pool, NULL));
        EXPECT_CU(SUCCESS, cu->cuMemsetD8(blocks[i], (unsigned char)(i + 1), 512));
    }
    file = sp_role_export(pool);
    EXPECT_CU(SUCCESS, sp_role_import(file, &imported));
    close(file);
    EXPECT_CU(SUCCESS, cu->cuMemPoolExportPointer(&data, blocks[1]));
    EXPECT_CU(SUCCESS, cu->cuMemPoolImportPointer(&ptr, imported, &data));
    EXPECT(ptr % 512 == 0);
    EXPECT_CU(SUCCESS, cu->cuMemcpyDtoH(&byte, ptr + 511, 1));
    EXPECT(byte == 2);
    EXPECT_CU(INVALID_VALUE, cu->cuMemFree(ptr + 256));
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    for (int i = 0; i < 3; i++)
        EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(blocks[i], NULL));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(imported));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
}

static void a_block_inside_a_page_is_imported_alone(void **state)
{
    (void)state;
    sp_roles_run(exporter_of_a_small_block, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_see_each_others_data),
        cmocka_unit_test(an_importer_may_free_in_stream_order),
        cmocka_unit_test(an_event_orders_the_exporters_free_after_the_importers),
        cmocka_unit_test(three_processes_share_one_block),
        cmocka_unit_test(an_exporter_that_dies_leaves_the_importer_whole),
        cmocka_unit_test(an_importer_that_dies_leaves_the_exporter_whole),
        cmocka_unit_test(an_imported_pool_serves_only_what_was_imported),
        cmocka_unit_test(a_pointer_is_imported_before_its_allocation_has_run),
        cmocka_unit_test(the_first_free_ends_a_pointer_imported_twice),
        cmocka_unit_test(a_counted_pointer_takes_as_many_frees_as_imports),
        cmocka_unit_test(a_block_inside_a_page_is_imported_alone),
    };

    if (setenv("STARPOOL_MODEL_DEVICES", "2", 1) != 0)
        return 1;
    return cmocka_run_group_tests_name("ipc", tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools and blocks that two processes share through the public calls alone, on the CPU model.
 */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include <starpool.h>

#include "tests/roles.h"

#define SIZE 5000

static const struct starpool_location device0 = {STARPOOL_DEVICE, 0};

/* What goes from one process to the other beside the pool's descriptor. */
struct parcel {
    struct starpool_block_handle block;
    unsigned char first; /* of the block's bytes */
};

static struct starpool_stats stats_of(struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    EXPECT(starpool_pool_stats(pool, &stats) == STARPOOL_OK);
    return stats;
}

/* Copies between the host and a block, which the host has waited for. */
static void write_block(void *ptr, unsigned char value)
{
    unsigned char bytes[SIZE];

    memset(bytes, value, sizeof(bytes));
    EXPECT_CU(SUCCESS, cu->cuMemcpyHtoD((uintptr_t)ptr, bytes, sizeof(bytes)));
}

static unsigned char read_block(void *ptr)
{
    unsigned char bytes[SIZE] = {0};

    EXPECT_CU(SUCCESS, cu->cuMemcpyDtoH(bytes, (uintptr_t)ptr, sizeof(bytes)));
    for (size_t i = 1; i < sizeof(bytes); i++)
        EXPECT(bytes[i] == bytes[0]);
    return bytes[0];
}

/* A pool that can be shared, a block of it, and both sent. */
static void *send_pool_and_block(int socket, struct starpool_pool **pool_out)
{
    struct starpool_pool_handle handle = {.fd = -1};
    struct starpool_pool_config config;
    struct parcel parcel = {.first = 0x5a};
    void *ptr = NULL;

    starpool_pool_config_init(&config);
    config.location = device0;
    config.handle_types = STARPOOL_HANDLE_FD;
    EXPECT(starpool_pool_create(&config, pool_out) == STARPOOL_OK);
    EXPECT(starpool_alloc(*pool_out, SIZE, STARPOOL_STREAM_HOST, &ptr) == STARPOOL_OK);
    write_block(ptr, parcel.first);
    EXPECT(starpool_pool_export(*pool_out, STARPOOL_HANDLE_FD, &handle) == STARPOOL_OK);
    EXPECT(starpool_block_export(ptr, &parcel.block) == STARPOOL_OK);
    sp_role_send(socket, &parcel, sizeof(parcel), handle.fd);
    close(handle.fd);
    return ptr;
}

static struct starpool_pool *receive_pool(int socket, struct parcel *parcel)
{
    struct starpool_pool_handle handle = {.type = STARPOOL_HANDLE_FD};
    struct starpool_pool *pool = NULL;

    handle.fd = sp_role_receive(socket, parcel, sizeof(*parcel));
    EXPECT(handle.fd >= 0);
    EXPECT(starpool_pool_import(device0, &handle, &pool) == STARPOOL_OK);
    close(handle.fd); /* The pool needs it no more. */
    return pool;
}

/* ---- a block that is used and freed on both sides ---------------------------------------- */

static void exporter(const int *sockets)
{
    struct sp_holdings before;
    struct starpool_pool *pool;
    void *ptr;

    sp_role_begin(&before);
    ptr = send_pool_and_block(sockets[1], &pool);
    sp_role_wait(sockets[1]);
    EXPECT(read_block(ptr) == 0xa5); /* what the other process wrote */
    EXPECT(stats_of(pool).n_live == 1);
    EXPECT(starpool_free(ptr, STARPOOL_STREAM_HOST) == STARPOOL_OK);
    EXPECT(stats_of(pool).used_bytes == 0);
    starpool_pool_destroy(pool);
    EXPECT(starpool_model_violations(NULL) == 0);
}

static void importer(const int *sockets)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct starpool_pool *pool, *found = NULL;
    struct sp_holdings before;
    struct parcel parcel;
    void *ptr = NULL, *none = NULL;

    sp_role_begin(&before);
    pool = receive_pool(sockets[0], &parcel);
    EXPECT(starpool_alloc(pool, SIZE, STARPOOL_STREAM_HOST, &none) == STARPOOL_EINVAL);
    EXPECT(none == NULL);
    EXPECT(starpool_block_import(pool, &parcel.block, &ptr) == STARPOOL_OK);
    EXPECT(starpool_pool_of(ptr, &found) == STARPOOL_OK && found == pool);
    EXPECT(starpool_block_info(ptr, &info) == STARPOOL_OK);
    EXPECT(info.base == ptr && info.size >= SIZE);
    EXPECT(starpool_is_ready(ptr));
    EXPECT(read_block(ptr) == parcel.first);
    write_block(ptr, 0xa5);
    EXPECT(starpool_free(ptr, STARPOOL_STREAM_HOST) == STARPOOL_OK);
    EXPECT(starpool_free(ptr, STARPOOL_STREAM_HOST) == STARPOOL_EINVAL);
    sp_role_signal(sockets[0]);
    starpool_pool_destroy(pool);
    EXPECT(starpool_model_violations(NULL) == 0);
}

static void two_processes_use_one_block(void **state)
{
    (void)state;
    sp_roles_run(exporter, importer, NULL);
}

/* ---- a pool that is destroyed with a block of another process ---------------------------- */

static void importer_that_destroys_first(const int *sockets)
{
    struct starpool_pool *pool;
    struct sp_holdings before;
    struct parcel parcel;
    void *ptr = NULL;

    sp_role_begin(&before);
    pool = receive_pool(sockets[0], &parcel);
    EXPECT(starpool_block_import(pool, &parcel.block, &ptr) == STARPOOL_OK);
    starpool_pool_destroy(pool);
    EXPECT(read_block(ptr) == parcel.first);
    write_block(ptr, 0xa5);
    EXPECT(starpool_free(ptr, STARPOOL_STREAM_HOST) == STARPOOL_OK);
    sp_role_signal(sockets[0]);
    EXPECT(starpool_model_violations(NULL) == 0);
}

static void imported_block_outlives_its_pools_handle(void **state)
{
    (void)state;
    sp_roles_run(exporter, importer_that_destroys_first, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(two_processes_use_one_block),
    cmocka_unit_test(imported_block_outlives_its_pools_handle),
};

int main(void)
{
    if (setenv("STARPOOL_DRIVER", "model", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}

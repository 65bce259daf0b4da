/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handles from outside that are wrong: descriptors of anything, damaged and invented bytes,
 * channels of the fabric that are not the exporter's. Each is refused, nothing is lost, and
 * nothing crashes. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/roles.h"
#include "tests/support.h"

#include "src/model/shared.h"

#define N_RANDOM 20000
#define SEALS    (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Whatever it is, it is no pool. The descriptor is closed. */
static void expect_refused(int file)
{
    sp_cu_pool pool = NULL;

    EXPECT(file >= 0);
    EXPECT_CU(INVALID_VALUE, sp_role_import(file, &pool));
    EXPECT(pool == NULL);
    close(file);
}

/* ---- descriptors ---------------------------------------------------------------------------
 */

static int make_file(off_t size, int seals)
{
    int file = memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    EXPECT(file >= 0 && ftruncate(file, size) == 0);
    EXPECT(fcntl(file, F_ADD_SEALS, seals) == 0);
    return file;
}

static void fill_randomly(int file, size_t size)
{
    uint64_t random = sp_test_seed(), word;

    for (size_t i = 0; i < size; i += sizeof(word)) {
        word = sp_test_random(&random);
        EXPECT(pwrite(file, &word, sizeof(word), (off_t)i) == sizeof(word));
    }
}

/* A copy of a pool's first page in a file of ours. */
static int forge(sp_cu_pool pool, off_t size, int seals)
{
    char page[4096];
    int original = sp_role_export(pool), copy = make_file(size, 0);

    EXPECT(pread(original, page, sizeof(page), 0) == sizeof(page));
    EXPECT(pwrite(copy, page, sizeof(page), 0) == sizeof(page));
    EXPECT(fcntl(copy, F_ADD_SEALS, seals) == 0);
    close(original);
    return copy;
}

static void import_foreign_files(const int *sockets)
{
    struct sp_holdings before;
    int file, pair[2];

    (void)sockets;
    sp_role_begin(&before);
    expect_refused(open("/dev/zero", O_RDWR | O_CLOEXEC));
    expect_refused(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
    expect_refused(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT(pipe2(pair, O_CLOEXEC) == 0);
    expect_refused(pair[0]);
    expect_refused(pair[1]);
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    expect_refused(pair[0]);
    close(pair[1]);
    expect_refused(make_file(0, SEALS));
    expect_refused(make_file(1, SEALS));
    expect_refused(make_file((off_t)SP_ROLE_SIZE, SEALS));
    file = make_file((off_t)SP_ROLE_SIZE, SEALS);
    fill_randomly(file, 4096);
    expect_refused(file);
    sp_role_end(&before);
}

static void a_foreign_descriptor_is_refused(void **state)
{
    (void)state;
    sp_roles_run(import_foreign_files, NULL, NULL);
}

/* A FIFO would block whoever opens or reads it. */
static void import_fifo(const int *sockets)
{
    char folder[] = "/tmp/test_ipc_XXXXXX", path[64];
    struct sp_holdings before;

    (void)sockets;
    sp_role_begin(&before);
    EXPECT(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/fifo", folder);
    EXPECT(mkfifo(path, 0600) == 0);
    expect_refused(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT(unlink(path) == 0 && rmdir(folder) == 0);
    sp_role_end(&before);
}

static void a_fifo_is_refused_and_blocks_nobody(void **state)
{
    (void)state;
    sp_roles_run(import_fifo, NULL, NULL);
}

static void import_forged_files(const int *sockets)
{
    struct sp_holdings before;
    struct stat found;
    sp_cu_pool pool, imported = NULL;
    int file;

    (void)sockets;
    sp_role_begin(&before);
    pool = sp_role_pool();
    file = sp_role_export(pool);
    EXPECT(fstat(file, &found) == 0);
    close(file);
    expect_refused(forge(pool, found.st_size, 0));
    expect_refused(forge(pool, found.st_size, F_SEAL_SHRINK));
    expect_refused(forge(pool, found.st_size, F_SEAL_GROW));
    expect_refused(forge(pool, found.st_size, SEALS | F_SEAL_WRITE));
    expect_refused(forge(pool, found.st_size / 2, SEALS));
    expect_refused(forge(pool, 4096, SEALS));
    file = forge(pool, found.st_size, SEALS);
    EXPECT_CU(SUCCESS,
              sp_role_import(file, &imported)); /* This one is as good as the pool's. */
    close(file);
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(imported));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
}

static void a_forged_file_without_its_seals_or_size_is_refused(void **state)
{
    (void)state;
    sp_roles_run(import_forged_files, NULL, NULL);
}

/* The header is sound; what it says of the pool is not. */
static void import_absurd_pools(const int *sockets)
{
    static const uint64_t absurd[][3] = {
        {0, 0, 1}, {2, 0, 1},          {4, 0, 1},          {99, 0, 1},
        {1, 2, 1}, {1, UINT32_MAX, 1}, {1, UINT64_MAX, 1}, {3, 77, 1},
        {1, 0, 0}, {1, 0, 2},          {1, 0, UINT64_MAX},
    };
    struct sp_holdings before;
    struct sp_shared shared;

    (void)sockets;
    sp_role_begin(&before);
    EXPECT(sp_shared_create(SP_SHARED_POOL, SP_ROLE_SIZE, &shared) == STARPOOL_OK);
    for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
        memcpy(shared.page->words, absurd[i], sizeof(absurd[i]));
        expect_refused(dup(shared.file));
    }
    sp_shared_close(&shared);
    EXPECT(sp_shared_create(SP_SHARED_EVENT, SP_ROLE_SIZE, &shared) == STARPOOL_OK);
    expect_refused(dup(shared.file));
    sp_shared_close(&shared);
    sp_role_end(&before);
}

static void a_file_that_tells_nonsense_of_its_pool_is_refused(void **state)
{
    (void)state;
    sp_roles_run(import_absurd_pools, NULL, NULL);
}

static void import_numbers(const int *sockets)
{
    static const uintptr_t numbers[] = {0, 999, INT32_MAX, (uintptr_t)INT32_MAX + 1,
                                        UINTPTR_MAX};
    struct sp_holdings before;
    sp_cu_pool pool = NULL;

    (void)sockets;
    sp_role_begin(&before);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        EXPECT_CU(INVALID_VALUE, cu->cuMemPoolImportFromShareableHandle(
                                     &pool, (void *)numbers[i], SP_CU_HANDLE_POSIX_FD, 0));
    EXPECT(pool == NULL);
    sp_role_end(&before);
}

static void a_number_that_is_no_descriptor_is_refused(void **state)
{
    (void)state;
    sp_roles_run(import_numbers, NULL, NULL);
}

/* ---- pointers ------------------------------------------------------------------------------
 */

/* A pool, imported into the same process, and a block of it. */
struct pair {
    sp_cu_pool pool, imported;
    sp_cu_ptr ptr;
    struct sp_cu_pointer_export data;
    struct sp_shared shared; /* the pool's file, for forging */
};

static void open_pair(struct pair *pair)
{
    int file;

    pair->pool = sp_role_pool();
    pair->ptr = sp_role_block(pair->pool, NULL, 1);
    file = sp_role_export(pair->pool);
    EXPECT_CU(SUCCESS, sp_role_import(file, &pair->imported));
    EXPECT(sp_shared_open_file(SP_SHARED_POOL, file, &pair->shared) == STARPOOL_OK);
    close(file);
    EXPECT_CU(SUCCESS, cu->cuMemPoolExportPointer(&pair->data, pair->ptr));
}

static void close_pair(struct pair *pair)
{
    sp_shared_close(&pair->shared);
    EXPECT_CU(SUCCESS, cu->cuMemFree(pair->ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pair->imported));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pair->pool));
}

static void expect_no_pointer(const struct pair *pair, const void *bytes)
{
    struct sp_cu_pointer_export data;
    sp_cu_ptr ptr = 0;

    memcpy(&data, bytes, sizeof(data));
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolImportPointer(&ptr, pair->imported, &data));
    EXPECT(ptr == 0);
}

static void import_random_bytes(const int *sockets)
{
    uint64_t random = sp_test_seed(), words[8];
    struct sp_cu_pointer_export damaged;
    struct sp_holdings before;
    struct pair pair;

    (void)sockets;
    sp_role_begin(&before);
    open_pair(&pair);
    for (size_t i = 0; i < sp_test_scaled(N_RANDOM); i++) {
        for (int j = 0; j < 8; j++)
            words[j] = sp_test_random(&random);
        expect_no_pointer(&pair, words);
    }
    for (size_t bit = 0; bit < 8 * sizeof(damaged); bit++) {
        damaged = pair.data;
        damaged.reserved[bit / 8] ^= (unsigned char)(1U << bit % 8);
        expect_no_pointer(&pair, &damaged);
    }
    close_pair(&pair);
    sp_role_end(&before);
}

static void random_and_damaged_pointers_are_refused(void **state)
{
    (void)state;
    sp_roles_run(import_random_bytes, NULL, NULL);
}

/* Bytes that are well made, but name what no pool has. */
static void import_forged_pointers(const int *sockets)
{
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    struct pair pair;

    (void)sockets;
    sp_role_begin(&before);
    open_pair(&pair);
    const struct sp_shared_part parts[] = {
        {.offset = 0, .size = 0},
        {.offset = 1, .size = 512},
        {.offset = 0, .size = 511},
        {.offset = pair.shared.size, .size = 512},
        {.offset = pair.shared.size - 256, .size = 512},
        {.offset = 0, .size = pair.shared.size + 512},
        {.offset = 512, .size = UINT64_MAX - 511},
        {.offset = UINT64_MAX - 511, .size = 512},
        {.offset = UINT64_MAX - 511, .size = 1024},
        {.offset = 0, .size = 512, .word = 1},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        sp_shared_export(&pair.shared, &parts[i], &data);
        expect_no_pointer(&pair, &data);
    }
    pair.shared.identity[0] ^= 1;
    sp_shared_export(&pair.shared, &(struct sp_shared_part){.size = 512}, &data);
    expect_no_pointer(&pair, &data);
    close_pair(&pair);
    sp_role_end(&before);
}

static void forged_pointers_out_of_bounds_are_refused(void **state)
{
    (void)state;
    sp_roles_run(import_forged_pointers, NULL, NULL);
}

/* Bytes of one pool, given to another. */
static void import_into_the_wrong_pool(const int *sockets)
{
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    struct pair right, wrong;
    sp_cu_ptr ptr = 0;

    (void)sockets;
    sp_role_begin(&before);
    open_pair(&right);
    open_pair(&wrong);
    data = right.data;
    expect_no_pointer(&wrong, &data);
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolImportPointer(&ptr, right.pool, &data));
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolImportPointer(NULL, right.imported, &data));
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolImportPointer(&ptr, NULL, &data));
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolImportPointer(&ptr, right.imported, NULL));
    EXPECT(ptr == 0);
    close_pair(&wrong);
    close_pair(&right);
    sp_role_end(&before);
}

static void a_pointer_of_another_pool_is_refused(void **state)
{
    (void)state;
    sp_roles_run(import_into_the_wrong_pool, NULL, NULL);
}

/* ---- what cannot be exported ---------------------------------------------------------------
 */

static void export_wrongly(const int *sockets)
{
    struct sp_cu_pool_props props = sp_role_props(0);
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    sp_cu_pool plain, pool, default_pool;
    sp_cu_ptr ptr, shared;
    int file = -1;

    (void)sockets;
    sp_role_begin(&before);
    EXPECT_CU(SUCCESS, cu->cuMemPoolCreate(&plain, &props));
    EXPECT_CU(SUCCESS, cu->cuDeviceGetDefaultMemPool(&default_pool, 0));
    pool = sp_role_pool();
    const struct {
        void *out;
        sp_cu_pool pool;
        int type;
        unsigned long long flags;
    } wrong[] = {
        {&file, plain, SP_CU_HANDLE_POSIX_FD, 0},
        {&file, default_pool, SP_CU_HANDLE_POSIX_FD, 0},
        {&file, pool, SP_CU_HANDLE_NONE, 0},
        {&file, pool, SP_CU_HANDLE_FABRIC, 0},
        {NULL, pool, SP_CU_HANDLE_POSIX_FD, 0},
        {&file, NULL, SP_CU_HANDLE_POSIX_FD, 0},
        {&file, pool, SP_CU_HANDLE_POSIX_FD, 1},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        EXPECT_CU(INVALID_VALUE,
                  cu->cuMemPoolExportToShareableHandle(wrong[i].out, wrong[i].pool,
                                                       wrong[i].type, wrong[i].flags));
    EXPECT(file == -1);
    ptr = sp_role_block(plain, NULL, 1);
    shared = sp_role_block(pool, NULL, 1);
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolExportPointer(&data, ptr));
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolExportPointer(&data, shared + 512));
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolExportPointer(&data, 0));
    EXPECT_CU(INVALID_VALUE, cu->cuMemPoolExportPointer(NULL, shared));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(ptr, NULL));
    EXPECT_CU(SUCCESS, cu->cuMemFreeAsync(shared, NULL));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(plain));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
}

static void what_is_not_shared_cannot_be_exported(void **state)
{
    (void)state;
    sp_roles_run(export_wrongly, NULL, NULL);
}

/* ---- the fabric ----------------------------------------------------------------------------
 */

static void set_imex(const char *value)
{
    EXPECT(starpool_model_set_switch("imex", value) == STARPOOL_OK);
}

static sp_cu_result create_fabric(sp_cu_pool *pool_out)
{
    struct sp_cu_pool_props props = sp_role_props(SP_CU_HANDLE_FABRIC);

    return cu->cuMemPoolCreate(pool_out, &props);
}

static sp_cu_result import_fabric(struct sp_cu_fabric_handle *handle, sp_cu_pool *pool_out)
{
    return cu->cuMemPoolImportFromShareableHandle(pool_out, handle, SP_CU_HANDLE_FABRIC, 0);
}

static void exporter_over_the_fabric(const int *sockets)
{
    struct sp_cu_fabric_handle handle;
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    sp_cu_pool pool = NULL;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    EXPECT_CU(NOT_SUPPORTED, create_fabric(&pool));
    set_imex("no-channel");
    EXPECT_CU(NOT_PERMITTED, create_fabric(&pool));
    EXPECT(pool == NULL);
    set_imex("channel=3");
    EXPECT_CU(SUCCESS, create_fabric(&pool));
    ptr = sp_role_block(pool, NULL, 8);
    EXPECT_CU(SUCCESS,
              cu->cuMemPoolExportToShareableHandle(&handle, pool, SP_CU_HANDLE_FABRIC, 0));
    EXPECT_CU(SUCCESS, cu->cuMemPoolExportPointer(&data, ptr));
    sp_role_send(sockets[1], &handle, sizeof(handle), -1);
    sp_role_send(sockets[1], &data, sizeof(data), -1);
    sp_role_wait(sockets[1]);
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_end(&before);
    sp_role_signal(sockets[1]);
}

static void importer_over_the_fabric(const int *sockets)
{
    struct sp_cu_fabric_handle handle, damaged;
    struct sp_cu_pointer_export data;
    struct sp_holdings before;
    sp_cu_pool pool = NULL;
    sp_cu_ptr ptr;

    sp_role_begin(&before);
    sp_role_receive(sockets[0], &handle, sizeof(handle));
    sp_role_receive(sockets[0], &data, sizeof(data));
    EXPECT_CU(NOT_PERMITTED, import_fabric(&handle, &pool));
    set_imex("no-channel");
    EXPECT_CU(NOT_PERMITTED, import_fabric(&handle, &pool));
    set_imex("channel=4");
    EXPECT_CU(NOT_PERMITTED, import_fabric(&handle, &pool));
    set_imex("channel=3");
    damaged = handle;
    damaged.data[20] ^= 1;
    EXPECT_CU(INVALID_VALUE, import_fabric(&damaged, &pool));
    memcpy(&damaged, &data, sizeof(damaged));
    EXPECT_CU(INVALID_VALUE, import_fabric(&damaged, &pool));
    EXPECT(pool == NULL);
    EXPECT_CU(SUCCESS, import_fabric(&handle, &pool));
    EXPECT_CU(SUCCESS, cu->cuMemPoolImportPointer(&ptr, pool, &data));
    EXPECT(sp_role_holds(ptr, 8));
    EXPECT_CU(SUCCESS, cu->cuMemFree(ptr));
    EXPECT_CU(SUCCESS, cu->cuMemPoolDestroy(pool));
    sp_role_signal(sockets[0]);
    sp_role_wait(sockets[0]);
    pool = NULL;
    EXPECT_CU(INVALID_VALUE, import_fabric(&handle, &pool)); /* The pool is no more. */
    EXPECT(pool == NULL);
    sp_role_end(&before);
}

static void a_fabric_handle_opens_only_on_the_exporters_channel(void **state)
{
    (void)state;
    sp_roles_run(exporter_over_the_fabric, importer_over_the_fabric, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foreign_descriptor_is_refused),
        cmocka_unit_test(a_fifo_is_refused_and_blocks_nobody),
        cmocka_unit_test(a_forged_file_without_its_seals_or_size_is_refused),
        cmocka_unit_test(a_file_that_tells_nonsense_of_its_pool_is_refused),
        cmocka_unit_test(a_number_that_is_no_descriptor_is_refused),
        cmocka_unit_test(random_and_damaged_pointers_are_refused),
        cmocka_unit_test(forged_pointers_out_of_bounds_are_refused),
        cmocka_unit_test(a_pointer_of_another_pool_is_refused),
        cmocka_unit_test(what_is_not_shared_cannot_be_exported),
        cmocka_unit_test(a_fabric_handle_opens_only_on_the_exporters_channel),
    };

    if (setenv("STARPOOL_MODEL_DEVICES", "2", 1) != 0)
        return 1;
    (void)sp_test_seed(); /* The roles' seed is this one. */
    return cmocka_run_group_tests_name("ipc_hostile", tests, NULL, NULL);
}

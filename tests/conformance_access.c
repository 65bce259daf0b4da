/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ACCESS: which device may use a pool's memory, and who may change that. */
#include "config.h"

#include "tests/conformance.h"

#include <stdlib.h>

#define SIZE ((size_t)4096)

static struct sp_cu_location on_device(int device)
{
    return (struct sp_cu_location){.type = SP_CU_LOCATION_DEVICE, .id = device};
}

static int access_of(sp_cu_pool pool, struct sp_cu_location location)
{
    int flags = -1;

    assert_success(cu->cuMemPoolGetAccess(&flags, pool, &location));
    return flags;
}

static sp_cu_result set_access(sp_cu_pool pool, int device, int flags)
{
    struct sp_cu_access_desc access = {on_device(device), flags};

    return cu->cuMemPoolSetAccess(pool, &access, 1);
}

/* ---- what a new pool is like ----------------------------------------------------------------
 */

static void access_01_a_new_pool_is_its_own_devices(void)
{
    assert_int_equal(access_of(sp_case_pool(0), on_device(0)), SP_CU_ACCESS_READWRITE);
}

static void access_01_a_new_pool_is_no_other_devices(void)
{
    sp_cu_pool near = sp_case_pool(0);
    sp_cu_pool far = sp_case_pool(1);

    assert_int_equal(access_of(near, on_device(1)), SP_CU_ACCESS_NONE);
    assert_int_equal(access_of(far, on_device(1)), SP_CU_ACCESS_READWRITE);
    assert_int_equal(access_of(far, on_device(0)), SP_CU_ACCESS_NONE);
}

static void access_01_peer_access_of_contexts_is_not_pools(void)
{
    sp_cu_context peer = sp_case_device(1);
    sp_cu_pool old = sp_case_pool(1);

    (void)sp_case_device(0);
    assert_success(cu->cuCtxEnablePeerAccess(peer, 0));
    assert_int_equal(access_of(old, on_device(0)), SP_CU_ACCESS_NONE);
    assert_int_equal(access_of(sp_case_pool(1), on_device(0)), SP_CU_ACCESS_NONE);
    assert_success(cu->cuCtxDisablePeerAccess(peer));
}

/* A pool of host memory starts as the host's alone, and is a device's when that is granted. */
static void check_host_pool(int location_type)
{
    const struct sp_cu_location host = {.type = SP_CU_LOCATION_HOST};
    struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                     .location = {.type = location_type, .id = 0}};
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool_of(&props);
    sp_cu_ptr ptr;

    assert_int_equal(access_of(pool, on_device(0)), SP_CU_ACCESS_NONE);
    assert_int_equal(access_of(pool, host), SP_CU_ACCESS_READWRITE);
    assert_success(set_access(pool, 0, SP_CU_ACCESS_READWRITE));
    assert_int_equal(access_of(pool, on_device(0)), SP_CU_ACCESS_READWRITE);
    assert_int_equal(access_of(pool, host), SP_CU_ACCESS_READWRITE);
    ptr = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(ptr, 5, SIZE, stream);
    sp_case_assert_bytes(ptr, 5, SIZE, stream);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void access_02_a_host_pool_is_a_devices_once_granted(void)
{
    check_host_pool(SP_CU_LOCATION_HOST);
}

static void access_02_a_nodes_pool_is_a_devices_once_granted(void)
{
    check_host_pool(SP_CU_LOCATION_HOST_NUMA);
}

/* ---- granting and withdrawing ---------------------------------------------------------------
 */

static void access_03_a_grant_is_for_memory_before_and_after_it(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr blocks[2];
    sp_cu_stream peer;

    blocks[0] = sp_case_alloc(pool, SIZE, stream);
    assert_success(set_access(pool, 1, SP_CU_ACCESS_READWRITE));
    assert_int_equal(access_of(pool, on_device(1)), SP_CU_ACCESS_READWRITE);
    blocks[1] = sp_case_alloc(pool, SIZE, stream);
    sp_case_fill(blocks[0], 1, SIZE, stream);
    sp_case_fill(blocks[1], 2, SIZE, stream);
    sp_case_finish(stream);

    (void)sp_case_device(1);
    peer = sp_case_stream();
    for (int i = 0; i < 2; i++) {
        sp_case_assert_bytes(blocks[i], (unsigned char)(i + 1), SIZE, peer);
        sp_case_fill(blocks[i], (unsigned char)(i + 3), SIZE, peer);
        sp_case_finish(peer);
    }
    (void)sp_case_device(0);
    for (int i = 0; i < 2; i++) {
        sp_case_assert_bytes(blocks[i], (unsigned char)(i + 3), SIZE, stream);
        sp_case_free(blocks[i], stream);
    }
    sp_case_finish(stream);
}

static void access_04_a_grant_is_withdrawn(void)
{
    sp_cu_pool pool = sp_case_pool(0);

    assert_success(set_access(pool, 1, SP_CU_ACCESS_READWRITE));
    assert_int_equal(access_of(pool, on_device(1)), SP_CU_ACCESS_READWRITE);
    assert_success(set_access(pool, 1, SP_CU_ACCESS_NONE));
    assert_int_equal(access_of(pool, on_device(1)), SP_CU_ACCESS_NONE);
    assert_int_equal(access_of(pool, on_device(0)), SP_CU_ACCESS_READWRITE);
}

/* What a device may after its access to a pool of host memory has been withdrawn. */
static int access_after_withdrawal(int location_type)
{
    struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                     .location = {.type = location_type, .id = 0}};
    sp_cu_pool pool = sp_case_pool_of(&props);

    assert_success(set_access(pool, 0, SP_CU_ACCESS_READWRITE));
    assert_success(set_access(pool, 0, SP_CU_ACCESS_NONE));
    return access_of(pool, on_device(0));
}

static void access_04_a_nodes_pool_may_ignore_that_it_is_withdrawn(void)
{
    if (!cu->is_model) {
        int access = access_after_withdrawal(SP_CU_LOCATION_HOST_NUMA);

        sp_case_observe("ACCESS-04", "HOST_NUMA after NONE: %d", access);
        sp_case_settle("revoke_host_numa", access == SP_CU_ACCESS_NONE ? "works" : "ignored");
        return;
    }
    assert_true(sp_case_switch("revoke_host_numa", "works"));
    assert_int_equal(access_after_withdrawal(SP_CU_LOCATION_HOST_NUMA), SP_CU_ACCESS_NONE);
    assert_true(sp_case_switch("revoke_host_numa", "ignored"));
    assert_int_equal(access_after_withdrawal(SP_CU_LOCATION_HOST_NUMA), SP_CU_ACCESS_READWRITE);
    assert_int_equal(access_after_withdrawal(SP_CU_LOCATION_HOST), SP_CU_ACCESS_NONE);
}

static void access_05_granting_the_owner_what_it_has_changes_nothing(void)
{
    sp_cu_pool pool = sp_case_pool(0);

    assert_success(set_access(pool, 0, SP_CU_ACCESS_READWRITE));
    assert_int_equal(access_of(pool, on_device(0)), SP_CU_ACCESS_READWRITE);
}

static sp_cu_result revoke_owner(void *arg)
{
    sp_cu_pool pool = arg;
    sp_cu_result result = set_access(pool, 0, SP_CU_ACCESS_NONE);

    assert_int_not_equal(result, SP_CU_SUCCESS);
    assert_int_equal(access_of(pool, on_device(0)), SP_CU_ACCESS_READWRITE);
    return result;
}

static void access_06_the_owner_keeps_its_access(void)
{
    static const struct sp_choice choices[] = {{"invalid-device", SP_CU_INVALID_DEVICE},
                                               {"invalid-value", SP_CU_INVALID_VALUE}};

    sp_case_choose("ACCESS-06", "revoke_owner", choices, 2, revoke_owner, sp_case_pool(0));
}

/* ---- refusals -------------------------------------------------------------------------------
 */

static void access_07_bad_grants_are_refused(void)
{
    sp_cu_pool pool = sp_case_pool(0);

    assert_cu(SP_CU_INVALID_VALUE, set_access(NULL, 0, SP_CU_ACCESS_READWRITE));
    assert_cu(SP_CU_INVALID_VALUE, set_access(pool, 0, 0xffff));
    assert_cu(SP_CU_INVALID_DEVICE, set_access(pool, -1, SP_CU_ACCESS_READWRITE));
    assert_cu(SP_CU_INVALID_DEVICE,
              set_access(pool, sp_case_n_devices(), SP_CU_ACCESS_READWRITE));
    assert_int_equal(access_of(pool, on_device(0)), SP_CU_ACCESS_READWRITE);
}

static sp_cu_result grant_owner_once_too_often(void *arg)
{
    size_t n = (size_t)sp_case_n_devices() + 1;
    struct sp_cu_access_desc *accesses = calloc(n, sizeof(*accesses));
    sp_cu_result result;

    assert_non_null(accesses);
    for (size_t i = 0; i < n; i++)
        accesses[i] = (struct sp_cu_access_desc){on_device(0), SP_CU_ACCESS_READWRITE};
    result = cu->cuMemPoolSetAccess(arg, accesses, n);
    free(accesses);
    return result;
}

static void access_07_more_grants_than_devices_are_refused_or_not(void)
{
    static const struct sp_choice choices[] = {{"invalid-device", SP_CU_INVALID_DEVICE},
                                               {"success", SP_CU_SUCCESS}};

    sp_case_choose("ACCESS-07", "access_many", choices, 2, grant_owner_once_too_often,
                   sp_case_pool(0));
}

static void access_08_bad_questions_are_refused(void)
{
    struct sp_cu_location owner = on_device(0);
    struct sp_cu_location nobody = on_device(sp_case_n_devices());
    struct sp_cu_location nowhere = {.type = SP_CU_LOCATION_NONE};
    sp_cu_pool pool = sp_case_pool(0);
    int flags;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAccess(&flags, NULL, &owner));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAccess(&flags, pool, &nowhere));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAccess(&flags, pool, &nobody));
}

/* ---- devices that cannot be peers -----------------------------------------------------------
 */

/* Two devices that cannot reach each other: the model's, or real ones that happen to be so. */
static void need_strangers(void)
{
    struct starpool_model_config config = sp_case_config();
    int can = 1;

    config.peers = 0;
    (void)sp_case_restart(&config);
    assert_success(cu->cuDeviceCanAccessPeer(&can, 1, 0));
    if (can != 0)
        sp_case_skip("devices 0 and 1 are peers");
}

/* The grant, and if that succeeds the next allocation: one of them fails. */
static sp_cu_result grant_then_alloc(sp_cu_pool pool, sp_cu_result *alloc_out)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_result result = set_access(pool, 1, SP_CU_ACCESS_READWRITE);
    sp_cu_ptr ptr = 0;

    *alloc_out = cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, stream);
    if (*alloc_out == SP_CU_SUCCESS)
        sp_case_free(ptr, stream);
    sp_case_finish(stream);
    return result;
}

static void access_09_a_stranger_gets_no_access_now_or_at_the_next_allocation(void)
{
    sp_cu_result grant;
    sp_cu_result alloc;

    need_strangers();
    if (!cu->is_model) {
        grant = grant_then_alloc(sp_case_pool(0), &alloc);
        sp_case_observe("ACCESS-09", "grant %d, allocation %d", grant, alloc);
        sp_case_settle("access_not_peer", grant == SP_CU_SUCCESS          ? "deferred"
                                          : grant == SP_CU_INVALID_DEVICE ? "invalid-device"
                                                                          : "");
        assert_true(grant != SP_CU_SUCCESS || alloc != SP_CU_SUCCESS);
        return;
    }
    assert_true(sp_case_switch("access_not_peer", "deferred"));
    assert_cu(SP_CU_SUCCESS, grant_then_alloc(sp_case_pool(0), &alloc));
    assert_cu(SP_CU_INVALID_DEVICE, alloc);
    assert_true(sp_case_switch("access_not_peer", "invalid-device"));
    assert_cu(SP_CU_INVALID_DEVICE, grant_then_alloc(sp_case_pool(0), &alloc));
    assert_cu(SP_CU_SUCCESS, alloc);
}

static void access_09_a_pool_in_use_refuses_a_stranger(void)
{
    static const char *const values[] = {"deferred", "invalid-device"};
    sp_cu_stream stream;
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    need_strangers();
    stream = sp_case_stream();
    pool = sp_case_pool(0);
    ptr = sp_case_alloc(pool, SIZE, stream);
    for (int i = 0; i < 2; i++) {
        assert_true(sp_case_switch("access_not_peer", values[i]));
        assert_cu(SP_CU_INVALID_DEVICE, set_access(pool, 1, SP_CU_ACCESS_READWRITE));
        assert_int_equal(access_of(pool, on_device(1)), SP_CU_ACCESS_NONE);
    }
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
}

static void access_09_asking_about_a_stranger_is_fine(void)
{
    need_strangers();
    assert_int_equal(access_of(sp_case_pool(0), on_device(1)), SP_CU_ACCESS_NONE);
}

/* ---- what is not documented -----------------------------------------------------------------
 */

static sp_cu_result grant_reading(void *arg)
{
    sp_cu_pool pool = arg;
    sp_cu_result result = set_access(pool, 1, SP_CU_ACCESS_READ);

    if (cu->is_model)
        assert_int_equal(access_of(pool, on_device(1)),
                         result == SP_CU_SUCCESS ? SP_CU_ACCESS_READ : SP_CU_ACCESS_NONE);
    return result;
}

static void access_10_reading_alone_is_granted_or_refused(void)
{
    static const struct sp_choice choices[] = {{"invalid-value", SP_CU_INVALID_VALUE},
                                               {"success", SP_CU_SUCCESS}};

    sp_case_choose("ACCESS-10", "access_read_only", choices, 2, grant_reading, sp_case_pool(0));
}

static void access_10_no_grants_are_fine_and_missing_ones_are_not(void)
{
    struct sp_cu_access_desc revoke = {on_device(0), SP_CU_ACCESS_NONE};
    sp_cu_pool pool = sp_case_pool(0);

    assert_cu(SP_CU_SUCCESS, cu->cuMemPoolSetAccess(pool, &revoke, 0));
    assert_cu(SP_CU_SUCCESS, cu->cuMemPoolSetAccess(pool, NULL, 0));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolSetAccess(pool, NULL, 1));
    assert_int_equal(access_of(pool, on_device(0)), SP_CU_ACCESS_READWRITE);
}

static const struct sp_case cases[] = {
    SP_CASE(access_01_a_new_pool_is_its_own_devices, 0),
    SP_CASE(access_01_a_new_pool_is_no_other_devices, SP_TAG_GPU2),
    SP_CASE(access_01_peer_access_of_contexts_is_not_pools, SP_TAG_P2P),
    SP_CASE(access_02_a_host_pool_is_a_devices_once_granted, SP_TAG_HOST),
    SP_CASE(access_02_a_nodes_pool_is_a_devices_once_granted, SP_TAG_HOST),
    SP_CASE(access_03_a_grant_is_for_memory_before_and_after_it, SP_TAG_P2P),
    SP_CASE(access_04_a_grant_is_withdrawn, SP_TAG_P2P),
    SP_CASE(access_04_a_nodes_pool_may_ignore_that_it_is_withdrawn, SP_TAG_HOST),
    SP_CASE(access_05_granting_the_owner_what_it_has_changes_nothing, 0),
    SP_CASE(access_06_the_owner_keeps_its_access, 0),
    SP_CASE(access_07_bad_grants_are_refused, 0),
    SP_CASE(access_07_more_grants_than_devices_are_refused_or_not, 0),
    SP_CASE(access_08_bad_questions_are_refused, 0),
    SP_CASE(access_09_a_stranger_gets_no_access_now_or_at_the_next_allocation, SP_TAG_GPU2),
    SP_CASE(access_09_a_pool_in_use_refuses_a_stranger, SP_TAG_GPU2 | SP_TAG_MODEL),
    SP_CASE(access_09_asking_about_a_stranger_is_fine, SP_TAG_GPU2),
    SP_CASE(access_10_reading_alone_is_granted_or_refused, SP_TAG_P2P),
    SP_CASE(access_10_no_grants_are_fine_and_missing_ones_are_not, SP_TAG_MODEL),
};

const struct sp_case_group sp_cases_access = SP_CASE_GROUP("ACCESS", cases);

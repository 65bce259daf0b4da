/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random values of every type that calls take. What is an address of the host's points to where
 * the copies of tame calls stay inside; wild calls get any sizes, but devices' addresses only.
 */
#include "config.h"

#include "tests/sim_fuzz.h"

#include <string.h>

#include "src/model/model.h"
#include "src/sim/driver_made.h"

struct sp_fuzz_world sp_fuzz;
char sp_fuzz_variable[64];

#define PICK(values) ((values)[sp_fuzz_below(sizeof(values) / sizeof((values)[0]))])

/* ---- numbers ------------------------------------------------------------------------- */

size_t sp_fuzz_below(size_t bound)
{
    return sp_test_random_below(&sp_fuzz.random, bound);
}

static bool one_in(size_t n)
{
    return sp_fuzz_below(n) == 0;
}

uint64_t sp_fuzz_size(void)
{
    static const uint64_t large[] = {
        65536,      1 << 20,        3 << 20,    9 << 20,          16 << 20,
        1ull << 40, UINT64_MAX / 2, 1ull << 63, UINT64_MAX - 255, UINT64_MAX};
    static const uint64_t small[] = {0, 1, 2, 3, 4, 7, 8, 16, 64, 255, 256, 1000, 4096};

    return sp_fuzz.is_wild && one_in(2) ? PICK(large) : PICK(small);
}

unsigned sp_fuzz_dimension(void)
{
    static const unsigned large[] = {32, 1024, 65536, UINT32_MAX};
    static const unsigned small[] = {0, 1, 1, 1, 1, 2, 4};

    return sp_fuzz.is_wild && one_in(3) ? PICK(large) : PICK(small);
}

/* Any size, but of a tame call below `bound`. */
static size_t extent_below(size_t bound)
{
    return sp_fuzz.is_wild ? sp_fuzz_size() : sp_fuzz_below(bound);
}

/* Copies of tame calls: 4 slices of 4 rows of 64 bytes from there are inside the buffer. */
void *sp_fuzz_host(void)
{
    return sp_fuzz.host + sp_fuzz_below(64);
}

/* ---- handles ------------------------------------------------------------------------- */

/* Every second time the last one or that before it: what is made together goes together. */
static uint64_t recent(enum sp_fuzz_kind kind)
{
    const struct sp_fuzz_handles *handles = &sp_fuzz.handles[kind];
    unsigned n = handles->n_seen < SP_FUZZ_RECENT ? handles->n_seen : SP_FUZZ_RECENT;

    if (n == 0)
        return 0;
    if (n >= 2 && one_in(2))
        return handles->recent[(handles->n_seen - 1 - sp_fuzz_below(2)) % SP_FUZZ_RECENT];
    return handles->recent[sp_fuzz_below(n)];
}

/* Where tame copies begin is inside a block, however small; a copy from there to beyond the end
 * is refused. */
static uint64_t address(void)
{
    uint64_t ptr;

    if (one_in(16))
        return 0;
    if (!sp_fuzz.is_wild && one_in(4))
        return (uintptr_t)sp_fuzz_host();
    ptr = recent(!sp_fuzz.is_wild && one_in(4) ? SP_FUZZ_PINNED : SP_FUZZ_PTR);
    return ptr == 0 || one_in(2) ? ptr : ptr + sp_fuzz_below(sp_fuzz.is_wild ? 4096 : 1024);
}

static uint64_t no_handle(void)
{
    switch (sp_fuzz_below(5)) {
    case 0:
        return 0;
    case 1:
        return sp_fuzz_below(8);
    case 2:
        return (uintptr_t)sp_fuzz.host + 1;
    case 3:
        return sp_test_random(&sp_fuzz.random);
    default:
        return (uintptr_t)sp_fuzz.host;
    }
}

uint64_t sp_fuzz_handle(enum sp_fuzz_kind kind)
{
    if (kind == SP_FUZZ_PTR)
        return address();
    if (one_in(32))
        return no_handle();
    if (one_in(32))
        return recent((enum sp_fuzz_kind)sp_fuzz_below(SP_FUZZ_PTR));
    if (kind == SP_FUZZ_STREAM && one_in(4))
        return sp_fuzz_below(3); /* the default streams */
    return recent(kind);
}

void sp_fuzz_made_unseen(enum sp_fuzz_kind kind, uint64_t handle)
{
    struct sp_fuzz_handles *handles = &sp_fuzz.handles[kind];

    if (handle != 0 && handles->n_made < SP_FUZZ_MAX_MADE)
        handles->made[handles->n_made++] = handle;
}

void sp_fuzz_made(enum sp_fuzz_kind kind, uint64_t handle)
{
    struct sp_fuzz_handles *handles = &sp_fuzz.handles[kind];

    sp_fuzz_made_unseen(kind, handle);
    if (handle != 0)
        handles->recent[handles->n_seen++ % SP_FUZZ_RECENT] = handle;
}

#define HANDLE(KIND) ((void *)(uintptr_t)sp_fuzz_handle(SP_FUZZ_##KIND))

/* ---- functions ----------------------------------------------------------------------- */

/* What host functions may not do is refused. */
void sp_fuzz_host_call(void *arg)
{
    if (arg != NULL)
        (void)sp_model_driver()->cuCtxSynchronize();
}

void sp_fuzz_callback(sp_cu_stream stream, sp_cu_result status, void *arg)
{
    (void)stream, (void)status, (void)arg;
}

void sp_fuzz_kernel(void)
{
}

static const void *kernel_symbol(void)
{
    void (*symbol)(void) = sp_fuzz_kernel;
    const void *ptr;

    if (one_in(8))
        return HANDLE(KERNEL);
    memcpy(&ptr, &symbol, sizeof(ptr));
    return ptr;
}

void *sp_fuzz_room(void)
{
    static struct {
        uint64_t words[SP_FUZZ_ROOM / sizeof(uint64_t)];
    } rooms[64];
    static unsigned n;

    return memset(&rooms[n++ % 64], 0, sizeof(rooms[0]));
}

void **sp_fuzz_args(void)
{
    void **args = sp_fuzz_room();

    for (unsigned i = 0; i < 8; i++) {
        uint64_t *word = sp_fuzz_room();

        *word = i % 2 == 1 ? 4 : sp_fuzz_handle(SP_FUZZ_PTR);
        args[i] = word;
    }
    return args;
}

/* ---- small structures ---------------------------------------------------------------- */

struct sp_cu_location sp_fuzz_location(void)
{
    return (struct sp_cu_location){(int)sp_fuzz_below(6), (int)sp_fuzz_below(4) - 1};
}

struct sp_rt_pitched sp_fuzz_pitched(void)
{
    return (struct sp_rt_pitched){(void *)(uintptr_t)sp_fuzz_handle(SP_FUZZ_PTR),
                                  sp_fuzz.is_wild ? sp_fuzz_size() : 64, sp_fuzz_size(),
                                  sp_fuzz.is_wild ? sp_fuzz_size() : 4};
}

struct sp_rt_extent sp_fuzz_extent(void)
{
    return (struct sp_rt_extent){extent_below(64), extent_below(5), extent_below(4)};
}

static struct sp_cu_pool_props pool_props(void)
{
    struct sp_cu_pool_props props = {
        .alloc_type = one_in(8) ? (int)sp_fuzz_below(4) : SP_CU_ALLOCATION_PINNED,
        .handle_types = one_in(4) ? (int)sp_fuzz_below(16) : 0,
        .location = {SP_CU_LOCATION_DEVICE, (int)sp_fuzz_below(2)},
        .max_size = one_in(2) ? 0 : sp_fuzz_size(),
    };

    if (one_in(2))
        props.location = sp_fuzz_location();
    if (one_in(16))
        props.reserved[sp_fuzz_below(54)] = 1;
    return props;
}

static void fill_pool_props(void *room)
{
    *(struct sp_cu_pool_props *)room = pool_props();
}

static void fill_location(void *room)
{
    *(struct sp_cu_location *)room = sp_fuzz_location();
}

static void fill_access(void *room)
{
    struct sp_cu_access_desc *access = room;

    for (unsigned i = 0; i < 8; i++)
        access[i] = (struct sp_cu_access_desc){sp_fuzz_location(), (int)sp_fuzz_below(5)};
}

static void fill_instantiate(void *room)
{
    struct sp_cu_instantiate_params *params = room;

    params->flags = one_in(2) ? 0 : sp_fuzz_below(32);
    params->upload_stream = HANDLE(STREAM);
}

static void fill_launch_value(void *room)
{
    ((union sp_cu_launch_value *)room)->number = (int)sp_fuzz_below(4);
}

/* ---- copies and sets ----------------------------------------------------------------- */

static int memory_type(void)
{
    if (!sp_fuzz.is_wild)
        return (int)sp_fuzz_below(6);
    return one_in(2) ? SP_CU_MEMORY_TYPE_DEVICE : SP_CU_MEMORY_TYPE_UNIFIED;
}

static void fill_copy3d(void *room)
{
    *(struct sp_cu_memcpy3d *)room = (struct sp_cu_memcpy3d){
        .source_x_bytes = extent_below(64),
        .source_y = sp_fuzz_below(3),
        .source_z = sp_fuzz_below(3),
        .source_type = memory_type(),
        .source_host = sp_fuzz_host(),
        .source_device = sp_fuzz_handle(SP_FUZZ_PTR),
        .source_pitch = sp_fuzz.is_wild ? sp_fuzz_size() : 64,
        .source_height = sp_fuzz.is_wild ? sp_fuzz_size() : 4,
        .target_x_bytes = one_in(2) ? 0 : extent_below(64),
        .target_y = sp_fuzz_below(3),
        .target_z = sp_fuzz_below(3),
        .target_type = memory_type(),
        .target_host = sp_fuzz_host(),
        .target_device = sp_fuzz_handle(SP_FUZZ_PTR),
        .target_pitch = sp_fuzz.is_wild ? sp_fuzz_size() : 64,
        .target_height = sp_fuzz.is_wild ? sp_fuzz_size() : 4,
        .width_bytes = extent_below(64),
        .height = extent_below(5),
        .depth = extent_below(4),
    };
}

static void fill_copy3d_peer(void *room)
{
    struct sp_cu_memcpy3d_peer *copy = room;

    fill_copy3d(room); /* the same layout but for these */
    copy->source_context = HANDLE(CONTEXT);
    copy->target_context = HANDLE(CONTEXT);
}

static void fill_copy2d(void *room)
{
    struct sp_cu_memcpy3d copy;

    fill_copy3d(&copy);
    *(struct sp_cu_memcpy2d *)room = (struct sp_cu_memcpy2d){
        .source_x_bytes = copy.source_x_bytes,
        .source_y = copy.source_y,
        .source_type = copy.source_type,
        .source_host = copy.source_host,
        .source_device = copy.source_device,
        .source_pitch = copy.source_pitch,
        .target_x_bytes = copy.target_x_bytes,
        .target_y = copy.target_y,
        .target_type = copy.target_type,
        .target_host = copy.target_host,
        .target_device = copy.target_device,
        .target_pitch = copy.target_pitch,
        .width_bytes = copy.width_bytes,
        .height = copy.height,
    };
}

static void fill_rt_copy3d(void *room)
{
    *(struct sp_rt_copy3d *)room = (struct sp_rt_copy3d){
        .source_at = {extent_below(64), sp_fuzz_below(3), sp_fuzz_below(3)},
        .source = sp_fuzz_pitched(),
        .target_at = {sp_fuzz_below(3), sp_fuzz_below(3), sp_fuzz_below(3)},
        .target = sp_fuzz_pitched(),
        .extent = sp_fuzz_extent(),
        .kind = (int)sp_fuzz_below(7) - 1,
    };
}

static void fill_rt_peer3d(void *room)
{
    struct sp_rt_copy3d copy;

    fill_rt_copy3d(&copy);
    *(struct sp_rt_peer3d *)room = (struct sp_rt_peer3d){
        .source_at = copy.source_at,
        .source = copy.source,
        .source_device = (int)sp_fuzz_below(4) - 1,
        .target_at = copy.target_at,
        .target = copy.target,
        .target_device = (int)sp_fuzz_below(4) - 1,
        .extent = copy.extent,
    };
}

static void fill_memset(void *room)
{
    *(struct sp_cu_memset_params *)room = (struct sp_cu_memset_params){
        .target = sp_fuzz_handle(SP_FUZZ_PTR),
        .pitch = sp_fuzz.is_wild ? sp_fuzz_size() : 64,
        .value = (unsigned)sp_fuzz_below(UINT32_MAX),
        .element_size = (unsigned)sp_fuzz_below(5),
        .width = extent_below(16),
        .height = extent_below(4),
    };
}

/* ---- kernels ------------------------------------------------------------------------- */

static void fill_kernel(void *room)
{
    struct sp_cu_kernel_params *kernel = room;

    *kernel = (struct sp_cu_kernel_params){
        .function = HANDLE(FUNCTION),
        .grid = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .block = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .shared_bytes = (unsigned)sp_fuzz_size(),
        .args = one_in(8) ? NULL : sp_fuzz_args(),
    };
    if (one_in(8)) {
        kernel->function = NULL;
        kernel->kernel = HANDLE(KERNEL);
    }
}

/* The older one ends before `kernel`. */
static void fill_kernel_v1(void *room)
{
    struct sp_cu_kernel_params kernel;

    fill_kernel(&kernel);
    memcpy(room, &kernel, offsetof(struct sp_cu_kernel_params, kernel));
}

static void fill_rt_kernel(void *room)
{
    *(struct sp_rt_kernel_params *)room = (struct sp_rt_kernel_params){
        .function = kernel_symbol(),
        .grid = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .block = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .shared_bytes = (unsigned)sp_fuzz_size(),
        .args = one_in(8) ? NULL : sp_fuzz_args(),
    };
}

static struct sp_cu_launch_attribute *launch_attributes(void)
{
    struct sp_cu_launch_attribute *attributes = sp_fuzz_room();

    for (unsigned i = 0; i < 4; i++) {
        attributes[i].id = (int)sp_fuzz_below(16);
        attributes[i].value.number = (int)sp_fuzz_below(4);
    }
    return attributes;
}

static void fill_launch(void *room)
{
    struct sp_cu_launch_config *config = room;

    *config = (struct sp_cu_launch_config){
        .grid = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .block = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .shared_bytes = (unsigned)sp_fuzz_size(),
        .stream = HANDLE(STREAM),
    };
    if (one_in(2)) {
        config->attributes = launch_attributes();
        config->n_attributes = (unsigned)sp_fuzz_below(4);
    }
}

static void fill_rt_launch(void *room)
{
    struct sp_rt_launch_config *config = room;

    *config = (struct sp_rt_launch_config){
        .grid = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .block = {sp_fuzz_dimension(), sp_fuzz_dimension(), sp_fuzz_dimension()},
        .shared_bytes = sp_fuzz_size(),
        .stream = HANDLE(STREAM),
    };
    if (one_in(2)) {
        config->attributes = launch_attributes();
        config->n_attributes = (unsigned)sp_fuzz_below(4);
    }
}

/* ---- nodes --------------------------------------------------------------------------- */

static void fill_host_node(void *room)
{
    struct sp_cu_host_params *params = room;

    params->call = one_in(8) ? NULL : sp_fuzz_host_call;
    params->arg = one_in(2) ? NULL : sp_fuzz.host;
}

static void fill_alloc(void *room)
{
    struct sp_cu_alloc_params *params = room;

    *params = (struct sp_cu_alloc_params){.props = pool_props(), .size = sp_fuzz_size()};
    if (one_in(4)) {
        void *access = sp_fuzz_room();

        fill_access(access);
        params->access = access;
        params->n_access = sp_fuzz_below(3);
    }
}

/* What the driver's and the runtime's parameters have in common, kernels and copies apart. */
static void fill_node(struct sp_cu_node_params *params, bool is_runtime)
{
    switch (params->type) {
    case SP_CU_NODE_MEMSET:
        fill_memset(&params->set.params);
        params->set.context = is_runtime ? NULL : HANDLE(CONTEXT);
        break;
    case SP_CU_NODE_HOST:
        fill_host_node(&params->host);
        break;
    case SP_CU_NODE_GRAPH:
        params->child.graph = HANDLE(GRAPH);
        params->child.ownership = one_in(4) ? (int)sp_fuzz_below(4) - 1 : SP_CU_CHILD_CLONE;
        break;
    case SP_CU_NODE_WAIT_EVENT:
    case SP_CU_NODE_EVENT_RECORD:
        params->event = HANDLE(EVENT);
        break;
    case SP_CU_NODE_MEM_ALLOC:
        fill_alloc(&params->alloc);
        break;
    case SP_CU_NODE_MEM_FREE:
        params->free = sp_fuzz_handle(SP_FUZZ_PTR);
        break;
    case SP_CU_NODE_CONDITIONAL:
        params->conditional.handle = sp_fuzz_handle(SP_FUZZ_CONDITIONAL);
        /* Not WHILE: no kernel here ends the loop. */
        params->conditional.type = one_in(2) ? SP_CU_CONDITION_IF : SP_CU_CONDITION_SWITCH;
        params->conditional.size = (unsigned)sp_fuzz_below(4);
        params->conditional.context = is_runtime ? NULL : HANDLE(CONTEXT);
        break;
    default:
        break;
    }
    if (one_in(32))
        params->reserved0[sp_fuzz_below(3)] = 1;
    if (one_in(32))
        params->reserved2 = 1;
}

static void fill_cu_node(void *room)
{
    struct sp_cu_node_params *params = room;

    params->type = (int)sp_fuzz_below(15);
    if (params->type == SP_CU_NODE_KERNEL)
        fill_kernel(&params->kernel);
    if (params->type == SP_CU_NODE_MEMCPY) {
        fill_copy3d(&params->copy.copy);
        params->copy.context = HANDLE(CONTEXT);
    }
    fill_node(params, false);
}

static void fill_rt_node(void *room)
{
    struct sp_rt_node_params *params = room;

    params->type = (int)sp_fuzz_below(15);
    if (params->type == SP_CU_NODE_KERNEL)
        fill_rt_kernel(&params->kernel);
    if (params->type == SP_CU_NODE_MEMCPY)
        fill_rt_copy3d(&params->copy.copy);
    fill_node(room, true);
}

/* ---- by type ------------------------------------------------------------------------- */

void sp_fuzz_structure(const char *type, void *room)
{
    static const struct {
        const char *type;
        void (*fill)(void *room);
    } structures[] = {
        {"sp_cu_memcpy2d", fill_copy2d},
        {"sp_cu_memcpy3d", fill_copy3d},
        {"sp_cu_memcpy3d_peer", fill_copy3d_peer},
        {"sp_rt_copy3d", fill_rt_copy3d},
        {"sp_rt_peer3d", fill_rt_peer3d},
        {"sp_cu_pool_props", fill_pool_props},
        {"sp_cu_location", fill_location},
        {"sp_cu_access_desc", fill_access},
        {"sp_cu_alloc_params", fill_alloc},
        {"sp_cu_memset_params", fill_memset},
        {"sp_cu_host_params", fill_host_node},
        {"sp_cu_node_params", fill_cu_node},
        {"sp_rt_node_params", fill_rt_node},
        {"sp_cu_kernel_params", fill_kernel},
        {"sp_cu_kernel_params_v1", fill_kernel_v1},
        {"sp_rt_kernel_params", fill_rt_kernel},
        {"sp_cu_launch_config", fill_launch},
        {"sp_rt_launch_config", fill_rt_launch},
        {"sp_cu_instantiate_params", fill_instantiate},
        {"sp_cu_launch_value", fill_launch_value},
    };

    for (size_t i = 0; i < sizeof(structures) / sizeof(structures[0]); i++) {
        if (strcmp(type, structures[i].type) == 0)
            structures[i].fill(room);
    }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The default and the current pool of each location and kind of memory. Default pools are made
 * when they are first asked for, and stay. */
#include "config.h"

#include "src/model/mempool.h"

#include <stdlib.h>

struct place {
    struct sp_cu_location location; /* HOST's and NONE's id is 0 */
    int alloc_type;
    struct sp_model_pool *pool;    /* the default one */
    struct sp_model_pool *current; /* NULL: the default one */
    struct place *next;
};

/* Behind the model's lock. */
static struct {
    struct place *first;
} places;

static struct place *find_place(struct sp_cu_location location, int alloc_type)
{
    for (struct place *place = places.first; place != NULL; place = place->next) {
        if (place->location.type == location.type && place->location.id == location.id &&
            place->alloc_type == alloc_type)
            return place;
    }
    return NULL;
}

/* The place of a location that has been checked, with its default pool. */
static struct place *get_place(struct sp_cu_location location, int alloc_type)
{
    struct sp_cu_pool_props props = {.alloc_type = alloc_type, .location = location};
    struct place *place = find_place(location, alloc_type);

    if (place != NULL)
        return place;
    place = calloc(1, sizeof(*place));
    if (place == NULL)
        return NULL;
    *place = (struct place){.location = location, .alloc_type = alloc_type};
    place->pool = sp_model_pool_new(&props);
    if (place->pool == NULL) {
        free(place);
        return NULL;
    }
    place->pool->is_default = true;
    place->next = places.first;
    places.first = place;
    return place;
}

static struct place *device_place(int device)
{
    struct sp_cu_location location = {.type = SP_CU_LOCATION_DEVICE, .id = device};

    return get_place(location, SP_CU_ALLOCATION_PINNED);
}

static struct sp_model_pool *current_of(const struct place *place)
{
    return place->current != NULL ? place->current : place->pool;
}

struct sp_model_pool *sp_model_pool_current(int device)
{
    struct place *place = device_place(device);

    return place == NULL ? NULL : current_of(place);
}

void sp_model_pool_uncurrent(struct sp_model_pool *pool)
{
    for (struct place *place = places.first; place != NULL; place = place->next) {
        if (place->current == pool)
            place->current = NULL;
    }
}

void sp_model_places_reset(void)
{
    struct place *place;

    while ((place = places.first) != NULL) {
        places.first = place->next;
        free(place);
    }
}

/* ---- entry points: by device --------------------------------------------------------- */

/* The handle of a place's default or current pool. */
static sp_cu_result tell(const struct place *place, bool wants_current, sp_cu_pool *pool_out)
{
    if (place == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *pool_out = wants_current ? current_of(place)->handle : place->pool->handle;
    return SP_CU_SUCCESS;
}

/* A pool can be current only where its own memory is, and where it can allocate. */
static sp_cu_result set_current(struct place *place, sp_cu_pool handle)
{
    struct sp_model_pool *pool;

    if (place == NULL)
        return SP_CU_OUT_OF_MEMORY;
    pool = sp_model_pool_get(handle);
    if (pool == NULL || pool->is_imported || pool->props.alloc_type != place->alloc_type ||
        pool->props.location.type != place->location.type ||
        pool->props.location.id != place->location.id)
        return SP_CU_INVALID_VALUE;
    place->current = pool;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuDeviceGetDefaultMemPool(sp_cu_pool *pool_out, sp_cu_device device)
{
    SP_MODEL_ENTER(cuDeviceGetDefaultMemPool);
    if (pool_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    return sp_model_leave(tell(device_place(device), false, pool_out));
}

sp_cu_result sp_model_cuDeviceGetMemPool(sp_cu_pool *pool_out, sp_cu_device device)
{
    SP_MODEL_ENTER(cuDeviceGetMemPool);
    if (pool_out == NULL || !sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(tell(device_place(device), true, pool_out));
}

sp_cu_result sp_model_cuDeviceSetMemPool(sp_cu_device device, sp_cu_pool pool)
{
    SP_MODEL_ENTER(cuDeviceSetMemPool);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(set_current(device_place(device), pool));
}

/* ---- entry points: by location ------------------------------------------------------- */

static sp_cu_result find_by_location(const struct sp_cu_location *location, int alloc_type,
                                     sp_cu_result bad_device, struct place **place_out)
{
    struct sp_cu_location checked;
    sp_cu_result result;

    if (location == NULL)
        return SP_CU_INVALID_VALUE;
    checked = *location;
    result = sp_model_location_check(&checked, alloc_type, bad_device);
    if (result != SP_CU_SUCCESS)
        return result;
    *place_out = get_place(checked, alloc_type);
    return *place_out == NULL ? SP_CU_OUT_OF_MEMORY : SP_CU_SUCCESS;
}

static sp_cu_result get_default_locked(sp_cu_pool *pool_out,
                                       const struct sp_cu_location *location, int alloc_type)
{
    sp_cu_result bad_device = sp_model_switch(SP_SWITCH_default_bad_device) == 0
                                  ? SP_CU_INVALID_DEVICE
                                  : SP_CU_INVALID_VALUE;
    struct place *place;
    sp_cu_result result;

    if (pool_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = find_by_location(location, alloc_type, bad_device, &place);
    return result == SP_CU_SUCCESS ? tell(place, false, pool_out) : result;
}

sp_cu_result sp_model_cuMemGetDefaultMemPool(sp_cu_pool *pool_out,
                                             struct sp_cu_location *location, int alloc_type)
{
    SP_MODEL_ENTER(cuMemGetDefaultMemPool);
    return sp_model_leave(get_default_locked(pool_out, location, alloc_type));
}

static sp_cu_result get_current_locked(sp_cu_pool *pool_out,
                                       const struct sp_cu_location *location, int alloc_type)
{
    struct place *place;
    sp_cu_result result;

    if (pool_out == NULL)
        return SP_CU_INVALID_VALUE;
    result = find_by_location(location, alloc_type, SP_CU_INVALID_VALUE, &place);
    return result == SP_CU_SUCCESS ? tell(place, true, pool_out) : result;
}

sp_cu_result sp_model_cuMemGetMemPool(sp_cu_pool *pool_out, struct sp_cu_location *location,
                                      int alloc_type)
{
    SP_MODEL_ENTER(cuMemGetMemPool);
    return sp_model_leave(get_current_locked(pool_out, location, alloc_type));
}

static sp_cu_result set_current_locked(const struct sp_cu_location *location, int alloc_type,
                                       sp_cu_pool pool)
{
    struct place *place;
    sp_cu_result result = find_by_location(location, alloc_type, SP_CU_INVALID_VALUE, &place);

    return result == SP_CU_SUCCESS ? set_current(place, pool) : result;
}

sp_cu_result sp_model_cuMemSetMemPool(struct sp_cu_location *location, int alloc_type,
                                      sp_cu_pool pool)
{
    SP_MODEL_ENTER(cuMemSetMemPool);
    return sp_model_leave(set_current_locked(location, alloc_type, pool));
}

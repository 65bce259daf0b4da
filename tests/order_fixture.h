/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An order of streams with what its tests do to it. */
#ifndef SP_ORDER_FIXTURE_H
#define SP_ORDER_FIXTURE_H

#include "tests/support.h"

#include <string.h>

#include "src/heap/checker.h"
#include "src/heap/order.h"
#include "src/util/util.h"

static struct sp_order order;

static inline int setup(void **state)
{
    (void)state;
    sp_order_init(&order);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    assert_true(sp_order_is_valid(&order));
    sp_checker_destroy(order.checker);
    sp_order_fini(&order);
    return 0;
}

static inline sp_slot new_stream(void)
{
    sp_slot slot = SP_SLOT_HOST;

    assert_ok(sp_order_add_stream(&order, &slot));
    return slot;
}

/* The last of `n` operations. */
static inline struct sp_point submit(sp_slot slot, int n)
{
    struct sp_point point = {slot, 0};

    while (n-- > 0)
        point = sp_order_submit(&order, slot);
    return point;
}

static inline struct sp_mark record(sp_slot slot)
{
    struct sp_mark mark;

    assert_ok(sp_order_record(&order, slot, &mark));
    return mark;
}

/* Make a stream wait for all that another has been given, by a mark. */
static inline void wait_for(sp_slot slot, sp_slot other)
{
    struct sp_mark mark = record(other);

    assert_ok(sp_order_wait(&order, slot, &mark));
    sp_mark_fini(&mark);
}

static inline void see(sp_slot slot)
{
    struct sp_mark mark = record(slot);

    sp_order_see(&order, &mark);
    sp_mark_fini(&mark);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* SP_ORDER_FIXTURE_H */

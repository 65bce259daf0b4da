/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests of streams of starpool's own start from. */
#include "config.h"

#include "tests/stream_fixture.h"

#include "tests/support.h"

struct sp_stream_fixture streams;

int sp_stream_fixture_setup(void **state)
{
    static const struct starpool_location host = {STARPOOL_HOST, 0};

    sp_fixture_setup(state);
    if (starpool_stream_create(host, &streams.a) != STARPOOL_OK ||
        starpool_stream_create(host, &streams.b) != STARPOOL_OK)
        return -1;
    return 0;
}

int sp_stream_fixture_teardown(void **state)
{
    starpool_stream_destroy(streams.a);
    starpool_stream_destroy(streams.b);
    return sp_fixture_teardown(state);
}

void *sp_stream_fixture_alloc(starpool_stream stream, size_t size)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(fixture.pool, size, stream, &ptr));
    return ptr;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pool of fixture.h with two streams of starpool's own. */
#ifndef SP_STREAM_FIXTURE_H
#define SP_STREAM_FIXTURE_H

#include <starpool/stream.h>

#include "tests/fixture.h"

extern struct sp_stream_fixture {
    starpool_stream a, b;
} streams;

/* For cmocka. */
int sp_stream_fixture_setup(void **state);
int sp_stream_fixture_teardown(void **state);

/* A block of the fixture's pool, which must be had. */
void *sp_stream_fixture_alloc(starpool_stream stream, size_t size);

#endif /* SP_STREAM_FIXTURE_H */

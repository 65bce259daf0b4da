/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Problems of intervals, made of random numbers; and a check that knows nothing of how offsets
 * were found. */
#include "config.h"

#include "tests/support.h"

#include "tests/interval_case.h"

#include <string.h>

#include "src/util/util.h"

void sp_interval_case_init(struct sp_interval_case *it)
{
    memset(it, 0, sizeof(*it));
    it->problem =
        (struct sp_interval_problem){.lower = it->lower, .upper = it->upper, .size = it->size};
    it->random = sp_test_seed();
}

size_t sp_interval_case_below(struct sp_interval_case *it, size_t bound)
{
    return sp_test_random_below(&it->random, bound);
}

void sp_interval_case_add(struct sp_interval_case *it, uint64_t lower, uint64_t upper,
                          uint64_t size)
{
    uint32_t i = it->problem.n++;

    assert_true(i < SP_INTERVAL_CASE_MAX);
    it->lower[i] = lower;
    it->upper[i] = upper;
    it->size[i] = size;
}

void sp_interval_case_fill_any(struct sp_interval_case *it, uint32_t n, size_t end,
                               size_t longest, size_t largest)
{
    it->problem.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t lower = sp_interval_case_below(it, end);
        uint64_t upper = sp_min(end, lower + 1 + sp_interval_case_below(it, longest));

        sp_interval_case_add(it, lower, upper, 1 + sp_interval_case_below(it, largest));
    }
}

void sp_interval_case_fill_rectangle(struct sp_interval_case *it, uint32_t n, uint64_t width,
                                     uint64_t height)
{
    it->problem.n = 0;
    sp_interval_case_add(it, 0, width, height);
    while (it->problem.n < n) {
        size_t i = sp_interval_case_below(it, it->problem.n);
        uint64_t cut = it->upper[i] - it->lower[i];

        if (sp_interval_case_below(it, 2) == 0 && cut > 1) {
            cut = it->lower[i] + 1 + sp_interval_case_below(it, cut - 1);
            sp_interval_case_add(it, cut, it->upper[i], it->size[i]);
            it->upper[i] = cut;
        } else if (it->size[i] > 1) {
            cut = 1 + sp_interval_case_below(it, it->size[i] - 1);
            sp_interval_case_add(it, it->lower[i], it->upper[i], cut);
            it->size[i] -= cut;
        }
    }
}

bool sp_interval_case_meet(const struct sp_interval_case *it, size_t a, size_t b)
{
    return it->lower[a] < it->upper[b] && it->lower[b] < it->upper[a];
}

uint64_t sp_interval_case_assert_right(const struct sp_interval_case *it)
{
    uint64_t peak = 0;

    for (size_t i = 0; i < it->problem.n; i++) {
        bool is_carried = it->offsets[i] == 0;
        uint64_t top = it->offsets[i] + it->size[i];

        for (size_t j = 0; j < it->problem.n; j++) {
            uint64_t other = it->offsets[j] + it->size[j];

            if (j == i || !sp_interval_case_meet(it, i, j))
                continue;
            assert_true(top <= it->offsets[j] || other <= it->offsets[i]);
            is_carried |= other == it->offsets[i];
        }
        assert_true(is_carried);
        peak = sp_max(peak, top);
    }
    return peak;
}

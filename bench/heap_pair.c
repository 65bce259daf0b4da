/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the bare range heap costs below the pools: take and give without a lock, with splits and
 * merges, beside a plain stack of the same blocks. Linked with the library's objects, whose
 * symbols the library itself hides. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "src/heap/heap.h"

#define N_ROUNDS  41
#define N_PAIRS   20000
#define N_RECORDS 64
#define UNIT      ((size_t)4096)

/* [bytes] The heap manages addresses only: nobody touches them. */
#define SPAN ((size_t)1 << 30)

static const size_t sizes[] = {4 << 10, 64 << 10, 1 << 20, 1155072, 16 << 20, 64 << 20};
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))

static const char what[] = "Times pairs of take and give of the range heap, without a lock.";

/* The reference: a stack of one block, pushed and popped through memory. */
struct stack {
    void *blocks[16];
    unsigned n;
};

static __attribute__((noinline)) void *stack_pop(struct stack *stack)
{
    return stack->n > 0 ? stack->blocks[--stack->n] : NULL;
}

static __attribute__((noinline)) void stack_push(struct stack *stack, void *block)
{
    stack->blocks[stack->n++] = block;
}

static double time_heap(struct sp_heap *heap, size_t size)
{
    uint64_t begin = sp_bench_ticks();

    for (int i = 0; i < N_PAIRS; i++) {
        struct sp_range *range = sp_heap_take(heap, size, UNIT);

        if (range != NULL)
            sp_heap_give(heap, range);
    }
    return sp_bench_ns(begin, sp_bench_ticks()) / N_PAIRS;
}

static double time_stack(struct stack *stack)
{
    uint64_t begin = sp_bench_ticks();

    for (int i = 0; i < N_PAIRS; i++)
        stack_push(stack, stack_pop(stack));
    return sp_bench_ns(begin, sp_bench_ticks()) / N_PAIRS;
}

/* The median of one size over all rounds, printed with the stack's. */
static double print_row(size_t size, double *heap_ns, double *stack_ns, size_t n)
{
    struct sp_quartiles heap = sp_bench_quartiles(heap_ns, n);
    struct sp_quartiles stack = sp_bench_quartiles(stack_ns, n);
    char text[SP_BENCH_TEXT];

    printf("%-9s %8.1f [%.1f %.1f] %8.1f\n", sp_bench_size_text(size, text), heap.median,
           heap.q1, heap.q3, stack.median);
    return heap.median;
}

static double run(struct sp_heap *heap, size_t n_rounds)
{
    static double heap_ns[N_SIZES][N_ROUNDS], stack_ns[N_SIZES][N_ROUNDS];
    struct stack stack = {.blocks = {&stack}, .n = 1};
    double most_ns = 0.0;

    for (size_t round = 0; round < n_rounds; round++) {
        for (size_t s = 0; s < N_SIZES; s++) {
            heap_ns[s][round] = time_heap(heap, sizes[s]);
            stack_ns[s][round] = time_stack(&stack);
        }
    }
    printf("\nBare range heap, one thread, no lock: a pair of take and give in ns (median of "
           "rounds,\n"
           "quartiles); beside it a stack that checks nothing.\n%-9s %8s %s %8s\n",
           "size", "a pair", "[q1 q3]", "stack");
    for (size_t s = 0; s < N_SIZES; s++) {
        double ns = print_row(sizes[s], heap_ns[s], stack_ns[s], n_rounds);

        most_ns = ns > most_ns ? ns : most_ns;
    }
    return most_ns;
}

int main(int argc, char **argv)
{
    enum sp_bench_effort effort = sp_bench_effort_of(argc, argv, what);
    static struct sp_range records[N_RECORDS];
    static struct sp_heap heap;
    static struct sp_region region;
    double most_ns;

    sp_bench_init();
    sp_heap_init(&heap, UNIT);
    sp_heap_donate(&heap, records, N_RECORDS);
    sp_heap_attach(&heap, &region);
    sp_heap_add(&heap, &region, SPAN, SPAN);
    /* A live block below, so that the rest is no whole region. */
    if (sp_heap_take(&heap, UNIT, UNIT) == NULL) {
        fprintf(stderr, "bench/heap_pair: the heap refused its first block\n");
        return 1;
    }
    most_ns = run(&heap, effort == SP_BENCH_CHECK ? 3 : N_ROUNDS);
    sp_bench_goal("bare_heap_pair_ns", most_ns, SP_GOAL_AT_MOST, 20.0);
    return 0;
}

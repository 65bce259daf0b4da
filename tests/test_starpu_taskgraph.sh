#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Iterations on real StarPU: captured, replayed, changed, refused. The program is
# tests/starpu/iterations.c; examples/iterations_change.c changes its course.
set -u
. "${srcdir:-.}/tests/taplib.sh"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
. "${srcdir:-.}/tests/starpu/lib.sh"

build_program iterations
# shellcheck disable=SC2086
build "$scratch/change" ../../examples/iterations_change.c $STARPU_LIBS || {
    not_ok "examples/iterations_change.c is built"
    done_testing
    exit 1
}
report=$scratch/report.json

# iterate NAME [NAME=VALUE...] PROGRAM [ARGUMENT...]: the program exits 0, iterations captured.
iterate()
{
    name=$1
    shift
    rm -f "$report"
    if under STARPOOL_CAPTURE_ITERATIONS=1 STARPOOL_REPORT="$report" "$@"; then
        ok "$name"
    else
        not_ok "$name" "$(cat "$scratch/err")"
    fi
}

# counts NAME CONDITION: a condition on numbers of the report, whose keys begin with @.
counts()
{
    condition=$2
    for key in $(echo "$2" | grep -o '@[a-z_]*' | sort -ur | tr -d @); do
        condition=$(echo "$condition" | sed "s/@$key/$(number "$key" "$report")/g")
    done
    if [ $(($condition)) -ne 0 ]; then
        ok "$1"
    else
        not_ok "$1" "not so: $2, which is $condition" "$(cat "$report")"
    fi
}

iterate "marked iterations run as without starpool" "$scratch/iterations" marked
counts "the first is captured and the others are replayed" "@captured == 1 && @replayed == 3"
counts "every request is served from the plan" \
    "@planned_requests == 18 && @planned_served == 18 && @pool_requests == 0"
counts "the highest end of a block is the one predicted" "@high_bytes == @predicted_bytes"
counts "the safe plan knows the tasks of every block" \
    "@blocks_of_known_tasks == @blocks && @safe_bytes >= @safe_bound_bytes && @safe_bytes > 0"

iterate "iterations with tasks in flight at their end run, too" "$scratch/iterations" in_flight
counts "and are not captured" "@captured == 0 && @replayed == 0 && @rejected > 0"
if [ "$(grep -c 'no iteration is captured: [0-9]* tasks are in flight at starpu_iteration_pop()' \
    "$scratch/err")" -eq 1 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ]; then
    ok "which one line says"
else
    not_ok "which one line says" "$(cat "$scratch/err")"
fi

iterate "marks nest" "$scratch/iterations" nested
counts "and the outermost count" "@captured == 1 && @replayed == 2 && @planned_requests == 24"

iterate "blocks that outlive their iteration keep what is in them" "$scratch/iterations" outlives
counts "and what they are in the way of is left to the pools and counted" \
    "@busy > 0 && @planned_served + @busy == @planned_requests"

iterate "threads that are no workers take part, and the budget stays" \
    STARPU_LIMIT_CPU_MEM=64 "$scratch/iterations" threads
counts "and deviations are counted one by one" \
    "@planned_requests - @planned_served == @pool_requests && @pool_requests == @busy + @beyond"

iterate "iterations by calls, by the observed plan and by that of the tasks" \
    "$scratch/iterations" calls

iterate "a shutdown of StarPU ends the iteration that it comes in" "$scratch/iterations" unended
counts "and the next life has iterations of its own" "@captured == 1 && @rejected == 1 && @replayed >= 3"

iterate "other nodes in another life of StarPU are captured anew" \
    HWLOC_SYNTHETIC="numa:2 core:1 pu:1" "$scratch/iterations" other_nodes
counts "and each life replays its own" "@captured == 3 && @replayed == 3 && @planned_served > 0"

iterate "an argument that a program left with its task is still its own" \
    "$scratch/iterations" arguments
iterate "data that does not say its size is recorded, too" "$scratch/iterations" sizeless
counts "as of no known task" "@captured == 1 && @blocks == 1 && @blocks_of_known_tasks == 0"

iterate "a replay leaves no less room under a limit than none" STARPOOL_HOST_LIMIT=8M \
    STARPOOL_NUMA_POLICY=strict "$scratch/iterations" at_limit
counts "because the planned range is given up" "@planned_served == 1 && @refusals == 0"

iterate "an iteration that starpool_starpu_detach() comes in ends all the same" \
    "$scratch/iterations" detached
counts "and the next is replayed" "@captured == 1 && @replayed == 2"

iterate "plans of another graph are refused" "$scratch/iterations" plans
counts "and no other is" "@captured == 2 && @replayed == 4 && @planned_again == 1"

iterate "a program that changes its course at iteration 5 has right results" STARPU_NCPU=1 \
    "$scratch/change" 10 5
counts "the change is counted" "@busy > 0 && @least_served_permille < 1000"
counts "and when it repeats, it is planned again" "@planned_again == 1 && @planned == 2"
counts "and served from the new plan" "@planned_served == @planned_requests - @busy && @busy <= 8"

iterate "more workers change nothing of that" STARPU_NCPU=3 "$scratch/change" 8 4

under STARPOOL_REPORT="$report" "$scratch/iterations" marked
counts "without the option nothing is captured" "@captured == 0 && @replayed == 0"

iterate "the captured graph is written with its plan" \
    STARPOOL_CAPTURE_GRAPH="$scratch/graph.json" "$scratch/iterations" marked
if [ -s "$scratch/graph.json" ] && grep -q fill "$scratch/graph.json"; then
    ok "with the names of its tasks"
else
    not_ok "with the names of its tasks" "$(cat "$scratch/err")"
fi
done_testing

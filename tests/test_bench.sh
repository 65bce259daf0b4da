#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The benchmarks work: each prints its table and its goals, and a goal that is out of reach is
# printed as short. Nothing here depends on a time.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/taplib.sh
. "$srcdir/tests/taplib.sh"
builddir=${builddir:-.}
out=$(mktemp) || exit 99
trap 'rm -rf "$out" "$out.err" "$out.build"' EXIT

# Under a sanitizer an allocator that replaces malloc cannot be loaded, and times mean nothing.
case ${SP_SANITIZER_NAME:-no} in
no | '') ;;
*) skip_all "times mean nothing under a sanitizer" ;;
esac

# Lines that look like a goal and are none.
malformed()
{
    grep '^goal ' "$out" | grep -v -E \
        '^goal [a-zA-Z0-9_]+ (-|nan|[-+0-9.e]+) [<>]= [-+0-9.e]+ (ok|short( \(.*\))?)$'
}

# bench NAME COLUMN GOALS COMMAND...: COMMAND ends well, prints COLUMN in a table's heading and
# each goal.
bench()
{
    name=$1
    column=$2
    goals=$3
    shift 3
    if "$@" >"$out" 2>"$out.err"; then
        ok "$name ends well"
    else
        not_ok "$name ends well" "status $?" "$(cat "$out.err")"
    fi
    if grep -q "$column" "$out"; then
        ok "$name prints its table"
    else
        not_ok "$name prints its table" "$(cat "$out")"
    fi
    for goal in $goals; do
        if grep -q -E "^goal $goal " "$out"; then
            ok "$name prints the goal $goal"
        else
            not_ok "$name prints the goal $goal" "$(cat "$out")"
        fi
    done
    check "$name's goals have the form that scripts read" "$(malformed)"
}

# is_short NAME GOAL: the run before was given a bound out of reach.
is_short()
{
    if grep -q -E "^goal $2 .* short" "$out"; then
        ok "$1 prints a goal out of reach as short"
    else
        not_ok "$1 prints a goal out of reach as short" "$(grep "^goal $2 " "$out")"
    fi
}

# is_reached NAME GOAL: the run before was given a bound that nothing misses.
is_reached()
{
    if grep -q -E "^goal $2 .* ok\$" "$out"; then
        ok "$1 prints a goal within reach as ok"
    else
        not_ok "$1 prints a goal within reach as ok" "$(grep "^goal $2 " "$out")"
    fi
}

BENCH_BOUNDS="cycle_faults_1t=-1 cycle_64K_over_floor_1t=1e9"
export BENCH_BOUNDS
bench host_cycle '^threads  *size  *backend' \
    "cycle_faults_1t cycle_faults_2t cycle_from_256K_over_floor_1t cycle_64K_over_floor_2t
    bare_pair_(ns|over_list) bare_pair_most_over_least_size bare_pair_scaling_2t" \
    "$builddir/bench/host_cycle" --check
is_short host_cycle cycle_faults_1t
is_reached host_cycle cycle_64K_over_floor_1t

BENCH_BOUNDS="bare_heap_pair_ns=0"
bench heap_pair '^size  *a pair' bare_heap_pair_ns "$builddir/bench/heap_pair" --check
is_short heap_pair bare_heap_pair_ns

BENCH_BOUNDS="shadow_ns=-1e9"
bench device 'ns a pair of allocation and free' shadow_ns "$builddir/bench/device" --check
is_short device shadow_ns

if [ -x "$builddir/bench/doors" ]; then
    BENCH_BOUNDS="doors_node_pair_ns=0 doors_malloc_pair_ns=1e9"
    bench doors '^side  *door  *size' "doors_node_pair_ns doors_malloc_pair_ns" \
        sh "$srcdir/bench/doors.sh" --check "$builddir"
    is_short doors doors_node_pair_ns
    is_reached doors doors_malloc_pair_ns

    stem=starpu_alloc_any_work0
    BENCH_BOUNDS="${stem}_over_floor=0"
    bench starpu_alloc '^side  *us an iteration' \
        "${stem}_faults_above_floor ${stem}_over_floor ${stem}_over_mimalloc
        ${stem}_reserved_over_live" \
        sh "$srcdir/bench/starpu_alloc.sh" --check "$builddir"
    is_short starpu_alloc "${stem}_over_floor"

    BENCH_BOUNDS="cholesky_tag_over_stock=0"
    bench cholesky '^example  *what' "cholesky_implicit_over_stock cholesky_tag_over_stock" \
        sh "$srcdir/bench/cholesky.sh" --check "$builddir"
    is_short cholesky cholesky_tag_over_stock

    # The rival is StarPU's CUDA build.
    if STARPOOL_TEST_CONTRIB=/nonexistent sh "$srcdir/bench/starpu_device.sh" --check "$builddir" \
        >"$out" 2>&1 && [ "$(grep -c '^goal .* short (rival missing)$' "$out")" -eq 2 ]; then
        ok "starpu_device says that its rival is missing"
    else
        not_ok "starpu_device says that its rival is missing" "$(cat "$out")"
    fi
    if [ -d "${STARPOOL_TEST_CONTRIB:-$builddir/contrib}" ]; then
        BENCH_BOUNDS="device_door_4KiB_ns=0 device_door_8MiB_ratio=1e9"
        bench starpu_device '^side  *blocks' "device_door_4KiB_ns device_door_8MiB_ratio" \
            sh "$srcdir/bench/starpu_device.sh" --check "$builddir"
        is_short starpu_device device_door_4KiB_ns
        is_reached starpu_device device_door_8MiB_ratio
    else
        skip "starpu_device" "no CUDA-enabled StarPU (./bootstrap --contrib fetches it)"
    fi
else
    skip "the benchmarks that need StarPU" "not built with StarPU"
fi

# A build folder whose programs only look for what they read, run from yet another folder.
fake=$out.build
mkdir -p "$fake/bench" || exit 99
for program in host_cycle heap_pair model trace plan device; do
    # shellcheck disable=SC2016 # the program is to expand it
    printf '#!/bin/sh\n[ -e "$srcdir/tests/data/dsa/A.1048576.csv" ]\n' >"$fake/bench/$program"
    chmod +x "$fake/bench/$program"
done
runner=$(cd "$srcdir" && pwd)/bench/run.sh
if (unset srcdir && cd "$fake" && sh "$runner" --check "$fake") >"$out" 2>&1; then
    ok "all benchmarks run from any folder"
else
    not_ok "all benchmarks run from any folder" "$(cat "$out")"
fi

"$builddir/bench/host_cycle" --no-such-option >"$out" 2>&1
if [ $? -eq 2 ] && grep -q help "$out"; then
    ok "a bad option is refused"
else
    not_ok "a bad option is refused" "$(cat "$out")"
fi
done_testing

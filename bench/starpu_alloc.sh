#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The allocation-heavy StarPU program under the allocators that its owner could choose, and its
# two floors, in turn. Each round runs every side once; ratios are taken within a round.
#
# Usage: bench/starpu_alloc.sh [--check | --quick] [BUILDDIR]
set -u
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin "$@"

case $effort in
check) n_rounds=2 n_warm=20 n=20 combinations="0:any" ;;
quick) n_rounds=3 n_warm=100 n=200 combinations="0:any 1:any" ;;
*) n_rounds=7 n_warm=200 n=500 combinations="0:pow2 0:any 1:pow2 1:any" ;;
esac
program=$builddir/bench/starpu_alloc
STARPU_NCPU=2
export STARPU_NCPU

goals()
{
    echo "faults_above_floor 0.1
over_floor 1.3
over_mimalloc 1.1
reserved_over_live 1.15"
}

# Every goal of a combination is short, for one reason.
all_missing()
{
    goals | while read -r what bound; do
        goal_missing "starpu_alloc_${1}_$what" "<=" "$bound" "$2"
    done
}

# The options that keep mimalloc from giving memory back have other names from 2.1 on. Sets
# mimalloc to the library, or to nothing; prints what it says of itself.
find_mimalloc()
{
    mimalloc=libmimalloc.so.2
    MIMALLOC_VERBOSE=1 MIMALLOC_ALLOW_DECOMMIT=0 MIMALLOC_PAGE_RESET=0 MIMALLOC_PURGE_DELAY=-1 \
        LD_PRELOAD=$mimalloc env true >"$scratch/out" 2>&1
    if grep -q "option 'purge_delay': -1" "$scratch/out"; then
        mimalloc_options="MIMALLOC_PURGE_DELAY=-1"
    elif grep -q "option 'allow_decommit': 0" "$scratch/out" &&
        grep -q "option 'page_reset': 0" "$scratch/out"; then
        mimalloc_options="MIMALLOC_ALLOW_DECOMMIT=0 MIMALLOC_PAGE_RESET=0"
    else
        mimalloc=
        echo "left out: mimalloc: not installed, or it does not take its options"
        return
    fi
    echo "mimalloc reports:"
    grep -o -E "option '(purge_delay|allow_decommit|page_reset)': [-0-9]+" "$scratch/out" | sort -u
}

# run SIDE COMMAND...: adds the program's numbers to SIDE's files.
run()
{
    side=$1
    shift
    if ! "$@" >"$scratch/out" 2>"$scratch/err"; then
        bench_error "$side: $program failed: $(tail -n 1 "$scratch/err")"
        return
    fi
    for key in us_per_iteration faults_per_iteration peak_live_bytes; do
        sed -n "s/^result.* $key=\([-0-9.e]*\).*/\1/p" "$scratch/out" >>"$scratch/$side.$key"
    done
}

# Most that all pools together had reserved, from the report of the run before.
keep_reserved()
{
    grep -o '"reserved_high_bytes": *[0-9]*' "$scratch/report" 2>/dev/null |
        awk '{ sum += $NF } END { if (NR > 0) print sum }' >>"$scratch/starpool.reserved"
    rm -f "$scratch/report"
}

run_round()
{
    run glibc bench_limited "$program" alloc "$@"
    run glibc_tuned bench_limited env GLIBC_TUNABLES="$glibc_tunables" "$program" alloc "$@"
    if [ -n "$mimalloc" ]; then
        # shellcheck disable=SC2086 # several options
        run mimalloc bench_limited env $mimalloc_options LD_PRELOAD=$mimalloc \
            "$program" alloc "$@"
    fi
    if have_starpool; then
        STARPOOL_REPORT=$scratch/report
        export STARPOOL_REPORT
        run starpool with_starpool "$program" alloc "$@"
        unset STARPOOL_REPORT
        keep_reserved
    fi
    if have_starpool && [ -n "$mimalloc" ]; then
        # shellcheck disable=SC2086 # several options
        run starpool+mi bench_limited env $mimalloc_options \
            LD_PRELOAD="$builddir/.libs/starpool_starpu.so:$mimalloc" "$program" alloc "$@"
    fi
    run handles bench_limited "$program" handles "$@"
    run floor bench_limited "$program" floor "$@"
}

print_table()
{
    printf '%-12s %-28s %-12s %-22s %s\n' side "us an iteration [q1 q3]" "faults" \
        "x floor [q1 q3]" "peak live MiB"
    for side in glibc glibc_tuned mimalloc starpool starpool+mi handles floor; do
        [ -s "$scratch/$side.us_per_iteration" ] || continue
        read -r us us_q1 us_q3 <<EOF
$(bench_quartiles %.1f <"$scratch/$side.us_per_iteration")
EOF
        read -r ratio q1 q3 <<EOF
$(bench_ratios "$scratch/$side.us_per_iteration" "$scratch/floor.us_per_iteration" %.2f)
EOF
        read -r live _ <<EOF
$(awk '{ print $1 / 1048576 }' "$scratch/$side.peak_live_bytes" | bench_quartiles %.1f)
EOF
        read -r faults _ <<EOF
$(bench_quartiles %.3f <"$scratch/$side.faults_per_iteration")
EOF
        printf '%-12s %-28s %-12s %-22s %s\n' "$side" "$us [$us_q1 $us_q3]" "$faults" \
            "$ratio [$q1 $q3]" "$live"
    done
}

# median_of_ratios A B
median_of_ratios()
{
    bench_ratios "$1" "$2" %.3f | cut -d ' ' -f 1
}

print_goals()
{
    us=us_per_iteration
    faults=faults_per_iteration
    faults=$(paste "$scratch/starpool.$faults" "$scratch/floor.$faults" |
        awk '{ print $1 - $2 }' | bench_quartiles %.3f | cut -d ' ' -f 1)
    goal "starpu_alloc_${1}_faults_above_floor" "$faults" "<=" 0.1
    goal "starpu_alloc_${1}_over_floor" \
        "$(median_of_ratios "$scratch/starpool.$us" "$scratch/floor.$us")" "<=" 1.3
    echo "beside it: over the floor that makes handles too" \
        "$(bench_ratios "$scratch/starpool.$us" "$scratch/handles.$us" %.3f)" \
        "(median, quartiles)"
    if [ -n "$mimalloc" ]; then
        goal "starpu_alloc_${1}_over_mimalloc" \
            "$(median_of_ratios "$scratch/starpool.$us" "$scratch/mimalloc.$us")" "<=" 1.1
        echo "beside it: with mimalloc for StarPU's own structures too" \
            "$(bench_ratios "$scratch/starpool+mi.$us" "$scratch/mimalloc.$us" %.3f)" \
            "(median, quartiles)"
    else
        goal_missing "starpu_alloc_${1}_over_mimalloc" "<=" 1.1 "rival missing"
    fi
    if [ -s "$scratch/starpool.reserved" ]; then
        goal "starpu_alloc_${1}_reserved_over_live" \
            "$(median_of_ratios "$scratch/starpool.reserved" \
                "$scratch/starpool.peak_live_bytes")" "<=" 1.15
    else
        goal_missing "starpu_alloc_${1}_reserved_over_live" "<=" 1.15 "no report"
    fi
}

if [ ! -x "$program" ]; then
    for combination in $combinations; do
        all_missing "${combination#*:}_work${combination%:*}" "not built with StarPU"
    done
    exit 0
fi
glibc_tunables=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=8589934592
glibc_tunables=$glibc_tunables:glibc.malloc.top_pad=67108864:glibc.malloc.arena_max=1

echo
echo "Allocation-heavy StarPU program: $n_rounds rounds in turn, $n iterations after $n_warm to"
echo "warm up. floor: nothing allocated, handles stay; handles: memory stays, handles are made;"
echo "mimalloc replaces malloc for StarPU's own structures too, as starpool+mi does beside starpool;"
echo "faults: minor faults an iteration. The first touch of a page costs on this machine:" \
    "$(bench_limited "$program" fault-cost | sed 's/.*fault_ns=//') ns"
find_mimalloc
bench_limited "$program" floor 0 any 1 1 >"$scratch/out" 2>&1 # measures the machine, uncounted

for combination in $combinations; do
    work=${combination%:*}
    sizes=${combination#*:}
    rm -f "$scratch"/*.us_per_iteration "$scratch"/*.faults_per_iteration \
        "$scratch"/*.peak_live_bytes "$scratch/starpool.reserved"
    round=0
    while [ "$round" -lt "$n_rounds" ]; do
        run_round "$work" "$sizes" "$n_warm" "$n" $((round + 1))
        round=$((round + 1))
    done
    echo
    echo "sizes $sizes, WORK $work"
    print_table
    if [ -s "$scratch/starpool.us_per_iteration" ]; then
        print_goals "${sizes}_work$work"
    else
        all_missing "${sizes}_work$work" "starpool not built"
    fi
done
exit "$bench_status"

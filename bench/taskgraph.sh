#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What replaying StarPU's iterations gives: the sparse Cholesky demo, whose first factorisation is
# captured and whose others are replayed, beside the same on our pools alone.
#
# Usage: bench/taskgraph.sh [--check | --quick] [BUILDDIR]
set -u
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin "$@"

# Tasks are the workers', not the threads' of a BLAS.
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS
case $effort in
check) n_rounds=1 grid=3d:8 ;;
quick) n_rounds=3 grid=3d:16 ;;
*) n_rounds=5 grid=3d:20 ;;
esac
n_iterations=10
cholesky=$builddir/examples/cholesky/cholesky

# number KEY FILE: the number that stands first behind "KEY", 0 if there is none.
number()
{
    sed -n 's/.*"'"$1"'": *\([0-9][0-9]*\).*/\1/p' "$2" | head -n 1 | grep . || echo 0
}

# solve SIDE WORKERS CAPTURE [OPTION...]: report and results in $scratch/SIDE.report and .out.
solve()
{
    side=$1 workers=$2 capture=$3
    shift 3
    STARPU_NCPU=$workers STARPOOL_CAPTURE_ITERATIONS=$capture \
        STARPOOL_REPORT="$scratch/$side.report" with_starpool "$cholesky" --json \
        --repeat $n_iterations --laplacian $grid "$@" >"$scratch/$side.out" 2>"$scratch/$side.err" &&
        [ -s "$scratch/$side.report" ] && return
    bench_error "$side: the demo failed: $(tail -n 1 "$scratch/$side.err")"
    : >>"$scratch/$side.report"
}

# hash SIDE: of the last factor.
hash()
{
    sed -n 's/.*"factor_hash": "\([0-9a-f]*\)".*/\1/p' "$scratch/$1.out"
}

# row SIDE: what was planned and what became of it.
row()
{
    report=$scratch/$1.report
    printf '%-12s %8s %8s %8s %6s %6s %9s %9s %9s %9s %9s %9s\n' "$1" \
        "$(number planned_requests "$report")" "$(number planned_served "$report")" \
        "$(number planned_moved "$report")" "$(number busy "$report")" \
        "$(number planned_again "$report")" $(($(number lower_bound_bytes "$report") / 1024)) \
        $(($(number predicted_bytes "$report") / 1024)) $(($(number high_bytes "$report") / 1024)) \
        $(($(number safe_bytes "$report") / 1024)) \
        $(($(number safe_bound_bytes "$report") / 1024)) \
        $(($(number reserved_high_bytes "$report") / 1024))
}

# Deviations of all causes.
sum_deviations()
{
    sum=0
    for cause in unknown beyond busy unaligned no_arena; do
        sum=$((sum + $(number $cause "$1")))
    done
    echo $sum
}

if ! have_starpool || [ ! -x "$cholesky" ]; then
    for name in pool_requests_of_one_worker peak_beside_prediction; do
        goal_missing taskgraph_$name "<=" 0 "starpool or the demo is not built"
    done
    exit "$bench_status"
fi

n_workers=$(nproc)
solve one 1 1 --window 1
solve one_window 1 1
# Several threads reserve more in one run and less in the next, with a plan or without.
round=0
while [ $round -lt $n_rounds ]; do
    solve all "$n_workers" 1
    solve all_pools "$n_workers" 0
    for side in all all_pools; do
        number reserved_high_bytes "$scratch/$side.report" >>"$scratch/$side.reserved"
    done
    round=$((round + 1))
done
read -r reserved_ratio q1 q3 <<EOF
$(bench_ratios "$scratch/all.reserved" "$scratch/all_pools.reserved" %.3f)
EOF

echo
echo "Sparse Cholesky of the Laplacian $grid, $n_iterations iterations, the first one captured."
echo "one: one worker, everything submitted ahead; one_window: as much as the window lets; all:"
echo "$n_workers workers; all_pools: without a replay; of these two the last of $n_rounds rounds. KiB;"
echo "requests of all replays together."
echo "side         requests   served    moved   busy  again   live max predicted   highest safe plan     bound  reserved"
for side in one one_window all all_pools; do
    row $side
done
echo "reserved, all over all_pools, of each round: $reserved_ratio [$q1 $q3]"
one=$scratch/one.report all=$scratch/all.report
goal taskgraph_pool_requests_of_one_worker "$(number pool_requests "$one")" "<=" 0
goal taskgraph_one_worker_replayed "$(number replayed "$one")" ">=" $((n_iterations - 1))
peak_off=$(($(number predicted_bytes "$one") - $(number high_bytes "$one")))
goal taskgraph_peak_beside_prediction "${peak_off#-}" "<=" 0
goal taskgraph_served_share "$(awk -v s="$(number planned_served "$all")" \
    -v r="$(number planned_requests "$all")" 'BEGIN { print (r > 0 ? s / r : 0) }')" ">=" 0.95
missed=$(($(number planned_requests "$all") - $(number planned_served "$all")))
not_counted=$((missed - $(sum_deviations "$all")))
not_asked=$((missed - $(number pool_requests "$all")))
goal taskgraph_deviations_not_counted $((${not_counted#-} + ${not_asked#-})) "<=" 0
goal taskgraph_reserved_over_pools "$reserved_ratio" "<=" 1.1
n_different=0
for side in one one_window all; do
    [ -n "$(hash $side)" ] && [ "$(hash $side)" = "$(hash all_pools)" ] ||
        n_different=$((n_different + 1))
    n_different=$((n_different + $(number factors_different "$scratch/$side.out")))
done
goal taskgraph_factors_different "$n_different" "<=" 0
exit "$bench_status"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What memory of a CUDA node costs through StarPU's door, on a simulated device: stock StarPU's
# CUDA build, and starpool with its own pool and with the driver's, the latter with its shadow and
# without, in turn; first with calls that cost what the model takes for them, then with the
# delays of a real device's cudaMalloc() and cudaFree().
#
# Usage: bench/starpu_device.sh [--check | --quick] [BUILDDIR]
set -u
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin "$@"
srcdir=$(dirname "$0")/..
contrib=${STARPOOL_TEST_CONTRIB:-$builddir/contrib}
program=$scratch/starpu_device

case $effort in
check) n_rounds=1 flag=--check ;;
quick) n_rounds=3 flag=--quick ;;
*) n_rounds=7 flag= ;;
esac

# One device, on which no task runs, and what StarPU learns of it in a home of ours.
STARPU_NCUDA=1 STARPU_NCPU=1 XDG_CACHE_HOME=$scratch
export STARPU_NCUDA STARPU_NCPU XDG_CACHE_HOME

goals()
{
    echo "device_door_4KiB_ns 100
device_door_8MiB_ratio 0.1"
}

all_missing()
{
    goals | while read -r name bound; do
        goal_missing "$name" "<=" "$bound" "$1"
    done
    exit "$bench_status"
}

# StarPU's CUDA build has limits of its own in its headers, so that its programs are not those
# of another build. What it calls of CUDA is to find the program's functions that count.
build()
{
    set -- "$contrib"/usr/lib/*/libstarpu-1.3.so.9
    ${CC:-cc} -std=gnu11 -O2 -rdynamic -I"$builddir" -I"$srcdir" \
        -isystem "$contrib/usr/include/starpu/1.3" -o "$program" \
        "$srcdir/bench/starpu_device.c" "$srcdir/bench/bench.c" "$1" \
        "$builddir/sim/cuda-11/libcudart.so.11.0" -Wl,--allow-shlib-undefined -ldl -lm
}

# simulate SIDE PLUGIN: one round of one side. Memory is not protected, since that would cost
# stock StarPU more than starpool.
simulate()
{
    if ! bench_limited "$builddir/starpool" simulate --starpu-prefix="$contrib" --memory=2G \
        --no-protect "$2" -- "$program" ${flag:+"$flag"} >"$scratch/out" 2>"$scratch/err"; then
        bench_error "$1: $program failed: $(tail -n 1 "$scratch/err")"
        return
    fi
    awk -v s="$1" '$1 == "door" { print s, $2, $3, $4, $5 }' "$scratch/out" >>"$scratch/rows"
}

# What the pool of the device asked of the driver in the run before.
keep_growth()
{
    awk -F '[:,]' '/"n_allocs"/ { pairs += $2 } /"n_grows"/ { grown += $2 }
        /"n_releases"/ { given += $2 }
        END { print grown, given, pairs }' "$scratch/report" >"$scratch/growth"
    rm -f "$scratch/report"
}

run_round()
{
    simulate stock --no-plugin
    STARPOOL_REPORT=$scratch/report
    export STARPOOL_REPORT
    simulate starpool --plugin
    unset STARPOOL_REPORT
    keep_growth
    STARPOOL_DEVICE_BACKEND=driver
    export STARPOOL_DEVICE_BACKEND
    simulate driver --plugin
    STARPOOL_SHADOW=0
    export STARPOOL_SHADOW
    simulate driver-bare --plugin
    unset STARPOOL_DEVICE_BACKEND STARPOOL_SHADOW
}

# values SIDE DOOR SIZE COLUMN: of each round
values()
{
    awk -v s="$1" -v d="$2" -v z="$3" -v c="$4" '$1 == s && $2 == d && $3 == z { print $c }' \
        "$scratch/rows"
}

# ratios SIDE OTHER DOOR SIZE: "MEDIAN Q1 Q3", each within a round
ratios()
{
    values "$1" "$3" "$4" 4 >"$scratch/side"
    values "$2" "$3" "$4" 4 >"$scratch/other"
    bench_ratios "$scratch/side" "$scratch/other" %.3g
}

print_row()
{
    read -r median q1 q3 <<EOF
$(values "$1" "$2" "$3" 4 | bench_quartiles %.1f)
EOF
    read -r calls _ <<EOF
$(values "$1" "$2" "$3" 5 | bench_quartiles %.3g)
EOF
    read -r ratio ratio_q1 ratio_q3 <<EOF
$(ratios "$1" stock "$2" "$3")
EOF
    printf '%-11s %-6s %9s %10s %-21s %6s  %s\n' "$1" "$2" "$3" "$median" "[$q1 $q3]" "$calls" \
        "$ratio [$ratio_q1 $ratio_q3]"
}

# measure COST DELAYS WHAT
measure()
{
    STARPOOL_MODEL_COST=$1 STARPOOL_MODEL_DELAYS=$2
    export STARPOOL_MODEL_COST STARPOOL_MODEL_DELAYS
    : >"$scratch/rows"
    round=0
    while [ "$round" -lt "$n_rounds" ]; do
        run_round
        round=$((round + 1))
    done
    echo
    echo "$3:"
    printf '%-11s %-6s %9s %10s %-21s %6s  %s\n' side blocks size "a pair" "[q1 q3]" calls \
        "x stock [q1 q3]"
    cut -d ' ' -f 1-3 "$scratch/rows" | sort -u -k2,2 -k3,3n -k1,1r >"$scratch/keys"
    while read -r side door size; do
        print_row "$side" "$door" "$size"
    done <"$scratch/keys"
    read -r grown given pairs <"$scratch/growth"
    echo "starpool's last run: $grown pieces from the driver, $given given back, $pairs pairs"
}

if [ ! -d "$contrib" ]; then
    echo "left out: StarPU's CUDA build: not in $contrib (./bootstrap --contrib fetches it)"
    all_missing "rival missing"
fi
if ! have_starpool || [ ! -e "$builddir/.libs/starpool_starpu.so" ]; then
    all_missing "not built with StarPU"
fi
[ -e "$builddir/sim/cuda-11/libcudart.so.11.0" ] ||
    all_missing "simulated CUDA libraries not built"
build || {
    bench_error "starpu_device.c was not built"
    all_missing "not built"
}

echo
echo "StarPU's door to a CUDA node: a pair of starpu_malloc_on_node_flags and its free in ns"
echo "(median of $n_rounds rounds, quartiles), on a simulated device. alone: one block at a time;"
echo "many: 64 live, or 512 MiB of them; calls: of cudaMalloc and cudaFree, a pair; driver: the"
echo "driver's pool, at whose every request the host waits; driver-bare: without its shadow."
measure none 0 "calls of the model cost what they take"
four_KiB=$(values starpool alone 4096 4 | bench_quartiles %.1f | cut -d ' ' -f 1)
measure starpu 1 "cudaMalloc takes 175 us and cudaFree 750 us, as StarPU measured"
goal device_door_4KiB_ns "$four_KiB" "<=" 100
goal device_door_8MiB_ratio "$(ratios starpool stock alone 8388608 | cut -d ' ' -f 1)" "<=" 0.1
exit "$bench_status"

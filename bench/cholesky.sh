#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Does starpool slow down a program that allocates little? StarPU's own Cholesky examples, stock
# and with starpool in turn. They allocate once, before their clock starts.
#
# Usage: bench/cholesky.sh [--check | --quick] [BUILDDIR]
set -u
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin "$@"

bound=1.05
case $effort in
check) n_rounds=2 size=480 ;;
quick) n_rounds=9 size=1440 ;;
*) n_rounds=15 size=2880 ;;
esac

# Where StarPU's examples are: in STARPU_EXAMPLES, or where StarPU is installed.
find_example()
{
    libdir=$(pkg-config --variable=libdir starpu-1.4 2>/dev/null ||
        pkg-config --variable=libdir starpu-1.3 2>/dev/null)
    for folder in "${STARPU_EXAMPLES:-}" "$libdir/starpu/examples" \
        /usr/lib/*/starpu/examples /usr/lib/starpu/examples; do
        if [ -n "$folder" ] && [ -x "$folder/$1" ]; then
            echo "$folder/$1"
            return
        fi
    done
}

# ms SIDE COMMAND...: adds the time that the example prints to SIDE's, and the process's.
ms()
{
    side=$1
    shift
    begin=$(date +%s%N)
    "$@" -size "$size" -nblocks 6 >"$scratch/out" 2>"$scratch/err" || {
        bench_error "$side: $program failed: $(tail -n 1 "$scratch/err")"
        return
    }
    end=$(date +%s%N)
    awk '$1 ~ /^[0-9]+$/ && NF >= 2 { print $2; exit }' "$scratch/out" >>"$scratch/$side"
    echo $(((end - begin) / 1000000)) >>"$scratch/$side.process"
}

# row NAME FILE_SUFFIX: both sides and the ratio, in one line.
row()
{
    read -r stock_ms stock_q1 stock_q3 <<EOF
$(bench_quartiles %.0f <"$scratch/stock$2")
EOF
    read -r pool_ms pool_q1 pool_q3 <<EOF
$(bench_quartiles %.0f <"$scratch/starpool$2")
EOF
    read -r ratio q1 q3 <<EOF
$(bench_ratios "$scratch/starpool$2" "$scratch/stock$2" %.3f)
EOF
    printf '%-18s %-9s %s [%s %s]  %s [%s %s]  %s [%s %s]\n' "$example" "$1" \
        "$stock_ms" "$stock_q1" "$stock_q3" "$pool_ms" "$pool_q1" "$pool_q3" \
        "$ratio" "$q1" "$q3"
}

compare()
{
    example=$1
    program=$(find_example "$example")
    if [ -z "$program" ]; then
        goal_missing "${example}_over_stock" "<=" $bound "starpu-examples missing"
        return
    fi
    if ! have_starpool; then
        goal_missing "${example}_over_stock" "<=" $bound "starpool not built"
        return
    fi
    # Uncounted: the first run measures the machine and the tasks.
    bench_limited "$program" -size "$size" -nblocks 6 >"$scratch/out" 2>&1
    rm -f "$scratch"/stock* "$scratch"/starpool*
    round=0
    while [ "$round" -lt "$n_rounds" ]; do
        # Who goes first changes from round to round.
        if [ $((round % 2)) -eq 0 ]; then
            ms stock bench_limited "$program"
            ms starpool with_starpool "$program"
        else
            ms starpool with_starpool "$program"
            ms stock bench_limited "$program"
        fi
        round=$((round + 1))
    done
    if [ ! -s "$scratch/stock" ] || [ ! -s "$scratch/starpool" ]; then
        bench_error "$example printed no time"
        goal_missing "${example}_over_stock" "<=" $bound "it did not run"
        return
    fi
    row makespan ""
    goal_value=$ratio
    row process .process
    goal "${example}_over_stock" "$goal_value" "<=" $bound
}

echo
echo "Cholesky of starpu-examples, $size x $size in 6 x 6 blocks, $n_rounds rounds in turn: ms,"
echo "and the ratio of each round (medians, quartiles). The makespan is the goal's."
echo "example            what      stock ms [q1 q3]  starpool ms [q1 q3]  ratio [q1 q3]"
compare cholesky_implicit
compare cholesky_tag
exit "$bench_status"

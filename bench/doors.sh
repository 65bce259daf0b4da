#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a pair costs through StarPU's doors: stock StarPU and starpool in turn.
#
# Usage: bench/doors.sh [--check | --quick] [BUILDDIR]
set -u
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin "$@"

bound=60
case $effort in
check) n_rounds=2 flag=--check ;;
quick) n_rounds=3 flag=--quick ;;
*) n_rounds=7 flag= ;;
esac
program=$builddir/bench/doors
if [ ! -x "$program" ]; then
    goal_missing doors_pair_ns "<=" $bound "not built with StarPU"
    exit 0
fi

# run NAME COMMAND...: one round of one side.
run()
{
    side=$1
    shift
    "$@" ${flag:+"$flag"} >"$scratch/out" || {
        bench_error "$side: $program failed"
        return
    }
    awk -v s="$side" '$1 == "owner" { owner = $2 }
        $1 == "door" { print s, $2, $3, $4, owner }' "$scratch/out" >>"$scratch/rows"
}

bench_limited "$program" --check >"$scratch/out" 2>&1 # measures the machine's buses, uncounted
: >"$scratch/rows"
round=0
while [ "$round" -lt "$n_rounds" ]; do
    run stock bench_limited "$program"
    if have_starpool; then
        run starpool with_starpool "$program"
    fi
    round=$((round + 1))
done

echo
echo "StarPU's doors: a pair in ns (median of $n_rounds rounds, quartiles). node:"
echo "starpu_malloc_on_node_flags and its free; malloc: starpu_malloc and its free."
printf '%-9s %-7s %10s %8s %-17s %s\n' side door size "a pair" "[q1 q3]" "served by"
cut -d ' ' -f 1-3 "$scratch/rows" | sort -u -k1,1r -k2,2 -k3,3n >"$scratch/keys"
while read -r side door size; do
    awk -v s="$side" -v d="$door" -v z="$size" '$1 == s && $2 == d && $3 == z { print $4 }' \
        "$scratch/rows" >"$scratch/values"
    read -r median q1 q3 <<EOF
$(bench_quartiles %.1f <"$scratch/values")
EOF
    owner=$(awk -v s="$side" '$1 == s { print $5; exit }' "$scratch/rows")
    printf '%-9s %-7s %10s %8s %-17s %s\n' "$side" "$door" "$size" "$median" "[$q1 $q3]" \
        "$owner"
    [ "$side" != starpool ] || echo "$median" >>"$scratch/worst.$door"
done <"$scratch/keys"

for door in node malloc; do
    if [ -s "$scratch/worst.$door" ]; then
        goal "doors_${door}_pair_ns" "$(sort -g "$scratch/worst.$door" | tail -n 1)" "<=" $bound
    else
        goal_missing "doors_${door}_pair_ns" "<=" $bound "starpool not built"
    fi
done
exit "$bench_status"

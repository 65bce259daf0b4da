#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs every benchmark and repeats the goals at the end. The exit status says only whether all
# ran in order, not whether the goals were reached: times are the machine's.
#
# Usage: bench/run.sh [--check | --quick] [BUILDDIR]
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
# shellcheck source=bench/lib.sh
. "$here/lib.sh"
bench_begin "$@"
flag=
[ "$effort" = full ] || flag=--$effort
# Instances to plan for are read from there.
srcdir=$(dirname "$here")
export srcdir

# step NAME COMMAND...
step()
{
    name=$1
    shift
    "$@" ${flag:+"$flag"} >"$scratch/step" 2>"$scratch/step.err"
    status=$?
    cat "$scratch/step"
    cat "$scratch/step.err" >&2
    grep '^goal ' "$scratch/step" >>"$scratch/goals"
    [ "$status" -eq 0 ] || bench_error "$name ended with status $status"
}

# The programs that need no StarPU must be there.
program()
{
    if [ -x "$builddir/bench/$1" ]; then
        step "$1" "$builddir/bench/$1"
    else
        bench_error "$builddir/bench/$1 is not built"
    fi
}

script()
{
    step "$1" sh "$here/$1.sh" "$builddir"
}

: >"$scratch/goals"
echo "machine: $(uname -srm), $(nproc) CPUs," \
    "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
echo "transparent huge pages: $(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null)"
echo "load before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
program host_cycle
program heap_pair
program model
program trace
program plan
program device
script doors
script starpu_alloc
script starpu_device
script cholesky
script taskgraph

echo
echo "All goals:"
cat "$scratch/goals"
echo "$(grep -c ' ok$' "$scratch/goals") of $(wc -l <"$scratch/goals") reached"
exit "$bench_status"

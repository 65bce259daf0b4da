#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Real StarPU under the plugin: each door, the budget, and what the plugin must survive
# (spec/starpu-integration.md, section K). The programs are in tests/starpu.
set -u
. "${srcdir:-.}/tests/taplib.sh"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
. "${srcdir:-.}/tests/starpu/lib.sh"

for program in doors data hooks late; do
    build_program $program
done

# passes NAME [NAME=VALUE...] PROGRAM [ARGUMENT...]: the program exits 0 under the plugin.
passes()
{
    name=$1
    shift
    under "$@"
    passed "$name" $?
}

# bytes DOOR REPORT: what the first node's requests asked for by that door.
bytes()
{
    tr -d ' \n' <"$2" | sed -n 's/.*"bytes":{\([^}]*\)}.*/\1/p' | tr ',' '\n' | sed -n 's/"'"$1"'"://p' | head -n 1
}

report=$scratch/report.json
doors=$scratch/doors

# ---- the doors ----------------------------------------------------------------------------------
passes "every door serves, and a block may leave by another" STARPOOL_REPORT="$report" "$doors" each_door
says "without a word" . 0
if [ "$(number interposer "$report")" -eq 3 ] && [ "$(number hook "$report")" -eq 3 ]; then
    ok "the report counts requests by door"
else
    not_ok "the report counts requests by door" "$(cat "$report")"
fi
passes "size 0 has an address of its own; sizes at a free are not believed" "$doors" sizes
passes "an impossible size is refused, and the address is NULL" STARPOOL_REPORT="$report" "$doors" too_large
says "which is said at once where StarPU does not ask again" "was refused 16 EiB: " 1
says "and is all that is said" . 1
if [ "$(number hook "$report")" -eq 1 ] && [ "$(bytes hook "$report")" -eq 0 ] &&
    [ "$(bytes interposer "$report")" -eq 0 ]; then
    ok "bytes that were not served are not counted"
else
    not_ok "bytes that were not served are not counted" "$(cat "$report")"
fi
passes "alignment: 256 bytes, and what starpu_malloc_set_align asks for" "$doors" alignment
passes "foreign threads, and the budget afterwards" "$doors" foreign_thread
passes "a double, an interior and a foreign free do no harm" "$doors" wrong_frees
passes "the pool of a node can be asked for, and not destroyed" "$doors" pool_question
says "which is said" "cannot be destroyed" 1

# ---- the budget -----------------------------------------------------------------------------------
small="STARPU_LIMIT_CPU_MEM=64 STARPOOL_HOST_LIMIT=16M"
# shellcheck disable=SC2086
passes "StarPU's budget is exact after refusals" $small STARPOOL_NUMA_POLICY=strict \
    STARPOOL_REPORT="$report" "$doors" budget
says "the third refusal of a size says so, once a size" "was refused .* 3 times" 2
if [ "$(number refusals "$report")" -eq 22 ]; then
    ok "the report counts refusals"
else
    not_ok "the report counts refusals" "$(cat "$report")"
fi
# shellcheck disable=SC2086
passes "refusals of many sizes" $small STARPOOL_NUMA_POLICY=strict "$doors" many_sizes
says "are told together, and ever more rarely" "was refused 30 MiB (refusal [36] of many sizes): " 2
says "and nothing else is" . 2
# shellcheck disable=SC2086
passes "what comes by the hook is never refused" $small STARPOOL_NUMA_POLICY=strict \
    STARPOOL_REPORT="$report" "$doors" hook_overflows
if [ "$(number overflows "$report")" -ge 16 ]; then
    ok "and is counted"
else
    not_ok "and is counted" "$(cat "$report")"
fi
says "and said once" "beyond its pool is served without limit and counted; what StarPU's hooks .* limit 16 MiB" 1
says "in one line" . 1
# shellcheck disable=SC2086
passes "nor is anything with the spill policy" $small STARPOOL_NUMA_POLICY=spill "$doors" interposer_overflows
says "which is said once" "served without limit and counted; STARPOOL_NUMA_POLICY=strict refuses it" 1
says "in one line" . 1
under STARPOOL_LOCK=1 "$doors" locked
case $? in
0)
    ok "memory beyond the limit of locked memory is served unlocked"
    says "which is said once" "locking was asked for, the limit is 1 MiB (ulimit -l): .* unlocked" 1
    says "in one line" . 1
    ;;
77)
    for name in "memory beyond the limit of locked memory is served unlocked" "which is said once" "in one line"; do
        skip "$name" "the limit of locked memory does not hold here"
    done
    ;;
*) not_ok "memory beyond the limit of locked memory is served unlocked" "$(cat "$scratch/err")" ;;
esac

# ---- life and death -------------------------------------------------------------------------------
passes "frees after starpu_shutdown" "$doors" late_frees
passes "StarPU may start again; pools stay" "$doors" starts_again
rm -f "$report"
passes "children of a fork free and exit while a thread allocates" STARPOOL_REPORT="$scratch/fork-%p.json" \
    "$doors" fork_while_allocating
set -- "$scratch"/fork-*.json
if [ $# -eq 1 ] && [ -s "$1" ]; then
    ok "only the process that started StarPU writes the report"
else
    not_ok "only the process that started StarPU writes the report" "$*"
fi

# ---- StarPU's own paths ---------------------------------------------------------------------------
passes "temporary data, and the budget afterwards" STARPU_LIMIT_CPU_MEM=256 "$scratch/data" temporaries
passes "pack and unpack" "$scratch/data" packed_by_hand
mkdir "$scratch/disk"
passes "data that is packed to a disk node and comes back" STARPOOL_REPORT="$report" "$scratch/data" \
    packed_to_disk "$scratch/disk"
if [ "$(number kept_unknown "$report")" -eq 0 ] && [ "$(number hook "$report")" -gt 0 ]; then
    ok "and none of its blocks was foreign"
else
    not_ok "and none of its blocks was foreign" "$(cat "$report")"
fi
mkdir "$scratch/opencl"
under STARPU_HOME="$scratch/opencl" STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 STARPOOL_REPORT="$report" \
    "$scratch/data" opencl
case $? in
0)
    ok "an OpenCL device's memory passes through"
    if grep -q '"kind": "opencl"' "$report"; then
        ok "and the report names what serves it"
    else
        not_ok "and the report names what serves it" "$(cat "$report")"
    fi
    ;;
77)
    skip "an OpenCL device's memory passes through" "StarPU finds no OpenCL device (pocl-opencl-icd)"
    skip "and the report names what serves it" "StarPU finds no OpenCL device (pocl-opencl-icd)"
    ;;
*) not_ok "an OpenCL device's memory passes through" "$(cat "$scratch/err")" ;;
esac

# ---- two NUMA nodes -------------------------------------------------------------------------------
run_two()
{
    under HWLOC_SYNTHETIC="numa:2 core:1 pu:1" STARPU_USE_NUMA=1 STARPU_WORKERS_CPUID="0 1" \
        STARPU_WORKERS_NOBIND=1 "$@"
}
if run_two STARPOOL_REPORT="$report" "$doors" two_nodes; then
    ok "two nodes have a pool each"
else
    not_ok "two nodes have a pool each" "$(cat "$scratch/err")"
fi
says "memory of unknown origin is kept, and said once" "1 blocks .* were kept" 1
if run_two "$scratch/data" temporaries; then
    ok "tasks on two nodes"
else
    not_ok "tasks on two nodes" "$(cat "$scratch/err")"
fi

# ---- other ways in --------------------------------------------------------------------------------
passes "an application's own hooks win, and each block finds its owner" "$scratch/hooks"
says "which is said" "malloc hooks of its own" 1
# without plugin preloaded: late CASE.
late()
{
    name=$1 case=$2
    shift 2
    if bare ${runtime:+LD_PRELOAD="$runtime"} STARPOOL_REPORT="$report" "$@" "$scratch/late" "$case" "$plugin"; then
        ok "$name"
    else
        not_ok "$name" "$(cat "$scratch/err")"
    fi
}
late "opened by the program: calls are redirected" opened
if grep -q '"interposer": "got"' "$report"; then
    ok "and the report says how"
else
    not_ok "and the report says how" "$(cat "$report")"
fi
if [ "$(number interposer "$report")" -ge 2 ]; then
    ok "the program's calls and libstarpu's own"
else
    not_ok "the program's calls and libstarpu's own" "$(cat "$report")"
fi
late "attached by the program, with a configuration" attached
late "not while StarPU runs" attached_too_late
says "which is said" "already running" 2
late "detached: no new block, old ones are taken back; attached again" detached

done_testing

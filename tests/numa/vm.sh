#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Boots a virtual machine with several NUMA nodes, of one CPU each, and shows its console. Exits
# with the status of the guest's script, or 97 if the guest gave none: it panicked or hung.
# Everything is emulated, so that it runs and behaves alike wherever qemu does.
#
# Usage: tests/numa/vm.sh KERNEL IMAGE N_NODES MIB_A_NODE SECONDS
set -eu
kernel=$1 image=$2 n_nodes=$3 mib=$4 limit=$5

# no_timer_check: a loaded host looks like a broken timer. No page may move by itself
# (numa_balancing), and no address may depend on the boot (nokaslr).
append="console=ttyS0 loglevel=1 panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable
 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 numa_balancing=disable
 transparent_hugepage=madvise random.trust_cpu=on"

set -- -no-user-config -nodefaults -M q35 -accel tcg,thread=multi -cpu qemu64 \
    -m "$((n_nodes * mib))M" -smp "$n_nodes,sockets=$n_nodes,cores=1,threads=1"
from=0
while [ "$from" -lt "$n_nodes" ]; do
    set -- "$@" -object "memory-backend-ram,id=m$from,size=${mib}M" \
        -numa "node,nodeid=$from,cpus=$from,memdev=m$from"
    from=$((from + 1))
done
# Distances come after the nodes. Nodes in a row: 10 here, 20 next door, 30 beyond.
from=0
while [ "$from" -lt "$n_nodes" ]; do
    to=0
    while [ "$to" -lt "$n_nodes" ]; do
        apart=$((from > to ? from - to : to - from))
        set -- "$@" -numa "dist,src=$from,dst=$to,val=$((10 + 10 * apart))"
        to=$((to + 1))
    done
    from=$((from + 1))
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ timeout -k 5 "$limit" qemu-system-x86_64 "$@" -kernel "$kernel" -initrd "$image" \
    -append "$(echo "$append" | tr -d '\n')" \
    -display none -monitor none -serial stdio -no-reboot </dev/null 2>&1 || :; } |
    tr -d '\r' | tee "$log"
rc=$(sed -n 's/^GUEST-EXIT \([0-9][0-9]*\)$/\1/p' "$log" | tail -n 1)
exit "${rc:-97}"

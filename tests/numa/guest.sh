# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What happens in the virtual machine, in its order. Each line that begins with "ok -", "not ok -"
# or "skip -" is a case; "# pages CHECKS WRONG" counts. Exits 0 if it came to its end.
echo 0 >/proc/sys/vm/oom_dump_tasks
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
group=

# One program, killable unlike this shell, in the control group $group if that is set. Refusals are
# expected: only errors are to be said.
status_of()
{
    (
        echo 0 >/proc/self/oom_score_adj
        [ -z "$group" ] || echo 0 >"/sys/fs/cgroup/$group/cgroup.procs"
        exec timeout -s KILL 100 env STARPOOL_LOG=error "$@"
    )
}

# run LABEL [NAME=VALUE...] PROGRAM [ARGUMENT...]: a status above 1 is not the program's own.
run()
{
    label=$1
    shift
    began=$(cut -d. -f1 /proc/uptime)
    status_of GUEST_LABEL="$label" "$@"
    rc=$?
    [ "$rc" -le 1 ] || echo "not ok - $label: ended with status $rc"
    echo "# $label: $(($(cut -d. -f1 /proc/uptime) - began)) s"
}

# run_two LABEL ...: two at once.
run_two()
{
    label=$1
    shift
    run "$label, the one" "$@" >/tmp/other &
    run "$label, the other" "$@"
    wait
    cat /tmp/other
}

new_group()
{
    group=$1
    mkdir "/sys/fs/cgroup/$group"
    echo "$2" >"/sys/fs/cgroup/$group/memory.max"
}

# A case: in the control group $group nobody was killed.
nobody_killed()
{
    n=$(sed -n 's/^oom_kill //p' "/sys/fs/cgroup/$group/memory.events")
    case $n in
    0) echo "ok - $1: the kernel killed nobody" ;;
    *) echo "not ok - $1: the kernel killed $n" ;;
    esac
}

# ---- each page in its place ---------------------------------------------------------------------
run places ./guest_places

# ---- full nodes ---------------------------------------------------------------------------------
# With what starpool leaves alone by default, and with nothing left alone.
for reserve in 64M 0; do
    but="all but $reserve"
    run "strict pool takes $but" STARPOOL_HOST_RESERVE=$reserve ./guest_full strict
    run "spilling pool takes $but" STARPOOL_HOST_RESERVE=$reserve ./guest_full spill
    run "HOST pool takes $but" STARPOOL_HOST_RESERVE=$reserve ./guest_full host
    run_two "two fill a node but for $reserve" STARPOOL_HOST_RESERVE=$reserve ./guest_full contend-node
done
run "node full of a process" ./guest_full hogged

mkdir /tmp/files
mount -t tmpfs -o mpol=bind:1,size=600M files /tmp/files
dd if=/dev/zero of=/tmp/files/file bs=1M count=400 2>/dev/null
run "node full of files in memory" ./guest_full files
umount /tmp/files

# The pages of a device that is larger than the node, though nothing holds its contents.
insmod ./loop.ko
truncate -s 2G /tmp/sparse
losetup /dev/loop0 /tmp/sparse
run "node full of page cache" ./guest_full cached /dev/loop0
losetup -d /dev/loop0
rm /tmp/sparse
echo 3 >/proc/sys/vm/drop_caches

# The same request without starpool.
run "larger than the node" ./guest_full too-large
status_of ./guest_hwloc
rc=$?
if [ "$rc" -eq 137 ] && dmesg | grep -q 'Killed process.*guest_hwloc'; then
    echo "ok - larger than the node: beside it, hwloc_alloc_membind is killed by the kernel"
else
    echo "not ok - larger than the node: beside it, hwloc_alloc_membind is killed by the kernel (status $rc)"
fi

# ---- control groups smaller than a node ---------------------------------------------------------
for reserve in 64M 0; do
    new_group "small-$reserve" 192M
    label="one fills a control group but for $reserve"
    run "$label" STARPOOL_HOST_RESERVE=$reserve ./guest_full cgroup
    nobody_killed "$label"
    label="two fill a control group but for $reserve"
    run_two "$label" STARPOOL_HOST_RESERVE=$reserve ./guest_full contend-cgroup
    nobody_killed "two fill a control group but for $reserve"
done
group=

# ---- limits, and what the system refuses --------------------------------------------------------
run limits ./guest_limits
run "binding refused with EPERM" ./guest_refused permission
run "binding refused with ENOSYS" ./guest_refused unknown

# ---- StarPU -------------------------------------------------------------------------------------
[ ! -e ./guest_starpu ] || . ./guest_starpu.sh
exit 0

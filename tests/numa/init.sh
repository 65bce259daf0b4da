#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The first process of the virtual machine: runs /t/guest.sh and tells its exit status. Whoever
# does not read that line knows that the machine came to grief.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /root
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
hostname guest
ifconfig lo 127.0.0.1
# What the kernel kills for want of memory must be a program under test.
echo -1000 >/proc/self/oom_score_adj
echo "# the machine is up after $(cut -d' ' -f1 /proc/uptime) s"
(cd /t && exec sh ./guest.sh) 2>&1
rc=$?
echo
echo "GUEST-EXIT $rc"
poweroff -f

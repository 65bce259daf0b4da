# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# StarPU on both nodes, stock and under the plugin. To be sourced by guest.sh. StarPU measures the
# machine at its first start only.
mkdir -p /tmp/starpu

# starpu LABEL CPUS [NAME=VALUE...] PROGRAM [ARGUMENT...]: a worker on each of the CPUs.
starpu()
{
    label=$1 cpus=$2
    shift 2
    run "$label" STARPU_HOME=/tmp/starpu STARPU_HOSTNAME=guest STARPU_SILENT=1 STARPU_NOPENCL=0 STARPU_USE_NUMA=1 \
        STARPU_WORKERS_CPUID="$cpus" "$@"
}

starpu "stock StarPU" "0 1" ./guest_starpu stock 0
starpu "StarPU under the plugin" "0 1" LD_PRELOAD=/t/starpool_starpu.so ./guest_starpu plugin 0
# StarPU's first node is the system's second.
starpu "StarPU under the plugin, nodes turned around" "1 0" LD_PRELOAD=/t/starpool_starpu.so \
    ./guest_starpu plugin 1

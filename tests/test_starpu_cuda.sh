#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# StarPU's CUDA nodes under the plugin: first on a small StarPU of our own with the CPU model as
# driver, then on StarPU's CUDA build (./bootstrap --contrib) on simulated devices.
# The programs are in tests/starpu.
set -u
. "${srcdir:-.}/tests/taplib.sh"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
. "${srcdir:-.}/tests/starpu/lib.sh"
. "${srcdir:-.}/tests/starpu/contrib.sh"
report=$scratch/report.json

# ---- on a small StarPU ----------------------------------------------------------------------------
# The version that the plugin was built for, as it says itself about another one.
build "$scratch/libstarpu-9.9.so" other_starpu.c -shared -fPIC -Wl,-soname,libstarpu-9.9.so -DMAJOR=9 -DMINOR=9
build "$scratch/small-9.9" small.c -L"$scratch" -lstarpu-9.9 -Wl,-rpath,"$scratch"
under "$scratch/small-9.9" alone
minor=$(sed -n 's/.*was built for \([0-9]*\.[0-9]*\):.*/\1/p' "$scratch/err")
if ! build "$scratch/libstarpu-cuda.so" cuda_starpu.c -I"$source_dir" -shared -fPIC \
    -Wl,-soname,libstarpu-cuda.so -DMAJOR="${minor%.*}" -DMINOR="${minor#*.}" ||
    ! build "$scratch/libcudart.so.11.0" cuda_runtime.c -I"$source_dir" -shared -fPIC \
        -Wl,-soname,libcudart.so.11.0 ||
    ! build "$scratch/small" cuda_small.c -I"$source_dir" -L"$scratch" -lstarpu-cuda -l:libcudart.so.11.0 \
        -Wl,-rpath,"$scratch"; then
    not_ok "the small StarPU is built"
    done_testing
    exit 1
fi

# passes_in PROGRAM ENVIRONMENT NAME [NAME=VALUE...] CASE: a case of a program holds.
passes_in()
{
    program=$1 environment=$2 name=$3
    shift 3
    while [ $# -gt 1 ]; do
        environment="$environment $1"
        shift
    done
    # shellcheck disable=SC2086
    under $environment "$program" "$1"
    passed "$name" $?
}

# passes NAME [NAME=VALUE...] CASE: a case of cuda_small.c holds.
passes()
{
    passes_in "$scratch/small" "STARPOOL_DRIVER=model STARPOOL_MODEL_DEVICES=2 STARPOOL_REPORT=$report" "$@"
}

# reports NAME KEY N: the report says so.
reports()
{
    if [ "$(number "$2" "$report")" -eq "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "$2 is not $3" "$(cat "$report")"
    fi
}

for backend in slab driver; do
    passes "$backend: each device's node has a pool, which sees requests as they are" \
        STARPOOL_DEVICE_BACKEND=$backend each_node
    says "$backend: without a word" . 0
    holds "$backend: the report names node and device" grep -q '"device": 1' "$report"
    passes "$backend: the budget is exact after 20,000 refusals, which StarPU never sees" \
        STARPOOL_DEVICE_BACKEND=$backend STARPOOL_DEVICE_LIMIT=8M refusals
    says "$backend: the third one of a size is said" 'node 1 (CUDA 0) was refused 128 MiB 3 times' 1
    says "$backend: with the limit that may be raised" 'STARPOOL_DEVICE_LIMIT for the pools that serve StarPU' 1
    says "$backend: and nothing else" . 1
    reports "$backend: and all of the pool's are counted" refusals 10001
    passes "$backend: a device that is reset serves again, the other one keeps its blocks" \
        STARPOOL_DEVICE_BACKEND=$backend reset
    reports "$backend: the reset is counted" resets 1
done
passes "an empty slab makes room for a larger block" STARPOOL_DEVICE_LIMIT=64M empty_slabs
says "without a word" . 0
passes "threads ask for the first block of a device at once, and for many" threads
says "without a word" . 0
passes "a pool of the driver waits at each request" STARPOOL_DEVICE_BACKEND=driver each_node
holds "which is counted" grep -q '"driver_waits": [1-9]' "$report"
passes "slabs wait for nothing" each_node
holds "and count nothing" sh -c "! grep -q '\"driver_waits\": [1-9]' '$report'"
passes "an OpenCL device, and blocks of StarPU's own, are StarPU's" others
says "without a word about them" . 0
passes "the program's malloc hooks serve the host and no device" app_hooks
says "which is said" "malloc hooks of its own" 1

passes "a device is left to StarPU where nothing else is wanted" STARPOOL_DEVICE_BACKEND=none left
says "which is said once, with the reason" "CUDA device 0 itself: STARPOOL_DEVICE_BACKEND=none" 1
holds "and stands in the report" grep -q '"served_by": "StarPU (STARPOOL_DEVICE_BACKEND=none)"' "$report"
passes "or where there is no driver" STARPOOL_DRIVER=none left
says "once" "CUDA device 0 itself: there is no driver: STARPOOL_DRIVER=none" 1
passes "or where StarPU's devices are another driver's" CUDA_RUNTIME_STRANGER=1 left
says "once" "CUDA device 0 itself: StarPU's devices are not those" 1

passes "captures begun THREAD_LOCAL or RELAXED are left alone, and GLOBAL ones, too" captures
holds "by default" grep -q '^0 1 2 0 1 2 $' "$scratch/out"
says "but it is said once, naming the mode" "in mode GLOBAL.* THREAD_LOCAL or RELAXED" 1
says "only once" . 1
reports "and counted" global_captures 2
passes "GLOBAL ones are begun as THREAD_LOCAL where that is wanted" STARPOOL_CAPTURE_DOWNGRADE=1 captures
holds "and no other" grep -q '^1 1 2 1 1 2 $' "$scratch/out"
says "which is said once" "begun as THREAD_LOCAL ones" 1
reports "and counted" downgraded_captures 2

passes "host memory of a StarPU with CUDA workers is registered, and pinned once" pins
reports "what was spared is counted" spared_pins 2
passes "also where the first pool was made before there was a CUDA worker" pins_later
says "without a word" . 0
holds "and that one stands in the report, too" grep -q '"earlier_pool"' "$report"
passes "not where pinning is disabled" STARPU_DISABLE_PINNING=1 no_pins
passes "without a driver host memory is served all the same" STARPOOL_DRIVER=none unregistered
says "which is said, with the reason" "cannot be registered with the driver (.*started" 1

passes "a codelet allocates on its worker's own stream or node, and nowhere else" codelets
says "a second free of a block is wrong" "freed before" 1
passes "a captured codelet's memory becomes nodes of the graph" captured_codelet
holds "and codelets' pools stand in the report" grep -q '"codelet_pools"' "$report"

passes "memory that is written after StarPU has freed it" STARPOOL_CODELET_CHECK=1 late_writes
says "is told once a codelet and size, with the block's history" \
    '8 bytes from offset 4096 on .* StarPU node 1 (CUDA 0), .* codelet leaver; .*: bystander, leaver' 1
says "in one line" . 1
reports "and counted each time" changed_blocks 2
passes "memory that is written only while it is live" STARPOOL_CODELET_CHECK=1 good_writes
says "is not" . 0
holds "though it was looked at" grep -q '"checked_blocks": [1-9]' "$report"
passes "memory of the driver's pools" STARPOOL_CODELET_CHECK=1 STARPOOL_DEVICE_BACKEND=driver good_writes
says "is not looked at, which is said" "looks at slabs only, and finds nothing with STARPOOL_DEVICE_BACKEND=driver" 1

# ---- on StarPU's CUDA build ------------------------------------------------------------------------
# shellcheck disable=SC2154
libraries=$build/sim/cuda-11:$(echo "$contrib"/usr/lib/*-linux-gnu*)
reason=$(why_no_contrib)
[ "$minor" = 1.3 ] || reason="the plugin is for StarPU $minor, and the CUDA-enabled one is 1.3"
[ "${SP_SANITIZER_NAME:-no}" = no ] || reason="the programs know nothing of the sanitizer"
if [ -n "$reason" ]; then
    skip "StarPU's CUDA build on simulated devices" "$reason"
    done_testing
    exit
fi

# build_simulated NAME SOURCE: a program of StarPU's CUDA build, in the scratch folder.
build_simulated()
{
    (
        C_INCLUDE_PATH=$source_dir/include
        export C_INCLUDE_PATH
        build_contrib "$scratch/$1" "$2"
    ) || {
        not_ok "${2##*/} is built"
        done_testing
        exit 1
    }
}
# One plugin serves both of Debian's builds.
build "$scratch/layout" layout.c
"$scratch/layout" >"$scratch/layout.out"
build_simulated layout-cuda layout.c
LD_LIBRARY_PATH=$libraries "$scratch/layout-cuda" >"$scratch/layout-cuda.out"
check "StarPU: what the plugin uses of its structures is where it is in the CUDA build" \
    "$(diff "$scratch/layout.out" "$scratch/layout-cuda.out")"
build_simulated nodes cuda_nodes.c
build_simulated capture ../../examples/capture_codelet.c
mkdir "$scratch/home"

# on_devices [NAME=VALUE...] PROGRAM [ARGUMENT...]: with the plugin; and without it.
devices="LD_LIBRARY_PATH=$libraries STARPOOL_DRIVER=model STARPOOL_MODEL_DEVICES=2 STARPU_HOME=$scratch/home
    STARPU_HOSTNAME=simulated STARPOOL_REPORT=$report"
on_devices()
{
    # shellcheck disable=SC2086
    under $devices "$@"
}

# simulated NAME [NAME=VALUE...] CASE: a case of cuda_nodes.c holds.
simulated()
{
    passes_in "$scratch/nodes" "$devices" "$@"
}

simulated "StarPU: every CUDA node is served, and the budget is exact" nodes
simulated "StarPU: the driver's pool serves as well" STARPOOL_DEVICE_BACKEND=driver nodes
simulated "StarPU: devices are reset between two lives of it" resets
holds "which is counted, with those of its bus benchmark if there were any" \
    [ "$(number resets "$report")" -ge 2 ]
# shellcheck disable=SC2086
bare $devices ${runtime:+LD_PRELOAD="$runtime"} "$scratch/nodes" resets "$plugin"
rc=$?
holds "StarPU: a plugin that the program opens serves the devices" [ $rc -eq 0 ]
holds "and sees the resets, too" [ "$(number resets "$report")" -ge 2 ]
simulated "StarPU: its CUDA build pins what a pool has registered once" pinned
holds "which is counted" [ "$(number spared_pins "$report")" -eq 2 ]
simulated "StarPU: codelets on CUDA and CPU workers allocate for themselves" codelets
simulated "StarPU: captures of codelets in mode GLOBAL" global_capture
says "are told once" "was begun in mode GLOBAL" 1
simulated "StarPU: a codelet that leaves work behind" STARPU_NCUDA=1 STARPOOL_CODELET_CHECK=1 late_work
says "is told" "4096 bytes from offset 0 on .* handed out for codelet leaver; .*: leaver; " 1

small="STARPOOL_MODEL_MEMORY=64M STARPU_LIMIT_CUDA_MEM=1024"
# shellcheck disable=SC2086
simulated "StarPU: 10,000 requests that the device has no room for" $small refusals
holds "leave its budget exact" grep -q '^refused 10000, lost 0$' "$scratch/out"
# shellcheck disable=SC2086
bare $devices $small "$scratch/nodes" refusals
holds "which StarPU by itself does not" grep -q '^refused 10000, lost [1-9]' "$scratch/out"

on_devices "$scratch/capture"
rc=$?
holds "StarPU: the codelet that captures graphs with temporaries is right" [ $rc -eq 0 ]
for mode in THREAD_LOCAL RELAXED; do
    holds "no capture is lost in mode $mode" \
        grep -q "^$mode: 100 captures, 0 lost; 1000 launches, 1000 executed, 0 failed; 0 wrong" "$scratch/out"
    # The free memory after half of the tasks and at the end.
    sed -n "s/^$mode: .* the device \([0-9]*\) KiB .*, \([0-9]*\) KiB .*/\1 \2/p" "$scratch/out" >"$scratch/free"
    read -r half end <"$scratch/free"
    holds "and the device's memory stays as it is" [ "$half" -eq "$end" ]
done

done_testing

# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the tests on simulated devices share. To be sourced after tests/taplib.sh; $scratch is a
# folder of the caller's.
# shellcheck disable=SC2154

build=${builddir:-.}
tool=$build/starpool
contrib=${STARPOOL_TEST_CONTRIB:-$build/contrib}

# What StarPU learns of simulated devices here is this test's alone.
XDG_CACHE_HOME=$scratch/cache
export XDG_CACHE_HOME
mkdir -p "$XDG_CACHE_HOME"

# Why there are no simulated devices here, or nothing.
why_no_devices()
{
    if [ ! -x "$tool" ]; then
        echo "the command is not built"
    elif [ ! -e "$build/sim/cuda-13/libcuda.so.1" ]; then
        echo "the simulated CUDA libraries are not built"
    elif [ "${SP_SANITIZER_NAME:-no}" != no ]; then
        echo "the programs know nothing of the sanitizer"
    fi
}

# Why there is no CUDA-enabled StarPU here, or nothing.
why_no_contrib()
{
    if [ ! -d "$contrib" ]; then
        echo "no CUDA-enabled StarPU (./bootstrap --contrib fetches it)"
    elif [ ! -e "$build/sim/cuda-11/libcudart.so.11.0" ]; then
        echo "the simulated CUDA libraries are not built"
    fi
}

# build_cuda OUTPUT SOURCE VERSION LIBRARY...: a plain C program, linked with libraries of a
# simulated CUDA by their file names.
build_cuda()
{
    output=$1 source=$2 version=$3
    shift 3
    libraries=
    for file; do
        libraries="$libraries $build/sim/cuda-$version/$file"
    done
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu11 -g -I"${srcdir:-.}/include" -o "$output" "$source" $libraries \
        -Wl,--allow-shlib-undefined -lpthread
}

# A program of tests/starpu against the CUDA-enabled StarPU; STARPU_MAXCPUS and the like differ
# from the other's.
build_contrib()
{
    output=$1 source=${srcdir:-.}/tests/starpu/$2
    set -- "$contrib"/usr/lib/*/libstarpu-1.3.so.9
    ${CC:-cc} -std=gnu11 -g -O1 -Wall -isystem "$contrib/usr/include/starpu/1.3" -o "$output" "$source" \
        "$1" "$build/sim/cuda-11/libcudart.so.11.0" -Wl,--allow-shlib-undefined -lpthread
}

# simulate SECONDS ARGUMENT...: the command, on the CUDA-enabled StarPU. Output in $scratch/out and
# $scratch/err.
simulate()
{
    seconds=$1
    shift
    timeout --kill-after=5 "$seconds" "$tool" simulate --starpu-prefix="$contrib" "$@" \
        >"$scratch/out" 2>"$scratch/err" </dev/null
}

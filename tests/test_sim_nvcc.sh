#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program compiled by nvcc runs on the simulated runtime of nvcc's version of CUDA, with the
# stream that programs have unless they say otherwise, and with a stream a thread. Skipped where
# there is no nvcc, or none of a version that is simulated.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"

command -v nvcc >/dev/null 2>&1 || skip_all 'there is no nvcc'
major=$(nvcc --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
libdir=$(cd "${builddir:-.}/.libs" && pwd)
simdir=$(cd "${builddir:-.}/sim" && pwd)/cuda-$major
[ -d "$simdir" ] || skip_all "CUDA $major is not simulated"
! ldd "$libdir/libstarpool.so" | grep -q 'lib[a-z]*san\.so' ||
    skip_all "a sanitizer's run-time library comes with the program, not with us"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Compiles the program with options of nvcc, and runs it.
run()
{
    nvcc -cudart shared "$@" -I"$here/../include" -o "$work/program" "$here/sim_vector_add.cu" \
        "$libdir/libstarpool.so" &&
        LD_LIBRARY_PATH="$simdir:$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
            STARPOOL_MODEL_DEVICES=1 "$work/program"
}

# expect NAME OPTION...
expect()
{
    name=$1
    shift
    out=$(run "$@" 2>&1 || :)
    if [ "$out" = 'starpool simulated: right' ]; then
        ok "$name"
    else
        not_ok "$name" "$out"
    fi
}

expect 'a program compiled by nvcc runs with functions of the host for its kernels'
expect 'and so it does with a default stream of each thread' --default-stream per-thread
done_testing

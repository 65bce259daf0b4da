#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the simulated libcudart.so of each version exports: every name in the version that is called
# as the library, nothing but the runtime's names, and all that the headers of CUDA 13 declare and
# NVIDIA's own library has, where these are.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
sim=${builddir:-.}/sim
nm="${NM:-nm}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -e "$sim/cuda-13/libcudart.so.13" ] || {
    echo "Bail out! there is no $sim/cuda-13/libcudart.so.13: run make first"
    exit 99
}

# exported FILE: "NAME@@VERSION", one a line.
exported()
{
    # shellcheck disable=SC2086
    $nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort
}

names()
{
    exported "$1" | sed 's/@.*//' | sort -u
}

for library in cuda-11/libcudart.so.11.0 cuda-12/libcudart.so.12 cuda-13/libcudart.so.13; do
    version=${library#*/}
    exported "$sim/$library" >"$work/exported"
    check "every name of $version has its version" "$(grep -v "@@$version\$" "$work/exported" || :)"
    check "$version exports names of the runtime alone" \
        "$(grep -v '^\(__\)\{0,1\}cuda[A-Z]' "$work/exported" || :)"
done

# Names by which programs of any version begin.
for name in __cudaRegisterFatBinary __cudaRegisterFunction __cudaPushCallConfiguration \
    cudaLaunchKernel cudaMallocAsync cudaGraphInstantiate cudaStreamGetCaptureInfo_v2 \
    cudaMemcpyAsync_ptsz cudaMemcpy_ptds cudaThreadSynchronize; do
    for library in cuda-11/libcudart.so.11.0 cuda-12/libcudart.so.12; do
        names "$sim/$library" | grep -qx "$name" || echo "$library: $name"
    done
done >"$work/lacking"
check 'older versions have what programs begin with' "$(cat "$work/lacking")"

names "$sim/cuda-13/libcudart.so.13" >"$work/ours"
header=${CUDA_HOME:-/usr/local/cuda}/include/cuda_runtime_api.h
what='all that cuda_runtime_api.h of CUDA 13 declares is there'
if grep -q 'CUDART_VERSION *130' "$header" 2>/dev/null; then
    sed -n 's/^extern .*cudaError_t CUDARTAPI \(cuda[A-Za-z0-9_]*\)(.*/\1/p' "$header" | sort -u \
        >"$work/declared"
    check "$what" "$(comm -23 "$work/declared" "$work/ours")"
else
    skip "$what" 'the header is not here'
fi

what='all that the libcudart.so.13 of CUDA exports is there'
theirs=${CUDA_HOME:-/usr/local/cuda}/lib64/libcudart.so.13
[ -e "$theirs" ] || theirs=${CUDA_HOME:-/usr/local/cuda}/lib/libcudart.so.13
if [ -e "$theirs" ]; then
    names "$theirs" >"$work/theirs"
    check "$what" "$(comm -23 "$work/theirs" "$work/ours")"
else
    skip "$what" 'the library is not here'
fi
done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that nobody wrote for starpool run on the simulated CUDA libraries, and what they give
# is what the CPU gives: ffmpeg's video through a device, hwloc's devices, PyCUDA's memory. Which
# functions they called that are not there is said as comments.
set -u
. "${srcdir:-.}/tests/taplib.sh"
here=$(cd "${srcdir:-.}/tests" && pwd)
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
build=$(cd "${builddir:-.}" && pwd)
contrib=${STARPOOL_TEST_CONTRIB:-$build/contrib}
missing=$scratch/missing

[ -e "$build/sim/cuda-13/libcuda.so.1" ] || {
    echo "Bail out! the simulated CUDA libraries are not built: run make first"
    exit 99
}
case ${SP_SANITIZER-} in
?*) skip_all "the programs know nothing of the sanitizer" ;;
esac

# on_devices MAJOR COMMAND...: with the libraries of that version of CUDA, for a minute at most.
on_devices()
{
    major=$1
    shift
    env LD_LIBRARY_PATH="$build/sim/cuda-$major${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        STARPOOL_SIM_MISSING="$missing" timeout --kill-after=5 60 "$@" </dev/null
}

# What the program has called in vain so far, as comments.
tell_missing()
{
    [ ! -s "$missing" ] || sed "s/^/# $1 called in vain: /" "$missing"
    rm -f "$missing"
}

# ---- ffmpeg ------------------------------------------------------------------------------------
# video OUTPUT FORMAT SIZE [FFMPEG-OPTION...]: a hash of each frame, through the filters $through.
video()
{
    output=$1 format=$2 size=$3
    shift 3
    ffmpeg -nostdin -hide_banner -loglevel error "$@" -f lavfi \
        -i "testsrc2=size=$size:rate=25:duration=1" -vf "format=$format,$through" -f framemd5 - >"$output"
}

# same_video NAME FORMAT SIZE [NAME=VALUE...]: by a device, and without. ffmpeg is its own judge
# of what it can do.
same_video()
{
    name=$1 format=$2 size=$3
    shift 3
    through=null
    video "$scratch/plain" "$format" "$size" 2>"$scratch/err" || :
    through="hwupload,hwdownload,format=$format"
    (
        for setting; do export "${setting?}"; done
        LD_LIBRARY_PATH="$build/sim/cuda-12" STARPOOL_SIM_MISSING=$missing
        export LD_LIBRARY_PATH STARPOOL_SIM_MISSING
        video "$scratch/device" "$format" "$size" -init_hw_device "cuda=gpu:${index:-0}" -filter_hw_device gpu
    ) 2>>"$scratch/err" || echo "exit $?" >>"$scratch/err"
    frames=$(grep -vc '^#' "$scratch/plain")
    [ "$frames" -eq 25 ] || echo "$frames frames" >>"$scratch/err"
    check "$name" "$(cat "$scratch/err")$(diff "$scratch/plain" "$scratch/device" | head -n 5)"
}

if ! command -v ffmpeg >/dev/null 2>&1; then
    skip "ffmpeg's frames through a device are the same" "no ffmpeg (./bootstrap --foreign installs it)"
elif ! ffmpeg -hide_banner -hwaccels 2>/dev/null | grep -q '^cuda'; then
    skip "ffmpeg's frames through a device are the same" "this ffmpeg was built without CUDA"
else
    same_video "ffmpeg's NV12 frames through a device are the same" nv12 320x180
    same_video "ffmpeg's frames of odd sizes are the same" yuv420p 322x178
    same_video "ffmpeg's frames of 16 bits are the same" yuv444p16le 66x34
    same_video "ffmpeg's frames are the same where host accesses to devices end a program" \
        nv12 1280x720 STARPOOL_MODEL_PROTECT=1
    same_video "ffmpeg's frames are the same with work done inside calls" \
        yuv444p 320x180 STARPOOL_MODEL_EXEC=inline
    index=1
    same_video "ffmpeg's frames through the second device are the same" \
        p010le 320x180 STARPOOL_MODEL_DEVICES=2
    index=0
    tell_missing ffmpeg
fi

# ---- hwloc --------------------------------------------------------------------------------------
plugins=
for folder in "$contrib"/usr/lib/*/hwloc /usr/lib/*/hwloc; do
    [ ! -e "$folder/hwloc_cuda.so" ] || plugins=${plugins:-$folder}
done
lstopo=
for name in lstopo-no-graphics lstopo; do
    ! command -v "$name" >/dev/null 2>&1 || lstopo=${lstopo:-$name}
done
name="hwloc finds the devices, their memory and their places"
if [ -z "$plugins" ]; then
    skip "$name" "hwloc's plugins for CUDA are not here (./bootstrap --contrib fetches them)"
elif [ -z "$lstopo" ]; then
    skip "$name" "no lstopo (package hwloc-nox)"
else
    HWLOC_PLUGINS_PATH=$plugins STARPOOL_MODEL_DEVICES=3 STARPOOL_MODEL_MEMORY=256M \
        on_devices 11 "$lstopo" --whole-io --of xml >"$scratch/xml" 2>"$scratch/err"
    for device in 0 1 2; do
        echo "cuda$device 262144"
        echo "nvml$device"
    done | sort >"$scratch/expected"
    # [KiB] of memory stands behind the device's name.
    sed -n 's/.*type="OSDev".*name="\(cuda[0-9]*\|nvml[0-9]*\)".*/@\1/p
        s/.*name="CUDAGlobalMemorySize" value="\([0-9]*\)".*/ \1/p' "$scratch/xml" |
        tr -d '\n' | tr '@' '\n' | grep . | sort >"$scratch/found"
    echo >>"$scratch/found"
    sed -i '/^$/d' "$scratch/found"
    check "$name" "$(diff "$scratch/expected" "$scratch/found")$(cat "$scratch/err")"
    tell_missing hwloc
fi

# ---- PyCUDA -------------------------------------------------------------------------------------
# Its extension wants five functions of cuRAND before it loads, and calls none of them here.
make_curand()
{
    for function in curandGetDirectionVectors32 curandGetDirectionVectors64 \
        curandGetScrambleConstants32 curandGetScrambleConstants64 curandGetVersion; do
        echo "int $function(void); int $function(void) { return 102; }"
    done >"$scratch/curand.c"
    echo 'libcurand.so.10 { global: *; };' >"$scratch/curand.map"
    ${CC:-cc} -shared -fPIC -Wl,-soname,libcurand.so.10 -Wl,--version-script,"$scratch/curand.map" \
        -o "$scratch/libcurand.so.10" "$scratch/curand.c"
}

name="PyCUDA's copies, fills and pools give what NumPy gives"
pycuda=$contrib/usr/lib/python3/dist-packages
[ -d "$pycuda/pycuda" ] || pycuda=/usr/lib/python3/dist-packages
if [ ! -d "$pycuda/pycuda" ]; then
    skip "$name" "no PyCUDA (package python3-pycuda of the component contrib)"
elif ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    skip "$name" "no NumPy (package python3-numpy)"
elif ! make_curand 2>"$scratch/err"; then
    not_ok "$name" "$(cat "$scratch/err")"
else
    LD_LIBRARY_PATH=$scratch PYTHONPATH=$pycuda STARPOOL_MODEL_DEVICES=2 STARPOOL_MODEL_PROTECT=1 \
        on_devices 12 /usr/bin/python3 -B "$here/sim/pycuda_memory.py" >"$scratch/out" 2>&1
    rc=$?
    if [ "$rc" -eq 77 ]; then
        skip "$name" "$(head -n 1 "$scratch/out")"
    else
        n=$(grep -c '^checked starpool simulated' "$scratch/out")
        [ "$rc" -eq 0 ] && [ "$n" -eq 2 ] && : >"$scratch/out"
        check "$name" "$(cat "$scratch/out")"
    fi
    tell_missing PyCUDA
fi

done_testing

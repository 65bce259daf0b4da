#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `starpool simulate`: a program keeps what is its own, sees simulated devices of the CUDA that it
# was built for, and leaves what StarPU knows of this machine alone; what is wrong is refused.
set -u
. "${srcdir:-.}/tests/taplib.sh"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
. "${srcdir:-.}/tests/starpu/contrib.sh"

[ -x "$tool" ] || skip_all "the command is not built"

# expect NAME STATUS PATTERN ARGUMENT...: the exit status, and one line of stderr.
expect()
{
    name=$1 status=$2 pattern=$3
    shift 3
    timeout -k 5 60 "$tool" simulate "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    rc=$?
    if [ "$rc" -ne "$status" ]; then
        not_ok "$name" "exit status $rc, not $status" "$(cat "$scratch/err")"
    elif [ -n "$pattern" ] && ! grep -q -e "$pattern" "$scratch/err"; then
        not_ok "$name" "stderr does not say '$pattern':" "$(cat "$scratch/err")"
    else
        ok "$name"
    fi
}

# ---- what is wrong ------------------------------------------------------------------------------
expect "no program is a usage error" 2 "no program given"
expect "an unknown option is named" 2 frobnicate --frobnicate true
expect "more devices than there can be are refused" 2 "MODEL_DEVICES=17" --devices=17 true
expect "a number of devices with a unit is refused" 2 "MODEL_DEVICES=1K" --devices=1K true
expect "a number that is none is refused" 2 "MODEL_DEVICES=two" --devices=two true
expect "a device without memory is refused" 2 "MODEL_MEMORY=0" --memory=0 true
expect "a size that does not parse is refused" 2 "MODEL_MEMORY=12Q" --memory=12Q true
for list in some 0- 1,,2 0,a; do
    expect "a list of peers that is none is refused ($list)" 2 "MODEL_PEERS=$list" --peers=$list true
done
expect "a cost model that is none is refused" 2 "MODEL_COST=much" --cost=much true
expect "a CUDA that is not simulated is refused" 2 "cuda=10: CUDA 11, 12 and 13" --cuda=10 true
expect "a file with kernels that is not there is refused" 2 "'$scratch/none' cannot be read" \
    --kernels="$scratch/none" true
expect "a folder without StarPU is refused" 2 "no libstarpu below it" --starpu-prefix="$scratch" true
for option in devices memory peers cuda cost kernels missing starpu-prefix; do
    expect "an empty value is refused (--$option=)" 2 "--$option=" --$option= true
done
STARPOOL_MODEL_MEMORY=lots "$tool" simulate touch "$scratch/started" 2>"$scratch/err"
rc=$?
check "a bad value in the environment is refused before the program starts" \
    "$([ "$rc" -eq 2 ] && [ ! -e "$scratch/started" ] || echo "exit status $rc: $(cat "$scratch/err")")"

"$tool" simulate --help >"$scratch/help" 2>&1
why=
for option in devices memory peers cuda cost kernels missing no-protect races starpu-prefix plugin no-plugin; do
    grep -q -e "^  --${option}\([=[ ]\|$\)" "$scratch/help" || why="$why --$option is missing."
    tr -d '\134' <"${srcdir:-.}/src/man/starpool.1" | grep -q -e "^\(.B \|fB\)--$option\(fP\|$\)" ||
        why="$why --$option is not in starpool(1)."
done
check "--help and the manual list every option" "$why"

# The command apart from its libraries: they were built and are not installed.
name="without the simulated libraries nothing starts"
if cp "$build/.libs/starpool" "$scratch/alone" 2>/dev/null &&
    LD_LIBRARY_PATH=$build/.libs "$scratch/alone" --version >/dev/null 2>&1; then
    LD_LIBRARY_PATH=$build/.libs "$scratch/alone" simulate touch "$scratch/started" 2>"$scratch/err"
    rc=$?
    if [ "$rc" -eq 0 ]; then
        skip "$name" "they are installed"
    elif [ "$rc" -eq 77 ] && [ ! -e "$scratch/started" ] && grep -q "not installed in" "$scratch/err"; then
        ok "$name"
    else
        not_ok "$name" "exit status $rc" "$(cat "$scratch/err")"
    fi
else
    skip "$name" "the command cannot be moved"
fi

why=$(why_no_devices)
if [ -n "$why" ]; then
    skip "programs see simulated devices" "$why"
    done_testing
    exit
fi
expect "a missing program is 127" 127 "no such program" "$scratch/missing"
: >"$scratch/plain"
expect "a file that is not executable is 126" 126 "cannot be executed" "$scratch/plain"

# ---- what is the program's own ----------------------------------------------------------------
expect "the exit status is the program's" 7 "1 simulated device of 1 GiB, CUDA 13; no GPU is used" \
    sh -c 'exit 7'
expect "the line tells number and memory" 0 "2 simulated devices of 64 MiB each, CUDA 12; no GPU" \
    --devices=2 --memory=64M --cuda=12 true
check "and is one line" "$([ "$(wc -l <"$scratch/err")" -eq 1 ] || cat "$scratch/err")"
"$tool" simulate sh -c 'kill -TERM $$' 2>/dev/null
rc=$?
check "a signal ends the program itself" "$([ "$rc" -eq 143 ] || echo "exit status $rc, not 143")"
out=$("$tool" simulate -- sh -c 'printf "<%s>" "$@"' sh 'a b' '' '*' --devices 2>/dev/null)
check "arguments arrive as they are" "$([ "$out" = '<a b><><*><--devices>' ] || echo "$out")"

# A place for every variable: the one that is simulated, and the user's own are not StarPU's.
env_of()
{
    STARPU_HOME=$scratch/mine STARPU_HOSTNAME=mine STARPU_PERF_MODEL_DIR=$scratch/mine \
        STARPOOL_DRIVER=cuda LD_LIBRARY_PATH=$scratch/libs "$tool" simulate "$@" env 2>/dev/null \
        >"$scratch/env"
}
# has NAME LINE...: lines of the environment.
has()
{
    name=$1 why=
    shift
    for line; do
        grep -q -x -e "$line" "$scratch/env" || why="$why no line '$line';"
    done
    check "$name" "${why:+$why $(grep -e STARP -e LD_LIB "$scratch/env")}"
}
env_of --devices=3 --memory=64M --peers=0,2 --no-protect --races --cost=none --missing=list
has "options become variables" STARPOOL_DRIVER=model STARPOOL_MODEL_DEVICES=3 \
    STARPOOL_MODEL_MEMORY=64M STARPOOL_MODEL_PEERS=0,2 STARPOOL_MODEL_PROTECT=0 \
    STARPOOL_MODEL_RACES=1 STARPOOL_MODEL_COST=none STARPOOL_SIM_MISSING=list
has "StarPU gets a home, models and a host name of its own" \
    "STARPU_HOME=$XDG_CACHE_HOME/starpool/simulate" \
    "STARPU_PERF_MODEL_DIR=$XDG_CACHE_HOME/starpool/simulate/.starpu/sampling" \
    STARPU_HOSTNAME=starpool-sim-3x64M
env_of
has "protection and costs are on unless told" STARPOOL_MODEL_PROTECT=1 STARPOOL_MODEL_COST=starpu \
    STARPU_HOSTNAME=starpool-sim-1x1G
# Libtool puts its folder of the build in front of what the user has.
for version in 11 12 13; do
    env_of --cuda=$version
    has "--cuda=$version picks the folder, in front of what is there" \
        "LD_LIBRARY_PATH=[^:]*/sim/cuda-$version:\(.*:\)\?$scratch/libs"
done
(cd "$scratch" && HOME=$scratch/house XDG_CACHE_HOME=relative "$tool" simulate true) 2>"$scratch/err"
check "a cache folder that is relative is not used" \
    "$([ -d "$scratch/house/.cache/starpool/simulate" ] || cat "$scratch/err"
    [ ! -e "$scratch/relative" ] || echo "it is")"
(unset HOME && XDG_CACHE_HOME='' "$tool" simulate true) 2>"$scratch/err"
rc=$?
check "without a folder for it nothing starts" \
    "$([ $rc -eq 77 ] && grep -q 'neither XDG_CACHE_HOME nor HOME' "$scratch/err" ||
        echo "exit status $rc: $(cat "$scratch/err")")"

# ---- a plain C program ------------------------------------------------------------------------
cat >"$scratch/plain.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int cudaGetDeviceCount(int *n);
int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaMemcpy(void *to, const void *from, size_t size, int kind);
int cuDeviceGetName(char *name, int size, int device);

int main(int argc, char **argv)
{
    char text[6] = "hello", back[6] = "";
    char name[100];
    Dl_info where;
    void *memory;
    int n = 0;

    if (cudaGetDeviceCount(&n) != 0 || cuDeviceGetName(name, sizeof(name), 0) != 0)
        return 1;
    if (cudaMalloc(&memory, 1 << 20) != 0 || cudaMemcpy(memory, text, 6, 1) != 0 ||
        cudaMemcpy(back, memory, 6, 2) != 0 || strcmp(back, text) != 0)
        return 2;
    if (argc > 1)
        fprintf(stderr, "%c\n", *(volatile char *)memory);
    if (dladdr((void *)cudaMalloc, &where) == 0 || cudaFree(memory) != 0)
        return 3;
    printf("%d %s %s\n", n, name, where.dli_fname);
    return 0;
}
END
for version in 11 13; do
    library=libcudart.so.$version
    [ $version -ne 11 ] || library=libcudart.so.11.0
    name="a C program for CUDA $version runs on the libraries of its version"
    if [ ! -e "$build/sim/cuda-$version/$library" ]; then
        skip "$name" "the simulated CUDA libraries are not built"
        continue
    fi
    build_cuda "$scratch/plain-$version" "$scratch/plain.c" $version $library libcuda.so.1 \
        2>"$scratch/err" || {
        not_ok "$name" "$(cat "$scratch/err")"
        continue
    }
    timeout -k 5 60 "$tool" simulate --devices=3 "$scratch/plain-$version" >"$scratch/out" 2>"$scratch/err"
    rc=$?
    case $(cat "$scratch/out") in
    "3 starpool simulated "*/sim/cuda-$version/$library) ok "$name" ;;
    *) not_ok "$name" "exit status $rc: $(cat "$scratch/out" "$scratch/err")" ;;
    esac
done
if [ -x "$scratch/plain-13" ]; then
    (timeout -k 5 60 "$tool" simulate "$scratch/plain-13" look) >"$scratch/out" 2>"$scratch/err"
    rc=$?
    check "a look at device memory from the host ends the program, with a line" \
        "$([ $rc -gt 128 ] && grep -q 'device' "$scratch/err" ||
            echo "exit status $rc: $(cat "$scratch/err")")"
    expect "but not with --no-protect" 0 '^h$' --no-protect "$scratch/plain-13" look
fi

# A run path of the old kind comes before LD_LIBRARY_PATH: what it names may drive a real device.
mkdir "$scratch/own"
if echo 'int cudaFree(void *p) { return p != 0; }' >"$scratch/own.c" &&
    ${CC:-cc} -shared -fPIC -Wl,-soname,libcudart.so.13 -o "$scratch/own/libcudart.so.13" "$scratch/own.c" &&
    echo 'int cudaFree(void *); int main(void) { return cudaFree(0); }' >"$scratch/user.c" &&
    ${CC:-cc} -o "$scratch/user" "$scratch/user.c" "$scratch/own/libcudart.so.13" \
        -Wl,--disable-new-dtags -Wl,-rpath,"$scratch/own" 2>/dev/null; then
    expect "a program that brings a CUDA of its own is not run" 77 "by a run path of its own" \
        "$scratch/user"
else
    skip "a program that brings a CUDA of its own is not run" "no compiler"
fi
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    chmod 755 "$scratch"
    cp "$(command -v env)" "$scratch/suid"
    chmod 4755 "$scratch/suid"
    as_other="setpriv --reuid=65534 --regid=65534 --clear-groups"
    if $as_other "$tool" --version >/dev/null 2>&1; then
        $as_other "$tool" simulate "$scratch/suid" true 2>"$scratch/err"
        rc=$?
        check "nor is a set-user-id program" \
            "$([ $rc -eq 77 ] && grep -q 'ignores LD_LIBRARY_PATH' "$scratch/err" ||
                echo "exit status $rc: $(cat "$scratch/err")")"
    else
        skip "nor is a set-user-id program" "others cannot reach the build"
    fi
else
    skip "nor is a set-user-id program" "needs root, setpriv"
fi

# ---- StarPU -------------------------------------------------------------------------------------
why=$(why_no_contrib)
if [ -n "$why" ]; then
    skip "StarPU sees the devices" "$why"
    done_testing
    exit
fi

# The user's own: whatever StarPU would read or write without the command.
mkdir -p "$scratch/user_home/.starpu/sampling/bus"
echo kept >"$scratch/user_home/.starpu/sampling/bus/$(uname -n).config"
HOME=$scratch/user_home
export HOME
unset STARPU_HOME
state_of_home()
{
    (cd "$HOME" && find . -exec ls -ld --time-style=full-iso {} + && find . -type f -exec cksum {} +)
}
state_of_home >"$scratch/before"
for n in 2 4; do
    simulate 60 --devices=$n --memory=64M "$contrib/usr/bin/starpu_machine_display"
    rc=$?
    n_shown=$(grep -c '^[[:blank:]]*CUDA [0-9.]* (starpool simulated' "$scratch/out")
    if [ $rc -eq 0 ] && [ "$n_shown" -eq $n ]; then
        ok "StarPU shows $n simulated devices"
    else
        not_ok "StarPU shows $n simulated devices" "exit status $rc" "$(cat "$scratch/out" "$scratch/err")"
    fi
    check "and measures no bus of $n" "$(grep -i calibrat "$scratch/err")"
done
state_of_home >"$scratch/after"
check "the user's .starpu is untouched" "$(diff "$scratch/before" "$scratch/after")"

if ! build_contrib "$scratch/evict" evict.c 2>"$scratch/err"; then
    not_ok "evict.c is built" "$(cat "$scratch/err")"
    done_testing
    exit
fi
export STARPU_PREFETCH=0
for mode in sync async; do
    simulate 120 --devices=2 --memory=64M "$scratch/evict" $mode 24 6144 1
    rc=$?
    check "data beyond the devices' memory comes back right ($mode)" \
        "$([ $rc -eq 0 ] || echo "exit status $rc: $(cat "$scratch/err")")"
done
export STARPU_LIMIT_CUDA_MEM=1000000
simulate 120 --memory=64M "$scratch/evict" refusals 1000
rc=$?
check "refusals cost nothing of StarPU's budget" \
    "$([ $rc -eq 0 ] && grep -q ' lost 0$' "$scratch/out" ||
        echo "exit status $rc: $(cat "$scratch/out" "$scratch/err")")"

done_testing

# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# What the tests on real StarPU share: building the small programs of this folder and running them
# under the plugin. To be sourced after tests/taplib.sh; $scratch is a folder of the caller's.

source_dir=${srcdir:-.}
build=${builddir:-.}
plugin=$build/.libs/starpool_starpu.so
[ -e "$plugin" ] || skip_all "the plugin is not built"
case $plugin in /*) ;; *) plugin=$(pwd)/$plugin ;; esac
# Debian's packages may be asked for their flags by those who run a test by hand.
: "${CC:=cc}" "${STARPU_CFLAGS:=$(pkg-config --cflags starpu-1.3 | sed 's/-I/-isystem /g')}"
: "${STARPU_LIBS:=$(pkg-config --libs starpu-1.3)}"

# A preloaded plugin brings its sanitizer's run-time library along, which wants to be first. What
# StarPU itself leaks at its end is not ours.
runtime=
case ${SP_SANITIZER_NAME:-no} in
*address*) runtime=$($CC -print-file-name=libasan.so) ;;
*thread*) runtime=$($CC -print-file-name=libtsan.so) ;;
esac
preload=${runtime:+$runtime:}$plugin
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0:allocator_may_return_null=1
# With HWLOC_COMPONENTS (of tests/tap.sh, against a leak) hwloc does not look at HWLOC_SYNTHETIC.
[ "${SP_SANITIZER_NAME:-no}" = no ] || unset HWLOC_COMPONENTS
STARPU_SILENT=1 STARPU_NOPENCL=0
: "${STARPU_NCPU:=2}" "${STARPU_HOME:=$scratch}"
# StarPU's spinlocks are inlined into libstarpu, where the thread sanitizer does not see them: what
# libstarpu does to memory is left out.
TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}ignore_noninstrumented_modules=1
export ASAN_OPTIONS TSAN_OPTIONS STARPU_SILENT STARPU_NOPENCL STARPU_NCPU STARPU_HOME

# build OUTPUT SOURCE [FLAG...]: the flags come last.
build()
{
    output=$1 source=$2
    shift 2
    # shellcheck disable=SC2086
    $CC -std=gnu11 -g ${SP_SANITIZER-} -I"$source_dir/include" $STARPU_CFLAGS -o "$output" \
        "$source_dir/tests/starpu/$source" "$@" -ldl -lpthread
}

# A program that is linked with StarPU as its owner would link it.
build_program()
{
    # shellcheck disable=SC2086
    build "$scratch/$1" "$1.c" $STARPU_LIBS || {
        not_ok "$1.c is built"
        done_testing
        exit 1
    }
}

# under [NAME=VALUE...] PROGRAM [ARGUMENT...]: run with the plugin preloaded. Output in
# $scratch/out and $scratch/err.
under()
{
    timeout --kill-after=5 120 env LD_PRELOAD="$preload" "$@" >"$scratch/out" 2>"$scratch/err"
}

# bare ...: without the plugin.
bare()
{
    timeout --kill-after=5 120 env "$@" >"$scratch/out" 2>"$scratch/err"
}

# passed NAME STATUS: the last run ended with 0.
passed()
{
    if [ "$2" -eq 0 ]; then
        ok "$1"
    else
        not_ok "$1" "exit status $2" "$(cat "$scratch/err")"
    fi
}

# says NAME PATTERN N: so many lines of the last program's stderr are like that.
says()
{
    n=$(grep -c -e "$2" "$scratch/err")
    if [ "$n" -eq "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "$n lines with '$2', not $3:" "$(cat "$scratch/err")"
    fi
}

# holds NAME CONDITION...: a command that must succeed; the last run's stderr tells why not.
holds()
{
    name=$1
    shift
    if "$@"; then
        ok "$name"
    else
        not_ok "$name" "failed: $*" "$(cat "$scratch/err")"
    fi
}

# The number that stands first behind "KEY": in a report, 0 if there is none.
number()
{
    sed -n 's/.*"'"$1"'": *\([0-9][0-9]*\).*/\1/p' "$2" | head -n 1 | grep . || echo 0
}

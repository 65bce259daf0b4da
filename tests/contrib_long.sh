#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Debian's CUDA-enabled StarPU, unmodified, on simulated devices, at length: programs whose data does
# not fit are right in every run under three schedulers; refusals leave StarPU's budget exact; and
# the examples that it ships end under the plugin as they do without. What stock StarPU does is
# run beside it and shown, not judged. Takes many minutes; two programs run at a time.
#
# Usage: tests/contrib_long.sh [RUNS]
set -u
. "${srcdir:-.}/tests/taplib.sh"

limit=120 # [s] for one program
n_at_once=2

# Home of one run: runs at the same time must not write the same files.
run_alone()
{
    work=$(mktemp -d "$scratch/run.XXXXXX")
    mkdir "$work/folder"
    out=$work/out
    (cd "$work/folder" && XDG_CACHE_HOME=$work exec timeout --kill-after=5 $limit \
        "$tool" simulate --starpu-prefix="$contrib" "$@" </dev/null >"$out" 2>&1)
}

# Why a program failed, in one line.
last_words()
{
    grep -v -e '^starpool simulate:' -e '_starpu_bind_thread_on_cpu' -e 'initialize_lws_policy' "$1" | tail -n 2 | tr '\n' ' ' | cut -c 1-200
}

# ---- a run of evict, or one example, by name of a child of this script -------------------------
if [ $# -ge 2 ] && [ "$1" = --evict ]; then
    # shellcheck disable=SC2086
    set -- $2
    if STARPU_SCHED=$3 STARPU_PREFETCH=0 run_alone "--$1" --devices="$2" --memory=64M \
        "$scratch/evict" "$4"; then
        echo "right $1 $2 $3"
    else
        echo "wrong $1 $2 $3: status $?, $(last_words "$out")"
    fi
    rm -rf "${work:?}"
    exit 0
fi
if [ $# -eq 2 ] && [ "$1" = --example ]; then
    for plugin in no-plugin plugin; do
        STARPU_NCPU=1 run_alone --$plugin --devices=2 --memory=1G ${kernels:+--kernels="$kernels"} "$2"
        rc=$?
        # Once more: some fail by chance, with or without the plugin.
        case $rc in
        0 | 77) ;;
        *)
            STARPU_NCPU=1 run_alone --$plugin --devices=2 --memory=1G \
                ${kernels:+--kernels="$kernels"} "$2"
            rc=$?
            ;;
        esac
        case $rc in
        0) echo "passed $plugin $2" ;;
        77) echo "skipped $plugin $2: $(last_words "$out")" ;;
        *) echo "failed $plugin $2: status $rc, $(last_words "$out")" ;;
        esac
        rm -rf "${work:?}"
    done
    exit 0
fi

# ---- all of it -----------------------------------------------------------------------------------
n_runs=${1:-20}
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
. "${srcdir:-.}/tests/starpu/contrib.sh"
why=$(why_no_devices)$(why_no_contrib)
[ -z "$why" ] || skip_all "$why"
case $tool in /*) ;; *) tool=$(pwd)/$tool ;; esac
case $contrib in /*) ;; *) contrib=$(pwd)/$contrib ;; esac
kernels=$build/sim/kernels-starpu.so
[ -e "$kernels" ] || kernels=
unset STARPU_HOME
export scratch tool contrib kernels

for n in 2 4; do
    simulate $limit --devices=$n --memory=64M "$contrib/usr/bin/starpu_machine_display"
    rc=$?
    n_shown=$(grep -c '^[[:blank:]]*CUDA [0-9.]* (starpool simulated' "$scratch/out")
    check "StarPU shows $n simulated devices" \
        "$([ $rc -eq 0 ] && [ "$n_shown" -eq $n ] ||
            echo "exit status $rc: $(cat "$scratch/out" "$scratch/err")")"
done

build_contrib "$scratch/evict" evict.c || {
    not_ok "evict.c is built"
    done_testing
    exit 1
}
for plugin in plugin no-plugin; do
    for n in 2 4; do
        for scheduler in lws dmdas eager; do
            i=0
            while [ $i -lt "$n_runs" ]; do
                # Half of the runs wait in their codelets, half leave the waiting to StarPU.
                mode=sync
                [ $((i % 2)) -eq 0 ] || mode=async
                printf '%s\0' "$plugin $n $scheduler $mode"
                i=$((i + 1))
            done
        done
    done
done | xargs -0 -n 1 -P $n_at_once sh "$0" --evict >"$scratch/runs"
for n in 2 4; do
    for scheduler in lws dmdas eager; do
        n_right=$(grep -c "^right plugin $n $scheduler" "$scratch/runs")
        n_control=$(grep -c "^right no-plugin $n $scheduler" "$scratch/runs")
        echo "# $n devices, $scheduler: $n_right of $n_runs runs right; without the plugin $n_control"
        check "data beyond the memory of $n devices is right in every run under $scheduler" \
            "$(sed -n "s/^wrong plugin $n $scheduler/&/p" "$scratch/runs" | head -n 5)"
    done
done
grep '^wrong no-plugin' "$scratch/runs" | sort | uniq -c | sed 's/^/# control: /'

# More than the device has is refused by the device; StarPU itself never gives such bytes back.
for plugin in plugin no-plugin; do
    STARPU_LIMIT_CUDA_MEM=2000000 simulate $limit --$plugin --memory=64M "$scratch/evict" refusals 10000
    rc=$?
    echo "# --$plugin: $(cat "$scratch/out")"
    [ $plugin = plugin ] || continue
    check "StarPU's budget is exact after 10,000 refusals" \
        "$([ $rc -eq 0 ] && grep -q ' lost 0$' "$scratch/out" ||
            echo "exit status $rc: $(cat "$scratch/out" "$scratch/err")")"
done

# ---- the shipped examples ------------------------------------------------------------------------
for name in lu_example_float lu_example_double lu_implicit_example_float lu_implicit_example_double; do
    for plugin in plugin no-plugin; do
        STARPU_NCPU=1 simulate $((limit * 2)) --$plugin --devices=2 \
            "$(echo "$contrib"/usr/lib/*/starpu/examples)/$name" -size 640 -nblocks 8 -check
        rc=$?
        echo "# $name --$plugin: status $rc, $(last_words "$scratch/out")"
        [ $plugin = plugin ] || continue
        check "$name -check is correct" "$([ $rc -eq 0 ] || cat "$scratch/out" "$scratch/err")"
    done
done
for name in sgemm dgemm; do
    for plugin in plugin no-plugin; do
        STARPU_NCPU=1 simulate $((limit * 2)) --$plugin --devices=2 \
            "$(echo "$contrib"/usr/lib/*/starpu/examples)/$name" -xy 640 -z 640 -nblocks 4 -check
        rc=$?
        echo "# $name --$plugin: status $rc, $(last_words "$scratch/err")"
        [ $plugin = plugin ] || continue
        check "$name -check is correct" "$([ $rc -eq 0 ] || cat "$scratch/out" "$scratch/err")"
    done
done

for file in "$contrib"/usr/lib/*/starpu/examples/* "$contrib"/usr/lib/*/starpu/examples/s*/*; do
    [ -f "$file" ] && [ -x "$file" ] && [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] && echo "$file"
done | xargs -n 1 -P $n_at_once sh "$0" --example >"$scratch/examples"
for plugin in plugin no-plugin; do
    echo "# examples with --$plugin: $(grep -c "^passed $plugin " "$scratch/examples") passed," \
        "$(grep -c "^failed $plugin " "$scratch/examples") failed," \
        "$(grep -c "^skipped $plugin " "$scratch/examples") skipped"
done
grep -v '^passed' "$scratch/examples" | sort | sed 's/^/# /'
sed -n 's/^passed no-plugin //p' "$scratch/examples" | sort >"$scratch/passed"
check "no example that passes on stock StarPU fails under the plugin" \
    "$(sed -n 's/^failed plugin \([^:]*\):.*/\1/p' "$scratch/examples" | sort | comm -12 - "$scratch/passed")"
n_passed=$(grep -c '^passed plugin ' "$scratch/examples")
check "at least 60 examples pass under the plugin" "$([ "$n_passed" -ge 60 ] || echo "$n_passed do")"
done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every program of Debian's starpu-examples that ends well on stock StarPU within a minute ends well
# under the plugin, preloaded, and with two (synthetic) NUMA nodes too. Names every difference, and
# every program that the plugin did not serve although stock StarPU calls its allocator. Takes
# several minutes; two programs run at a time.
#
# Usage: tests/starpu_examples.sh [PROGRAM...]
set -u
. "${srcdir:-.}/tests/taplib.sh"

limit=60       # [s] on stock StarPU
wanted=90      # programs that must qualify, when none are named
n_at_once=2

# ---- one program, by name of a child of this script ----------------------------------------------
# run MODE SECONDS NAME=VALUE...: the program in a folder of its own; output in $work/MODE.out.
run()
{
    mode=$1 seconds=$2
    shift 2
    mkdir -p "$work/$mode"
    (cd "$work/$mode" && exec timeout --kill-after=5 "$seconds" \
        env "$@" "$program" </dev/null >"$work/$mode.out" 2>&1)
}

# Homes are copied for each program: runs at the same time must not write the same files.
home()
{
    cp -r "$scratch/home-$1" "$work/home-$1" && echo "STARPU_HOME=$work/home-$1"
}

two_nodes="HWLOC_SYNTHETIC=numa:2 core:1 pu:1"

stock()
{
    run stock $limit LD_PRELOAD="$scratch/count_shim.so" COUNT_SHIM_FILE="$work/count" "$(home one)"
}

with_plugin()
{
    rm -f "$work"/report-*
    run "$1" $((limit * 3)) LD_PRELOAD="$plugin" STARPOOL_REPORT="$work/report-%p.json" "$(home one)"
}

with_nodes()
{
    run "$1" $((limit * 3)) "$two_nodes" STARPU_USE_NUMA=1 "STARPU_WORKERS_CPUID=0 1" "$(home two)" "$2"
}

# Requests by both doors, over the reports of all processes.
n_served()
{
    cat "$work"/report-*.json /dev/null 2>/dev/null | awk '
        /"requests": \{/ { inside = 1 }
        inside && /"(interposer|hook)"/ { gsub(/[^0-9]/, ""); n += $0 }
        /\}/ { inside = 0 }
        END { print n + 0 }'
}

# Prints a line for the parent: a word, and what there is to say.
one()
{
    work=$scratch/runs/$(basename "$program")
    mkdir -p "$work"
    if ! stock; then
        echo "unfit $program"
        return
    fi
    # A program that fails by chance gets one more chance, on either side.
    with_plugin plain || with_plugin plain_again || {
        if stock; then
            echo "differs $program: under the plugin: $(tail -n 3 "$work/plain_again.out" | tr '\n' ' ')"
        else
            echo "unfit $program"
        fi
        return
    }
    if [ -s "$work/count" ] && [ "$(n_served)" -eq 0 ]; then
        echo "unserved $program: $(paste -s -d + "$work/count") requests on stock StarPU"
        return
    fi
    served=$(n_served)
    with_nodes two "LD_PRELOAD=$plugin" || with_nodes two_again "LD_PRELOAD=$plugin" || {
        if with_nodes two_stock NONE=; then
            echo "differs $program: on two nodes: $(tail -n 3 "$work/two_again.out" | tr '\n' ' ')"
        else
            echo "onlyone $program $served"
        fi
        return
    }
    echo "same $program $served"
}

if [ $# -eq 2 ] && [ "$1" = --one ]; then
    program=$2
    one
    rm -rf "${work:?}"
    exit 0
fi

# ---- all of them ------------------------------------------------------------------------------------
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
. "${srcdir:-.}/tests/starpu/lib.sh"
case ${SP_SANITIZER_NAME:-no} in
no) ;;
*) skip_all "the programs know nothing of the sanitizer" ;;
esac
unset STARPU_HOME
export scratch plugin

if [ $# -gt 0 ]; then
    wanted=$#
    printf '%s\n' "$@" >"$scratch/programs"
else
    command -v dpkg >/dev/null || skip_all "the list of programs comes from dpkg"
    dpkg -L starpu-examples 2>/dev/null | grep '/starpu/' | while read -r file; do
        [ -f "$file" ] && [ -x "$file" ] && [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] && echo "$file"
    done >"$scratch/programs"
    [ -s "$scratch/programs" ] || skip_all "starpu-examples is not installed"
fi
build "$scratch/count_shim.so" count_shim.c -shared -fPIC || exit 99
build_program doors

# StarPU measures the machine once, so that no program's minute goes into it.
mkdir "$scratch/home-one" "$scratch/home-two" "$scratch/runs"
STARPU_HOME=$scratch/home-one "$scratch/doors" plain
env "$two_nodes" STARPU_USE_NUMA=1 "STARPU_WORKERS_CPUID=0 1" STARPU_HOME="$scratch/home-two" \
    "$scratch/doors" plain

xargs -n 1 -P $n_at_once sh "$0" --one <"$scratch/programs" >"$scratch/results"

count()
{
    grep -c "^$1 " "$scratch/results"
}

n_fit=$(grep -c -v '^unfit ' "$scratch/results")
echo "# $(wc -l <"$scratch/programs") programs, $n_fit end well on stock StarPU within $limit s"
echo "# $(count same) of them under the plugin as well, on one node and on two"
echo "# $(count onlyone) on one node only, as on stock StarPU"
echo "# $(awk '$1 == "same" || $1 == "onlyone" { n += ($3 > 0) } END { print n + 0 }' \
    "$scratch/results") of them were served, by $(awk '$1 == "same" || $1 == "onlyone" { n += $3 }
    END { print n + 0 }' "$scratch/results") requests"
sed -n 's/^unfit /# not fit: /p; s/^onlyone \([^ ]*\).*/# not on two nodes, with or without the plugin: \1/p' \
    "$scratch/results" | sort

check "no program ends otherwise under the plugin" "$(sed -n 's/^differs //p' "$scratch/results")"
check "no program that calls StarPU's allocator was left unserved" \
    "$(sed -n 's/^unserved //p' "$scratch/results")"
if [ "$n_fit" -ge "$wanted" ]; then
    ok "at least $wanted programs qualify"
else
    not_ok "at least $wanted programs qualify" "$n_fit do"
fi
done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `starpool info` shows nodes, StarPU and options, as text and as JSON.
set -u
. "${srcdir:-.}/tests/taplib.sh"

tool=${builddir:-.}/starpool
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

[ -x "$tool" ] || skip_all "the command is not built"

# contains NAME FILE PATTERN
contains()
{
    if grep -q -e "$3" "$2"; then
        ok "$1"
    else
        not_ok "$1" "no line matches '$3':" "$(cat "$2")"
    fi
}

"$tool" info --no-starpu >"$scratch/text" 2>"$scratch/err"
rc=$?
if [ "$rc" -eq 77 ]; then
    skip_all "hwloc finds no NUMA nodes"
fi
check "info without StarPU ends well" "$([ "$rc" -eq 0 ] || echo "exit status $rc")"
contains "the NUMA nodes are shown" "$scratch/text" '^  *[0-9][0-9]*  *DRAM  *yes'
contains "an option at its default says so" "$scratch/text" 'STARPOOL_HOST_LIMIT .*(default)'

why=
for name in $(sed -n 's/^X(\([A-Z_]*\),.*/\1/p' "${srcdir:-.}/src/util/options.def"); do
    grep -q "STARPOOL_$name " "$scratch/text" || why="$why $name is missing."
done
check "every option is shown" "$why"

STARPOOL_HOST_LIMIT=3G STARPOOL_HUGE=enormous "$tool" info --no-starpu \
    >"$scratch/text" 2>"$scratch/err"
contains "an option from the environment says so" "$scratch/text" \
    'STARPOOL_HOST_LIMIT .*3G .*(environment)'
contains "a value that was rejected says so" "$scratch/text" 'STARPOOL_HUGE .*(rejected)'
contains "a value that was rejected is named on stderr" "$scratch/err" 'STARPOOL_HUGE=enormous'

HWLOC_SYNTHETIC='numa:3 core:1 pu:1' "$tool" info --no-starpu >"$scratch/text" 2>&1
contains "a described machine says that it is not this one" "$scratch/text" "not this machine's"
n=$(grep -c '^  *[0-9][0-9]*  *DRAM' "$scratch/text")
check "a described machine's nodes are shown" "$([ "$n" -eq 3 ] || echo "$n nodes, not 3")"
contains "distances are shown where there is more than one node" "$scratch/text" '^Distances'

"$tool" info frobnicate 2>"$scratch/err"
rc=$?
check "an argument too many is a usage error" "$([ "$rc" -eq 2 ] || echo "exit status $rc")"
"$tool" info --frobnicate 2>"$scratch/err"
rc=$?
check "an unknown option is a usage error" "$([ "$rc" -eq 2 ] || echo "exit status $rc")"

if [ -w /dev/full ]; then
    "$tool" info --no-starpu >/dev/full 2>"$scratch/err"
    rc=$?
    check "a full disk is told" "$([ "$rc" -eq 1 ] || echo "exit status $rc")"
else
    skip "a full disk is told" "no /dev/full"
fi

# ---- JSON -------------------------------------------------------------------------------------
# Parsed where a parser is installed; else brackets and quotes are counted.
is_json()
{
    if command -v jq >/dev/null 2>&1; then
        jq -e type "$1" >/dev/null 2>&1
    elif command -v python3 >/dev/null 2>&1; then
        python3 -m json.tool "$1" >/dev/null 2>&1
    else
        tr -d '\n' <"$1" | awk '{
            gsub(/\\./, ""); n = gsub(/"[^"]*"/, "")
            o = gsub(/[{[]/, ""); c = gsub(/[]}]/, "")
            exit !(n > 0 && o > 0 && o == c && index($0, "\"") == 0) }'
    fi
}

"$tool" info --json --no-starpu >"$scratch/json" 2>"$scratch/err"
if is_json "$scratch/json"; then
    ok "JSON parses"
else
    not_ok "JSON parses" "$(cat "$scratch/json")"
fi
contains "JSON names the nodes" "$scratch/json" '"numa_nodes"'
contains "JSON names the options' origins" "$scratch/json" '"origin"'

STARPOOL_REPORT='a"b\c' "$tool" info --json --no-starpu >"$scratch/json" 2>"$scratch/err"
if is_json "$scratch/json"; then
    ok "JSON with odd characters parses"
else
    not_ok "JSON with odd characters parses" "$(cat "$scratch/json")"
fi

# ---- StarPU -----------------------------------------------------------------------------------
if [ ! -e "${builddir:-.}/.libs/starpool_starpu.so" ]; then
    "$tool" info >"$scratch/text" 2>&1
    contains "without a plugin, info says so" "$scratch/text" 'not available: .*without StarPU'
    done_testing
    exit
fi
if [ "${SP_SANITIZER_NAME:-no}" != no ]; then
    skip "StarPU's nodes are shown with what serves them" \
        "the probe is no program of this sanitizer"
    done_testing
    exit
fi

"$tool" info >"$scratch/text" 2>"$scratch/err"
rc=$?
check "info with StarPU ends well" \
    "$([ "$rc" -eq 0 ] || echo "exit status $rc: $(cat "$scratch/text")")"
contains "StarPU's first node is shown" "$scratch/text" '^  node 0, RAM'
contains "task data is served by a pool" "$scratch/text" 'task data: pool'
contains "starpu_malloc() is served by a pool" "$scratch/text" 'starpu_malloc(): pool'
contains "the ways in are named" "$scratch/text" 'starpool_starpu_attach()'

"$tool" info --json >"$scratch/json" 2>"$scratch/err"
if is_json "$scratch/json" && grep -q '"is_served": *true' "$scratch/json"; then
    ok "JSON says that StarPU is served"
else
    not_ok "JSON says that StarPU is served" "$(cat "$scratch/json")"
fi

mkdir "$scratch/tmp" "$scratch/home"
TMPDIR=$scratch/tmp STARPU_HOME=$scratch/home "$tool" info >/dev/null 2>&1
left=$(find "$scratch/tmp" "$scratch/home" -mindepth 1)
check "asking StarPU leaves nothing behind" "$left"

STARPU_NCPU=0 "$tool" info >"$scratch/text" 2>&1
rc=$?
if [ "$rc" -eq 1 ] && grep -q 'not available: ' "$scratch/text"; then
    ok "a StarPU that cannot start is status 1, with the reason"
else
    not_ok "a StarPU that cannot start is status 1, with the reason" "exit status $rc" \
        "$(cat "$scratch/text")"
fi

done_testing

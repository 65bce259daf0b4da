#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `starpool info` shows nodes, StarPU and options, as text and as JSON.
set -u
. "${srcdir:-.}/tests/taplib.sh"

tool=${builddir:-.}/starpool
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

[ -x "$tool" ] || skip_all "the command is not built"

# tests/tap.sh sets it for programs that start StarPU under a sanitizer, which does not happen
# here; where it is set, hwloc ignores HWLOC_SYNTHETIC.
[ "${SP_SANITIZER_NAME:-no}" = no ] || unset HWLOC_COMPONENTS

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

# A filter as containers have it.
cat >"$scratch/deny.c" <<'EOF'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    execv(argv[1], argv + 1);
    return 77;
}
EOF
if ${CC:-cc} -o "$scratch/deny" "$scratch/deny.c" 2>/dev/null &&
    "$scratch/deny" /bin/sh -c true; then
    "$scratch/deny" "$tool" info --no-starpu >"$scratch/text" 2>&1
    contains "binding that the system refuses is told" "$scratch/text" 'refuses to bind'
    "$scratch/deny" "$tool" info --no-starpu --json >"$scratch/text" 2>&1
    contains "JSON tells it too" "$scratch/text" '"is_binding_refused": true'
    HWLOC_SYNTHETIC='numa:2 core:1 pu:1' "$scratch/deny" "$tool" info --no-starpu \
        >"$scratch/text" 2>&1
    check "a described machine is not tried" "$(grep 'refuses to bind' "$scratch/text")"
else
    skip "binding that the system refuses is told" "no compiler or no seccomp"
fi

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

# More than JSON allows: a quote, a backslash, and a byte that is no UTF-8.
STARPOOL_REPORT=$(printf 'a"b\\c\351') "$tool" info --json --no-starpu >"$scratch/json" 2>"$scratch/err"
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

if cp "${builddir:-.}/.libs/starpool" "$scratch/alone" 2>/dev/null &&
    LD_LIBRARY_PATH=${builddir:-.}/.libs "$scratch/alone" --version >/dev/null 2>&1; then
    LD_LIBRARY_PATH=${builddir:-.}/.libs "$scratch/alone" info >"$scratch/text" 2>&1
    rc=$?
    if [ "$rc" -eq 77 ] && grep -q 'not available: .*not installed in' "$scratch/text"; then
        ok "a plugin that is not installed is status 77, with the folder"
    elif [ "$rc" -eq 0 ]; then
        skip "a plugin that is not installed is status 77, with the folder" "one is installed"
    else
        not_ok "a plugin that is not installed is status 77, with the folder" \
            "exit status $rc" "$(cat "$scratch/text")"
    fi
else
    skip "a plugin that is not installed is status 77, with the folder" \
        "the command cannot be moved"
fi

"$tool" info >"$scratch/text" 2>"$scratch/err"
rc=$?
check "info with StarPU ends well" \
    "$([ "$rc" -eq 0 ] || echo "exit status $rc: $(cat "$scratch/text")")"
contains "StarPU's first node is shown" "$scratch/text" '^  node 0, RAM'
contains "task data is served by a pool" "$scratch/text" 'task data: pool'
contains "starpu_malloc() is served by a pool" "$scratch/text" 'starpu_malloc(): pool'
contains "the ways in are named" "$scratch/text" 'starpool_starpu_attach()'
contains "dlopen() is told with its order" "$scratch/text" 'after libstarpu is loaded'

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

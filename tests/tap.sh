#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs one test and makes its output what automake's TAP driver counts rightly. Each test gets a
# scratch folder, a StarPU of its own and a time limit. tests/test_harness.sh proves the counts.
#
# Usage: tests/tap.sh PROGRAM [ARGUMENT...]
set -u

# A StarPU program that waits for a task that cannot run waits for ever.
limit=${STARPOOL_TEST_TIMEOUT:-300}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/starpool-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM
mkdir "$scratch/starpu" "$scratch/tmp" || exit 99
# A test may start a program as another user, who must get through.
chmod 711 "$scratch" || exit 99

# The user's options of starpool must not reach the tests; what the tests themselves read may.
for name in $(env | sed -n 's/^\(STARPOOL_[A-Z0-9_]*\)=.*/\1/p'); do
    case $name in
    STARPOOL_TEST_*) ;;
    *) unset "$name" ;;
    esac
done

# StarPU keeps its measurements of the machine in its home: no test may see another's.
# STARPU_NOPENCL is the number of OpenCL devices to use.
STARPU_HOME=$scratch/starpu STARPU_SILENT=1 STARPU_NOPENCL=0
TMPDIR=$scratch/tmp
CMOCKA_MESSAGE_OUTPUT=TAP
export STARPU_HOME STARPU_SILENT STARPU_NOPENCL TMPDIR CMOCKA_MESSAGE_OUTPUT

here=$(cd "$(dirname "$0")" && pwd) || exit 99
UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
TSAN_OPTIONS=${TSAN_OPTIONS:-second_deadlock_stack=1}
[ ! -f "$here/tsan.supp" ] || TSAN_OPTIONS="$TSAN_OPTIONS suppressions=$here/tsan.supp"
LSAN_OPTIONS=${LSAN_OPTIONS:-print_suppressions=0}
[ ! -f "$here/lsan.supp" ] || LSAN_OPTIONS="$LSAN_OPTIONS suppressions=$here/lsan.supp"
export UBSAN_OPTIONS TSAN_OPTIONS LSAN_OPTIONS

# hwloc 2.9's PCI plugin leaks a little in every program that starts StarPU, and has been unloaded
# when leaks are reported, so that no suppression can name it.
case ${SP_SANITIZER_NAME:-} in
*address*) export HWLOC_COMPONENTS="${HWLOC_COMPONENTS:--pci}" ;;
esac

timeout --kill-after=10 "$limit" "$@" >"$scratch/out"
rc=$?

# cmocka 1.1.5 prints a skipped case as "not ok N # SKIP", which is not TAP. awk also ends a last
# line that has no end.
awk '/^not ok [0-9]+ # SKIP/ { sub(/^not /, "") } { print }' "$scratch/out" >"$scratch/tap"
cat "$scratch/tap"
n_results=$(grep -c -E '^(not )?ok( |$)' "$scratch/tap")
n_failed=$(grep -c -E '^not ok( |$)' "$scratch/tap")

case $rc in
124 | 137)
    echo "# no end after $limit s (STARPOOL_TEST_TIMEOUT)"
    ;;
77)
    # The whole program does not apply here. With results before it, 77 is a failure like any.
    if [ "$n_results" -eq 0 ]; then
        grep -q '^1\.\.0' "$scratch/tap" || {
            reason=$(sed -n 's/^# *//p' "$scratch/tap" | head -n 1)
            echo "1..0 # SKIP ${reason:-not available here}"
        }
        rc=0
    fi
    ;;
esac

# The failed cases are counted one by one. The status that only says the same, 1 or cmocka's
# number of failures, must not be counted again; any other (a leak, a data race) must.
if [ "$n_failed" -gt 0 ] && { [ "$rc" -eq 1 ] || [ "$rc" -eq "$n_failed" ]; }; then
    rc=0
fi
exit "$rc"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Proves that each way a test can end is counted for what it is, by automake's driver behind
# tests/tap.sh, and that the closing line fails on what must fail.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
driver=$(cd "$here/.." && pwd)/build-aux/tap-driver.sh
[ -f "$driver" ] || skip_all "there is no $driver"

# run NAME COMMAND...: one test under the driver; leaves NAME.log and NAME.trs.
run()
{
    name=$1
    shift
    mkdir -p "$work/build/tests"
    (cd "$work/build" && AM_TAP_AWK=${AWK:-awk} sh "$driver" --test-name "tests/$name" \
        --log-file "tests/$name.log" --trs-file "tests/$name.trs" \
        --color-tests no --enable-hard-errors yes --expect-failure no \
        -- sh "$here/tap.sh" "$@" >/dev/null 2>&1) || :
}

# expect NAME "PASS FAIL SKIP ERROR" counts.
expect()
{
    counts=$(awk '$1 == ":test-result:" { n[$2]++ }
        END { printf "%d %d %d %d", n["PASS"], n["FAIL"], n["SKIP"], n["ERROR"] }' \
        "$work/build/tests/$1.trs")
    if [ "$counts" = "$2" ]; then
        ok "$1: PASS FAIL SKIP ERROR are $2"
    else
        not_ok "$1: PASS FAIL SKIP ERROR are $2" "they are $counts" "$(cat "$work/build/tests/$1.log")"
    fi
}

# ---- programs with cmocka: the case in question stands between two that pass ----------------
cases=${builddir:-.}/tests/harness_cases
if [ -x "$cases" ]; then
    run passes "$cases" passes
    expect passes "3 0 0 0"
    run fails "$cases" fails
    expect fails "2 1 0 0"
    run skips "$cases" skips
    expect skips "2 0 1 0"
    run not_here "$cases" not_here
    expect not_here "0 0 1 0"
    run aborts "$cases" aborts
    check "a crash is an error" "$(grep -q ERROR "$work/build/tests/aborts.trs" || echo "it is not")"
    run exits_early "$cases" exits_early
    check "an early exit is an error" \
        "$(grep -q ERROR "$work/build/tests/exits_early.trs" || echo "it is not")"
    (
        STARPOOL_TEST_TIMEOUT=1
        export STARPOOL_TEST_TIMEOUT
        run never_ends "$cases" never_ends
    )
    check "a test without end is an error" \
        "$(grep -q 'ERROR' "$work/build/tests/never_ends.trs" || echo "it is not")"
else
    skip "programs with cmocka" "there is no $cases"
fi

# ---- any program --------------------------------------------------------------------------------
run silent true
expect silent "0 0 0 1"
run script_fails sh -c 'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2; exit 1'
expect script_fails "1 1 0 0"
run leaks sh -c 'echo "ok 1 - a"; echo 1..1; exit 23'
expect leaks "1 0 0 1"
run half_skipped sh -c 'echo 1..2; echo "ok 1 - a"; exit 77'
check "77 after a result is an error" \
    "$(grep -q ERROR "$work/build/tests/half_skipped.trs" || echo "it is not")"
run reason sh -c 'echo "# no second node"; exit 77'
check "a skip of the whole program keeps its reason" \
    "$(grep -q 'SKIP.*no second node' "$work/build/tests/reason.log" || cat "$work/build/tests/reason.log")"

# The user's options of starpool must not decide what a test sees; one home a test.
# The shell that runs under the driver expands it.
# shellcheck disable=SC2016
STARPOOL_LOG=9 STARPU_HOME=/nowhere run environment sh -c \
    'echo 1..1; [ -z "${STARPOOL_LOG-}" ] && [ -d "$STARPU_HOME" ] && echo "ok 1 - a" || echo "not ok 1 - a"'
expect environment "1 0 0 0"

# ---- the closing line ---------------------------------------------------------------------------
# closing WHAT EXPECTED-STATUS EXPECTED-LINE ARGUMENT...
closing()
{
    what=$1 status=$2 line=$3
    shift 3
    rc=0
    output=$(sh "$here/closing_line.sh" -s "$work/skips.txt" "$@" 2>&1) || rc=$?
    last=$(printf '%s\n' "$output" | tail -n 1)
    if [ "$rc" -eq "$status" ] && [ "$last" = "$line" ]; then
        ok "closing line: $what"
    else
        not_ok "closing line: $what" "status $rc, wanted $status; wanted: $line" "$output"
    fi
}

build()
{
    mkdir -p "$work/$1/tests"
    cp "$work/build/tests/$2.log" "$work/build/tests/$2.trs" "$work/$1/tests/"
}

run one_pass sh -c 'echo "ok 1 - a"; echo 1..1'
run one_skip sh -c 'echo "ok 1 - a case # SKIP no device"; echo 1..1'
build good one_pass
build bad one_pass
build bad script_fails
build skipping one_pass
build skipping one_skip
echo '*  tests/other*  it is another test' >"$work/skips.txt"

closing "passes are summed over builds" 0 "2 passed, 0 failed, 0 skipped" \
    "$work/good" "$work/good"
closing "a failure fails" 1 "2 passed, 1 failed, 0 skipped" "$work/bad"
closing "a stage that did not run fails" 1 "1 passed, 1 failed, 0 skipped" -f 1 "$work/good"
closing "a build without results fails" 1 "1 passed, 1 failed, 0 skipped" "$work/good" "$work/none"
closing "a skip that is not listed fails" 1 "1 passed, 1 failed, 0 skipped" "$work/skipping"
echo 'skipping  tests/one_skip:a_*  there is no device' >>"$work/skips.txt"
closing "a skip that is listed is counted" 0 "1 passed, 0 failed, 1 skipped" "$work/skipping"
rm "$work/skipping/tests/one_pass.log" "$work/skipping/tests/one_pass.trs"
closing "nothing but skips fails" 1 "0 passed, 0 failed, 1 skipped" "$work/skipping"

done_testing

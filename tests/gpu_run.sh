#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs what lies beside it on this machine's driver, and writes one report: the conformance suite,
# the tests that put pools and captures under stress, the benchmark of devices. What of the driver
# the documents leave open is observed, and becomes one setting of the CPU model. Usage: run.sh REPORT
#
# STARPOOL_TEST_LIMIT: seconds that all of it may take, 600 unless set.
# STARPOOL_TEST_LIBCUDA: a file that is tried in the driver's place.
set -u
[ $# -eq 1 ] || { echo "usage: $0 REPORT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
start=$(date +%s)
limit=${STARPOOL_TEST_LIMIT:-600}

# timed SECONDS COMMAND...: at most so long, and never beyond the end. 124 if there is no time.
timed()
{
    seconds=$1
    left=$((start + limit - $(date +%s)))
    shift
    [ "$left" -ge "$seconds" ] || seconds=$left
    [ "$seconds" -gt 0 ] || return 124
    if command -v timeout >/dev/null; then
        timeout -k 5 "$seconds" "$@"
    else
        "$@"
    fi
}

# The program by this machine's C library if that is new enough, else by the one that came along.
program=$work/program
start_by()
{
    printf '#!/bin/sh\n%s "$@"\n' "$1" >"$program" && chmod +x "$program" &&
        "$program" --list >"$work/cases" 2>"$work/error"
}
start_by "LD_LIBRARY_PATH='$here/lib' exec '$here/conformance_cuda'" ||
    start_by "exec $(echo "$here"/libc/ld-*) --library-path '$here/libc:$here/lib' '$here/conformance_cuda'" ||
    {
        {
            echo "result: the suite does not start here"
            cat "$work/error"
        } >"$1"
        exit 2
    }

CMOCKA_MESSAGE_OUTPUT=TAP STARPOOL_TEST_PROGRAM=$program STARPOOL_TEST_SLOW=1
STARPOOL_TEST_OBSERVED=$work/observed STARPOOL_TEST_DRIVER=cuda
# Our own library under the driver's name serves the suite only: to the others it is the model.
[ -z "${STARPOOL_TEST_LIBCUDA-}" ] || STARPOOL_TEST_DRIVER=model
export CMOCKA_MESSAGE_OUTPUT STARPOOL_TEST_PROGRAM STARPOOL_TEST_SLOW STARPOOL_TEST_OBSERVED \
    STARPOOL_TEST_DRIVER

# name passed|failed|skipped, from TAP; with what was said before it.
results()
{
    awk '
        /^ok [0-9]+ - / { print $4, "passed"; said = ""; next }
        /^(not )?ok [0-9]+ # SKIP / { print $NF, "skipped", said; said = ""; next }
        /^not ok [0-9]+ - / { print $5, "failed"; said = ""; next }
        /^# [a-z]+_[0-9][0-9]_/ { said = $0; sub(/^# [^:]*: /, "", said) }' "$1"
}

# One setting of the model from all that was observed: what each observation allows, together.
# What was not observed, or fits no value, stays open.
settle()
{
    awk '
        where == "seen" && /^switch / {
            name = $3
            sub(/=.*/, "", name)
            values = $3
            sub(/^[^=]*=/, "", values)
            if (!(name in allowed)) {
                order[++n] = name
                allowed[name] = values
                next
            }
            m = split(allowed[name], old, "|")
            allowed[name] = ""
            for (i = 1; i <= m; i++)
                if (index("|" values "|", "|" old[i] "|"))
                    allowed[name] = allowed[name] (allowed[name] == "" ? "" : "|") old[i]
        }
        where == "list" && /^X\(/ {
            split($0, part, /[(," ]+/)
            rule[part[2]] = part[3]
            listed[++n_listed] = part[2]
        }
        END {
            for (i = 1; i <= n; i++) {
                name = order[i]
                if (allowed[name] == "")
                    print "open " rule[name] " " name ": no value fits all that was observed"
                else if (index(allowed[name], "|"))
                    print "open " rule[name] " " name ": " allowed[name]
                else
                    line = line (line == "" ? "" : ",") name "=" allowed[name]
            }
            for (i = 1; i <= n_listed; i++)
                if (!(listed[i] in allowed))
                    print "open " rule[listed[i]] " " listed[i] ": not observed"
            print "STARPOOL_MODEL_SWITCHES=" line
        }' where=list "$here/switches.def" where=seen -
}

{
    echo "starpool: conformance on a real driver, $(date -u '+%Y-%m-%d')"
    [ -z "${STARPOOL_TEST_LIBCUDA-}" ] || echo "not the real driver: $STARPOOL_TEST_LIBCUDA"
    [ ! -r "$here/built" ] || cat "$here/built"
    echo "kernel: $(uname -sr)"
    [ ! -r /proc/driver/nvidia/version ] || sed -n 's/^NVRM version: */module: /p' /proc/driver/nvidia/version
} >"$1"
timed 120 "$program" --describe >"$work/about" 2>&1
rc=$?
if [ $rc -eq 77 ]; then
    echo "result: no driver: $(sed -n 's/^# *//p' "$work/about" | head -n 1)" >>"$1"
    exit 77
fi
cat "$work/about" >>"$1"

# ---- the conformance suite ---------------------------------------------------------------------
# All in one process, which is quick; then, each by itself, what has failed or was not reached.
: >"$work/observed"
n_passed=0 n_failed=0 n_skipped=0
timed 300 "$program" >"$work/all" 2>"$work/errors"
results "$work/all" >"$work/first"
while read -r name; do
    line=$(grep "^$name " "$work/first" | head -n 1)
    case $line in
    "$name passed"* | "$name skipped"*) ;;
    *)
        timed 60 "$program" "$name" >"$work/one" 2>&1 </dev/null
        rc=$?
        line=$(results "$work/one" | grep "^$name " | head -n 1)
        [ -n "$line" ] || line="$name failed (the program ended with $rc)"
        ;;
    esac
    echo "$line"
    case $line in
    "$name passed"*) n_passed=$((n_passed + 1)) ;;
    "$name skipped"*) n_skipped=$((n_skipped + 1)) ;;
    *)
        n_failed=$((n_failed + 1))
        sed -e '/^1\.\./d' -e '/^not ok/d' -e 's/^/    /' "$work/one" | head -n 20
        ;;
    esac
done <"$work/cases" >>"$1"
sort -u "$work/observed" >>"$1"

# ---- pools and captures under stress -----------------------------------------------------------
for test in "$here"/stress/*; do
    [ -x "$test" ] || continue
    LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        timed 90 "$test" >"$work/one" 2>&1 </dev/null
    rc=$?
    results "$work/one" | sed "s/^/stress ${test##*/}: /" | tee "$work/stress" >>"$1"
    n_passed=$((n_passed + $(grep -c ' passed' "$work/stress")))
    n_skipped=$((n_skipped + $(grep -c ' skipped' "$work/stress")))
    n_bad=$(grep -c ' failed' "$work/stress")
    if [ $rc -ne 0 ] && [ "$n_bad" -eq 0 ]; then
        echo "stress ${test##*/}: failed (the program ended with $rc)" >>"$1"
        n_bad=1
    fi
    [ "$n_bad" -eq 0 ] || grep '^#' "$work/one" | head -n 20 | sed 's/^/    /' >>"$1"
    n_failed=$((n_failed + n_bad))
done

# ---- times ---------------------------------------------------------------------------------------
if [ -x "$here/bench_device" ]; then
    LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        timed 60 "$here/bench_device" >"$work/one" 2>&1 </dev/null
    rc=$?
    sed 's/^/bench /' "$work/one" >>"$1"
    [ $rc -eq 0 ] || echo "bench: the program ended with $rc" >>"$1"
fi

{
    settle <"$work/observed"
    echo "seconds: $(($(date +%s) - start))"
    echo "result: $n_passed passed, $n_failed failed, $n_skipped skipped"
} >>"$1"
[ "$n_failed" -eq 0 ]

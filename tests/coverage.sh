#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Which rules have been tested, and by what, from the logs that make check has left. Four numbers:
# rules whose tests passed on the model in both modes; those that a foreign program agrees with
# (tests/data/agreed.txt); those that were seen on a real driver (tests/data/observed.txt); and
# those of the first kind that are neither of the others. Fails if a rule has no passing test.
#
# Usage: tests/coverage.sh [BUILDDIR]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
logs=${1:-.}/tests
rules=$here/data/rules.txt

for mode in threads inline; do
    [ -f "$logs/conformance_model_$mode.log" ] || {
        echo "$0: $logs/conformance_model_$mode.log is not there: run make check first" >&2
        exit 2
    }
done

# The tests of a mode: its conformance program, and whatever runs on no mode of the model, which
# has the rules about starpool's own pools.
logs_of()
{
    echo "$logs/conformance_model_$1.log"
    find "$logs" -maxdepth 1 -name '*.log' ! -name 'conformance_model_*' ! -name conformance_cuda.log | LC_ALL=C sort
}

# The rules of a mode with what their tests did: ID passed|failed|skipped.
results()
{
    logs_of "$1" | while read -r log; do
        sed -n -E \
            -e 's/^ok [0-9]+ - ([a-z]+)_([0-9][0-9])_.*/\1-\2 passed/p' \
            -e 's/^not ok [0-9]+ - ([a-z]+)_([0-9][0-9])_.*/\1-\2 failed/p' \
            -e 's/^(not )?ok [0-9]+ # SKIP ([a-z]+)_([0-9][0-9])_.*/\2-\3 skipped/p' "$log"
    done | tr '[:lower:]' '[:upper:]'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results threads >"$work/threads"
results inline >"$work/inline"

# The program, or the driver and device, with how often each is named.
sources()
{
    sed -e '/^#/d' -e '/^$/d' "$1" | cut -d' ' -f2- | cut -d, -f"$2" | sort | uniq -c |
        awk '{ n = $1; $1 = ""; printf "%s%s (%d)", sep, substr($0, 2), n; sep = ", " }'
}

LC_ALL=C awk -v agreed="$here/data/agreed.txt" \
    -v observed="$here/data/observed.txt" \
    -v who="$(sources "$here/data/agreed.txt" 1)" \
    -v where="$(sources "$here/data/observed.txt" 1-2)" '
    /^#/ || NF == 0 { next }
    FILENAME == ARGV[1] {
        id[++n_rules] = $1
        is_rule[$1] = 1
        next
    }
    FILENAME == agreed { if (!($1 in is_agreed)) n_agreed++; is_agreed[$1] = 1; next }
    FILENAME == observed { if (!($1 in is_observed)) n_observed++; is_observed[$1] = 1; next }
    {
        if (!($1 in is_rule))
            next
        if ($2 == "PASSED")
            passed[FILENAME, $1] = 1
        if ($2 == "FAILED")
            failed[FILENAME, $1] = 1
        seen[$1] = 1
    }
    function passes(mode, rule) { return (mode, rule) in passed && !((mode, rule) in failed) }
    END {
        for (i = 1; i <= n_rules; i++) {
            rule = id[i]
            if (passes(ARGV[2], rule) && passes(ARGV[3], rule)) {
                n_passed++
                if (!(rule in is_agreed) && !(rule in is_observed))
                    n_neither++
            } else if (rule in seen) {
                bad = bad " " rule
            } else {
                none = none " " rule
            }
        }
        printf "passed on the model in both modes: %d of %d rules\n", n_passed, n_rules
        printf "agreed with by a foreign program: %d%s\n", n_agreed, who ? ": " who : ""
        printf "observed on a real driver: %d%s\n", n_observed, where ? ": " where : ""
        printf "neither agreed with nor observed: %d\n", n_neither
        if (none)
            print "without a test:" none
        if (bad)
            print "without a test that passed in both modes:" bad
        exit none || bad ? 1 : 0
    }' "$rules" "$work/threads" "$work/inline" "$here/data/agreed.txt" "$here/data/observed.txt"

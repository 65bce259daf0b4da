#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/coverage.sh counts rules as what their tests have done, from logs made up here.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tests"
threads=$work/tests/conformance_model_threads.log
inline=$work/tests/conformance_model_inline.log
api=$work/tests/conformance_api.log

# The rules, each with a test that passes; MODEL's are in a program of their own.
all_pass()
{
    awk -v api="$api" -v threads="$threads" -v inline="$inline" '
        /^#/ || NF == 0 { next }
        {
            name = tolower($1)
            sub(/-/, "_", name)
            line = "ok " ++n " - " name "_is_so"
            if ($1 ~ /^MODEL-/)
                print line >api
            else {
                print line >threads
                print line >inline
            }
        }' "$here/data/rules.txt"
}

# expect NAME STATUS LINE...: coverage.sh ends so, and its output has these lines.
expect()
{
    name=$1
    status=$2
    shift 2
    rc=0
    sh "$here/coverage.sh" "$work" >"$work/out" 2>&1 || rc=$?
    wrong=
    [ $rc -eq "$status" ] || wrong="status $rc"
    for line in "$@"; do
        grep -q -x -F "$line" "$work/out" || wrong="$wrong; no line: $line"
    done
    check "$name" "${wrong:+$wrong
$(cat "$work/out")}"
}

all_pass
expect "all rules with a test that passes are covered" 0 \
    "passed on the model in both modes: 251 of 251 rules"

echo 'not ok 200 - order_15_is_so_here_too' >>"$inline"
expect "one failing test of several is enough" 1 \
    "passed on the model in both modes: 250 of 251 rules" \
    "without a test that passed in both modes: ORDER-15"

all_pass
sed -i 's/^ok \([0-9]*\) - trim_03_is_so/ok \1 # SKIP trim_03_is_so/' "$threads"
expect "a skipped test does not count" 1 "without a test that passed in both modes: TRIM-03"

all_pass
sed -i '/ipc_01_/d' "$threads" "$inline"
sed -i '/model_09_/d' "$api"
expect "rules without a test are named" 1 "without a test: IPC-01 MODEL-09"

all_pass
echo 'ok 200 - ipc_99_is_so' >>"$inline"
expect "a rule that is none is not counted" 0 \
    "passed on the model in both modes: 251 of 251 rules"

# A copy of the script finds lists of its own.
mkdir -p "$work/copy/data"
cp "$here/coverage.sh" "$work/copy/"
cp "$here/data/rules.txt" "$work/copy/data/"
echo 'POOL-01 program 1.2, allocates' >"$work/copy/data/agreed.txt"
{
    echo 'POOL-01 580.65, NVIDIA H200, passes'
    echo 'POOL-12 580.65, NVIDIA H200, 1'
} >"$work/copy/data/observed.txt"
here=$work/copy
all_pass
expect "agreements and observations are counted with their sources" 0 \
    "agreed with by a foreign program: 1: program 1.2 (1)" \
    "observed on a real driver: 2: 580.65, NVIDIA H200 (2)" \
    "neither agreed with nor observed: 249"

rm "$threads"
expect "without the logs it says what is missing" 2

done_testing

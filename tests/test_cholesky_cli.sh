#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The example program from outside: what it prints, and its exit status for each kind of failure.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
data=$here/../examples/data
program=${builddir:-.}/examples/cholesky/cholesky
[ -x "$program" ] || skip_all "the cholesky example is not built"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run STATUS ARGUMENT...: what is wrong with the status, or nothing.
run()
{
    wanted=$1
    shift
    status=0
    timeout 120 "$program" "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" -eq "$wanted" ] ||
        echo "status $status, not $wanted: $(cat "$work/out" "$work/err")"
}

# refused STATUS WORDS ARGUMENT...: a failure is one line on stderr that has the words, and
# nothing on the standard output.
refused()
{
    wanted=$1
    words=$2
    shift 2
    run "$wanted" "$@"
    # StarPU has something to say of its own when it does not start.
    grep -v '^\[starpu\]' "$work/err" >"$work/ours" || :
    [ "$(wc -l <"$work/ours")" -eq 1 ] || echo "not one line: $(cat "$work/ours")"
    grep -q "^cholesky: .*$words" "$work/ours" || echo "no '$words' in: $(cat "$work/ours")"
    [ ! -s "$work/out" ] || echo "output: $(cat "$work/out")"
}

# has WORDS...: each is in the output.
has()
{
    for words in "$@"; do
        grep -q "$words" "$work/out" || echo "no '$words' in: $(cat "$work/out")"
    done
}

accurate()
{
    sed -n 's/.*"backward_error": \([0-9.e+-]*\)}$/\1/p' "$work/out" |
        awk '{ found = 1; if (!($1 < 1e-12)) print "backward error " $1 }
             END { if (!found) print "no backward error" }'
}

check "a file is solved and reported in words" "$(
    run 0 "$data/bcsstk01.mtx"
    has '^rows, entries  *48, 400$' '^backward error  *[0-9.e-]*$' '^peak memory '
)"
check "a gzip file is solved several times and reported in JSON" "$(
    run 0 --json --repeat 3 "$data/bcsstk16.mtx.gz"
    has '"n": 4884,' '"nnz": 290378,' '"repeat": 3,' '"minor_faults": [0-9]' \
        '"factor_seconds": [0-9]' '"max_rss_kib": [0-9]' '"front_bytes": [0-9]'
    accurate
)"
check "the window holds the live fronts to a quarter" "$(
    sed -n 's/.*"front_bytes": \([0-9]*\), "peak_live_bytes": \([0-9]*\).*/\1 \2/p' "$work/out" |
        awk '{ found = 1; if ($2 * 4 > $1) print $2 " of " $1 " bytes were live" }
             END { if (!found) print "no bytes are reported" }'
)"
check "a Laplacian, a random right-hand side and a refinement are solved" "$(
    run 0 --json --refine --seed 7 --window 0.1 --laplacian 3d:10
    has '"matrix": "laplacian 3d:10"' '"window": 0.1'
    accurate
)"
check "--help is printed" "$(
    run 0 --help
    has '^Usage: cholesky' 'Exit status'
)"

check "a missing file is bad input" "$(
    refused 2 "$work/missing.mtx: No such file" "$work/missing.mtx"
)"
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n3 3 1\n' >"$work/bad.mtx"
check "a malformed file is bad input, with file and line" "$(
    refused 2 "$work/bad.mtx:4: entry (3, 3) is outside" "$work/bad.mtx"
)"
head -c 100000 "$data/bcsstk16.mtx.gz" >"$work/cut.mtx.gz"
check "a truncated gzip file is bad input" "$(
    refused 2 'the compressed file is damaged' "$work/cut.mtx.gz"
)"
check "unknown options and a missing matrix are bad input" "$(
    refused 2 'see --help' --colour blue
    refused 2 'see --help'
    refused 2 "window 2: not a number above 0" --window 2 --laplacian 2d:3
    refused 2 'no row or too many' --laplacian 3d:2000
)"

printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 2 1\n2 1 3\n' \
    >"$work/indefinite.mtx"
check "an indefinite matrix is a numerical failure that names the column" "$(
    refused 1 'not positive definite: column [12] of the matrix' "$work/indefinite.mtx"
)"
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -4\n' \
    >"$work/negative.mtx"
check "a negative diagonal is a numerical failure that names the column" "$(
    refused 1 'the diagonal entry of column 2 is -4' "$work/negative.mtx"
)"
check "a solution less accurate than asked is a numerical failure" "$(
    run 1 --accuracy 1e-300 "$data/bcsstk01.mtx"
    grep -q 'is not below 1e-300' "$work/err" || cat "$work/err"
)"
check "no worker is a failure of the system" "$(
    STARPU_NCPU=0
    export STARPU_NCPU
    refused 3 STARPU_NCPU --laplacian 2d:3
)"
check "results that cannot be written are a failure of the system" "$(
    status=0
    timeout 120 "$program" --laplacian 2d:3 >/dev/full 2>"$work/err" || status=$?
    [ "$status" -eq 3 ] || echo "status $status"
    grep -q 'could not be written' "$work/err" || cat "$work/err"
)"
done_testing

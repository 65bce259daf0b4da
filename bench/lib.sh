# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh disable=SC2034 # its variables are for those who source it
# What the benchmark scripts share: arguments, a StarPU of their own, medians with quartiles,
# goal lines. To be sourced.

bench_status=0

# A line that says what went wrong; the script goes on and ends with 1.
bench_error()
{
    echo "$0: $*" >&2
    bench_status=1
}

# bench_begin "$@": reads [--check | --quick] [BUILDDIR]; sets effort, builddir and scratch.
bench_begin()
{
    effort=full
    builddir=${builddir:-.}
    for bench_arg in "$@"; do
        case $bench_arg in
        --check) effort=check ;;
        --quick) effort=quick ;;
        -*)
            echo "usage: $0 [--check | --quick] [BUILDDIR]" >&2
            exit 2
            ;;
        *) builddir=$bench_arg ;;
        esac
    done
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/starpool-bench.XXXXXX") || exit 1
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' HUP INT TERM

    # StarPU measures the machine once, into a home that all runs share. STARPU_NOPENCL is the
    # number of OpenCL devices to use.
    STARPU_HOME=$scratch/starpu STARPU_SILENT=1 STARPU_NOPENCL=0 STARPU_NCUDA=0
    export STARPU_HOME STARPU_SILENT STARPU_NOPENCL STARPU_NCUDA
    mkdir "$STARPU_HOME" || exit 1

    # What is compared is set for one program at a time.
    unset LD_PRELOAD STARPOOL_REPORT GLIBC_TUNABLES
}

# A StarPU program that waits for a task that cannot run waits for ever.
bench_limited()
{
    timeout --kill-after=10 "${BENCH_TIMEOUT:-120}" "$@"
}

# with_starpool PROGRAM [ARGUMENT...]
with_starpool()
{
    bench_limited "$builddir/starpool" run -- "$@"
}

have_starpool()
{
    [ -x "$builddir/starpool" ]
}

# Numbers on stdin, one a line: "MEDIAN Q1 Q3" on stdout, in the format FORMAT.
bench_quartiles()
{
    sort -g | awk -v f="$1" '
        { v[NR] = $1 }
        function at(p,   x, i) {
            x = 1 + p * (NR - 1)
            i = int(x)
            return i < NR ? v[i] + (x - i) * (v[i + 1] - v[i]) : v[NR]
        }
        END {
            if (NR == 0)
                print "nan nan nan"
            else
                printf f " " f " " f "\n", at(0.5), at(0.25), at(0.75)
        }'
}

# bench_ratios A B FORMAT: quartiles of A's lines over B's, line by line.
bench_ratios()
{
    paste "$1" "$2" | awk '$2 > 0 { print $1 / $2 }' | bench_quartiles "$3"
}

# The bound of goal $1: a word NAME=BOUND in BENCH_BOUNDS goes before $2.
bench_bound()
{
    bench_found=$2
    for bench_word in ${BENCH_BOUNDS:-}; do
        [ "${bench_word%%=*}" != "$1" ] || bench_found=${bench_word#*=}
    done
    echo "$bench_found"
}

# goal NAME VALUE OP BOUND, OP being <= or >=
goal()
{
    awk -v name="$1" -v value="$2" -v op="$3" -v bound="$(bench_bound "$1" "$4")" 'BEGIN {
        is_number = value ~ /^[-+0-9.]/
        ok = is_number && (op == "<=" ? value + 0 <= bound + 0 : value + 0 >= bound + 0)
        print "goal", name, value, op, bound, ok ? "ok" : "short"
    }'
}

# goal_missing NAME OP BOUND REASON
goal_missing()
{
    echo "goal $1 - $2 $(bench_bound "$1" "$3") short ($4)"
}

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main job, shown: a sparse Cholesky solver on stock StarPU and, unchanged, under
# `starpool run`, in interleaved rounds so that both sides see the same machine. Prints a table;
# fails if a run fails or a solution is not accurate.
#
# Usage: examples/demo.sh [-r ROUNDS] BUILD_DIR
set -eu

accuracy=1e-12
# A run that hangs ends here; the slowest takes a few seconds.
limit=120
# Of each run the first factorisation is shown by itself; the others are the steady state.
matrices='bcsstk16 laplacian'
repeats_bcsstk16=7
repeats_laplacian=3

usage()
{
    echo "usage: examples/demo.sh [-r ROUNDS] BUILD_DIR" >&2
    exit 2
}

fail()
{
    echo "demo: $*" >&2
    exit 1
}

rounds=7
while getopts r: letter; do
    case $letter in
    r) rounds=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || usage
case $rounds in
'' | *[!0-9]* | 0*) usage ;;
esac

data=$(cd "$(dirname "$0")/data" && pwd)
build=$(cd "$1" && pwd) || fail "$1 is no folder; give the build folder"
program=$build/examples/cholesky/cholesky
starpool=$build/starpool
[ -x "$program" ] || fail "$program is missing; configure says what it needs, then make"
[ -x "$starpool" ] || fail "$starpool is missing; run make first"

work=$(mktemp -d "${TMPDIR:-/tmp}/starpool-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# StarPU keeps its measurements of the machine in STARPU_HOME. STARPU_NOPENCL is, whatever its
# name says, the number of OpenCL devices to use. A BLAS with threads of its own would compete
# with StarPU's workers.
mkdir "$work/starpu"
export STARPU_HOME="$work/starpu" STARPU_NOPENCL=0 STARPU_SILENT=1
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 BLIS_NUM_THREADS=1
unset LD_PRELOAD STARPOOL_REPORT

# ---- what the programs report: the only place that knows the names -----------------------------

# json_sum NAME FILE [SECTION]: the sum of all numbers with this name, from where the section of
# that name begins; "" if there is none.
json_sum()
{
    awk -v name="\"$1\"" -v section="${3:+\"$3\"}" '
        { text = text $0 }
        END {
            text = substr(text, index(text, section))
            while ((at = index(text, name)) > 0) {
                text = substr(text, at + length(name))
                if (match(text, /^[ \t]*:[ \t]*-?[0-9][-+.0-9eE]*/)) {
                    number = substr(text, RSTART, RLENGTH)
                    sub(/^[ \t]*:[ \t]*/, "", number)
                    sum += number
                    found = 1
                }
            }
            if (found)
                printf "%.10g\n", sum
        }' "$2"
}

# json_members NAME FILE: "key value" for each number in the innermost objects of this name.
json_members()
{
    awk -v start="\"$1\"[ \t]*:[ \t]*\\\\{[^{}]*\\\\}" '
        { text = text $0 }
        END {
            while (match(text, start)) {
                part = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                sub(/^[^{]*\{/, "", part)
                gsub(/[}" \t]/, "", part)
                n = split(part, pairs, ",")
                for (i = 1; i <= n; i++) {
                    split(pairs[i], pair, ":")
                    print pair[1], pair[2]
                }
            }
        }' "$2"
}

# The pages of all pools in a report, as "node 0: 120, node 1: 8, not present: 3".
pages_by_node()
{
    {
        json_members on_node "$1" | sort -n | sed 's/^/node /'
        echo "not present $(json_sum absent "$1")"
        echo "unknown $(json_sum unknown "$1")"
    } | awk '
        {
            name = $1 (NF > 2 ? " " $2 : "")
            if (!(name in pages))
                order[++n] = name
            pages[name] += $NF
        }
        END {
            for (i = 1; i <= n; i++) {
                if (pages[order[i]] > 0)
                    line = line (line == "" ? "" : ", ") order[i] ": " pages[order[i]]
            }
            print (line == "" ? "none" : line)
        }'
}

# One line a run: seconds, first seconds, faults, first faults, KiB, requests, backward error,
# share of the requests served by memory that was resident already (pool side), segments.
# record RESULT_FILE REPORT_FILE: REPORT_FILE is "" for stock, whose requests are then those
# the program counts itself: every temporary and every starpu_malloc().
record()
{
    requests=$(json_sum allocations_total "$1")
    resident=- segments=-
    if [ -n "$2" ]; then
        # By each of the two ways in, over all nodes.
        requests=$(json_members requests "$2" | awk '{ n += $2 } END { if (NR) print n }')
        resident=$(json_sum n_resident "$2" nodes)
        segments=$(json_sum n_segments "$2" nodes)
    fi
    echo "$(json_sum factor_seconds "$1")" "$(json_sum factor_seconds_first "$1")" \
        "$(json_sum minor_faults "$1")" "$(json_sum minor_faults_first "$1")" \
        "$(json_sum max_rss_kib "$1")" "${requests:--}" "$(json_sum backward_error "$1")" \
        "${resident:--}" "${segments:--}"
}

# ---- running -----------------------------------------------------------------------------------

# The program's arguments for a matrix, one word each; no path of ours needs quoting here.
solve()
{
    case $matrix in
    bcsstk16)
        "$@" --json --repeat "$repeats_bcsstk16" "$data/bcsstk16.mtx.gz"
        ;;
    laplacian)
        "$@" --json --repeat "$repeats_laplacian" --laplacian 3d:24
        ;;
    esac
}

run_side()
{
    rm -f "$work"/report.*
    status=0
    if [ "$side" = stock ]; then
        solve timeout "$limit" "$program" >"$work/result" 2>"$work/errors" || status=$?
    else
        STARPOOL_REPORT=$work/report.%p.json solve timeout "$limit" "$starpool" run "$program" \
            >"$work/result" 2>"$work/errors" || status=$?
    fi
    if [ "$status" -ne 0 ]; then
        cat "$work/errors" >&2
        fail "$matrix on the $side side ended with status $status"
    fi
    # Warnings are not kept from the reader.
    cat "$work/errors" >&2
    report=
    if [ "$side" = pool ]; then
        cat "$work"/report.*.json >"$work/report" 2>/dev/null ||
            fail "$matrix ran under starpool run, but starpool wrote no report"
        report=$work/report
        pages_by_node "$report" >"$work/$matrix.pages"
    fi
    cp "$work/result" "$work/$matrix.$side.json"
    record "$work/result" "$report" >>"$work/$matrix.$side"
    tail -n 1 "$work/$matrix.$side" | awk -v accuracy="$accuracy" \
        '{ exit !(NF == 9 && $7 + 0 >= 0 && $7 + 0 < accuracy + 0) }' ||
        fail "$matrix on the $side side: the backward error is missing or not below $accuracy"
}

# ---- the table ---------------------------------------------------------------------------------

# quartiles FORMAT SCALE: of the numbers on the input, as "median [lower, upper]".
quartiles()
{
    sort -g | awk -v format="$1" -v scale="$2" '
        { numbers[NR] = $1 * scale }
        function at(share,    place, low)
        {
            place = 1 + share * (NR - 1)
            low = int(place)
            return numbers[low] + (low < NR ? (place - low) * (numbers[low + 1] - numbers[low]) : 0)
        }
        END { printf format " [" format ", " format "]\n", at(0.5), at(0.25), at(0.75) }'
}

column()
{
    awk -v field="$2" '{ print $field }' "$work/$matrix.$1"
}

row()
{
    printf '  %-26s %-28s %s\n' "$1" "$2" "$3"
}

# row_of LABEL FIELD FORMAT SCALE
row_of()
{
    row "$1" "$(column stock "$2" | quartiles "$3" "$4")" \
        "$(column pool "$2" | quartiles "$3" "$4")"
}

# The last run's: the number of requests is the same in every run.
last()
{
    tail -n 1 "$work/$matrix.$1" | cut -d ' ' -f "$2"
}

largest()
{
    column "$1" 7 | sort -g | tail -n 1
}

# Each round's pool side over its stock side.
ratio_of()
{
    column stock "$1" >"$work/ratio.stock"
    column pool "$1" | paste -d ' ' - "$work/ratio.stock" |
        awk '{ print ($2 > 0 ? $1 / $2 : 1) }' | quartiles %.3f 1
}

print_table()
{
    json=$work/$matrix.stock.json
    echo
    case $matrix in
    bcsstk16) echo "bcsstk16 (structural engineering)" ;;
    laplacian) echo "3D Laplacian, 24 points a side" ;;
    esac
    printf '  n = %s, %s entries, factor %s, %s supernodes, %s workers; fronts: %s MiB in all, %s live\n' \
        "$(json_sum n "$json")" "$(json_sum nnz "$json")" "$(json_sum nnz_factor "$json")" \
        "$(json_sum supernodes "$json")" "$(json_sum workers "$json")" \
        "$(json_sum front_bytes "$json" | awk '{ printf "%.1f", $1 / 1048576 }')" \
        "$(json_sum peak_live_bytes "$json" | awk '{ printf "%.1f", $1 / 1048576 }')"
    row "" "stock StarPU" "starpool run"
    row_of "factorisation, ms" 1 %.1f 1000
    row_of "  the first, ms" 2 %.1f 1000
    row_of "minor faults" 3 %.0f 1
    row_of "  of the first" 4 %.0f 1
    row_of "peak memory, MiB" 5 %.1f 0.0009765625
    row "allocator requests" "$(last stock 6)" "$(last pool 6)"
    row "  served resident" - "$(last pool 8)"
    row "  segments" - "$(last pool 9)"
    row "largest backward error" "$(largest stock)" "$(largest pool)"
    row "pages" "not reported" "$(cat "$work/$matrix.pages")"
    row "time, pool / stock" "" "$(ratio_of 1)"
    row "  the first" "" "$(ratio_of 2)"
}

# The first StarPU program in a new STARPU_HOME measures the machine: not one of ours.
timeout "$limit" "$program" --laplacian 2d:9 >"$work/result" 2>"$work/errors" || {
    cat "$work/errors" >&2
    fail "the solver does not run here"
}

echo "A sparse Cholesky solver on StarPU, the same program on both sides: $rounds interleaved rounds,"
echo "median [quartiles] of the rounds; in a round the median of several factorisations. Stock's"
echo "allocator requests are the program's own count; pages are those of the last run."
round=1
while [ "$round" -le "$rounds" ]; do
    for matrix in $matrices; do
        # Neither side always goes first.
        sides='stock pool'
        [ $((round % 2)) -eq 1 ] || sides='pool stock'
        for side in $sides; do
            run_side
        done
    done
    round=$((round + 1))
done
for matrix in $matrices; do
    print_table
done
echo
echo "Every backward error is below $accuracy."

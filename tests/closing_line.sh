#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Prints the closing line of a run of tests, "N passed, N failed, N skipped", summed over the
# .trs files that automake left in the tests/ of each build folder named. A skip that
# tests/skips.txt does not list counts as failed, and so does a folder without results. The status
# is 0 if something passed and nothing failed.
#
# Usage: tests/closing_line.sh [-f FAILED-STAGES] [-s SKIPS-FILE] BUILD-FOLDER...
set -eu

passed=0
failed=0
skipped=0
skips=$(dirname "$0")/skips.txt
while getopts f:s: option; do
    case $option in
    f) failed=$OPTARG ;;
    s) skips=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ -r "$skips" ] || {
    echo "closing_line: cannot read the list of skips, $skips" >&2
    exit 2
}

# is_listed BUILD SKIP: does a line of the list match? A line names a build, a test and, after a
# colon, the case, all as patterns; a pattern without a colon stands for every case of the test.
is_listed()
{
    while read -r build pattern reason; do
        case $build in
        '' | '#'*) continue ;;
        esac
        [ -n "$reason" ] || echo "closing_line: $skips: no reason for $pattern" >&2
        # The patterns are meant as patterns.
        # shellcheck disable=SC2254
        case $1 in
        $build) ;;
        *) continue ;;
        esac
        # shellcheck disable=SC2254
        case $2 in
        $pattern | $pattern:*) return 0 ;;
        esac
    done <"$skips"
    return 1
}

count()
{
    awk -v pattern="$2" '$1 == ":test-result:" && $2 ~ pattern { n++ } END { print n + 0 }' "$1"
}

# The driver's own lines, "SKIP: tests/test_x 3 - name # SKIP reason" or, for a whole program,
# "SKIP: tests/test_x - reason", as TEST:CASE with _ for each blank. cmocka puts the name of the
# case behind the directive.
list_skips()
{
    sed -n -e 's/^SKIP: \([^ ]*\) [0-9][0-9]* # SKIP \(.*\)$/\1:\2/p' \
        -e 's/^SKIP: \([^ ]*\) [0-9][0-9]* \(- \)\{0,1\}\(.*\) # SKIP.*$/\1:\3/p' \
        -e 's/^SKIP: \([^ ]*\)\( - .*\)\{0,1\}$/\1:/p' "$1" | tr ' ' '_'
}

for folder; do
    name=$(basename "$folder")
    n=0
    for trs in "$folder"/tests/*.trs; do
        [ -e "$trs" ] || continue
        n=$((n + 1))
        passed=$((passed + $(count "$trs" '^PASS$')))
        failed=$((failed + $(count "$trs" '^(FAIL|XPASS|ERROR)$')))
        n_skips=$(count "$trs" '^(SKIP|XFAIL)$')
        n_listed=0
        for skip in $(list_skips "${trs%.trs}.log"); do
            if is_listed "$name" "$skip"; then
                n_listed=$((n_listed + 1))
            else
                echo "closing_line: skipped in $name, but not listed in $(basename "$skips"): $skip" >&2
            fi
        done
        [ "$n_listed" -le "$n_skips" ] || n_listed=$n_skips
        skipped=$((skipped + n_listed))
        failed=$((failed + n_skips - n_listed))
    done
    if [ "$n" -eq 0 ]; then
        echo "closing_line: no results in $folder/tests" >&2
        failed=$((failed + 1))
    fi
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

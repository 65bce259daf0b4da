#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files and functions stay small enough to read: a function has at most 60 lines between its
# braces, a file at most 600 lines, a header 200 (pool.h 300). The check tests itself.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sources()
{
    (
        cd "$1"
        find include src numa graph examples tests bench -name '*.[ch]' 2>/dev/null | LC_ALL=C sort
    )
}

# clang-format puts the braces of a function, and of nothing else, alone at the start of a line.
large_functions()
{
    sources "$1" | (cd "$1" && xargs awk '
        FNR == 1 { start = 0 }
        /^\{/ { start = FNR }
        /^\}/ {
            if (start && FNR - start - 1 > 60)
                printf "%s:%d: a function of %d lines; 60 are allowed\n", FILENAME, start, FNR - start - 1
            start = 0
        }')
}

large_files()
{
    sources "$1" | while read -r file; do
        n=$(wc -l <"$1/$file")
        case $file in
        include/starpool/pool.h) limit=300 ;;
        *.h) limit=200 ;;
        *) limit=600 ;;
        esac
        [ "$n" -le "$limit" ] || echo "$file: $n lines; $limit are allowed"
    done
}

check "no function has more than 60 lines" "$(large_functions "${srcdir:-.}")"
check "no file is too long" "$(large_files "${srcdir:-.}")"

# make_function LINES: a file of LINES + 3 lines with one function.
make_function()
{
    mkdir -p "$work/src"
    awk -v n="$1" 'BEGIN { print "int f(void)\n{"; while (n--) print "    ;"; print "}" }' >"$work/src/f.c"
}

make_function 60
check "60 lines are fine" "$(large_functions "$work")$(large_files "$work")"
make_function 61
check "61 lines are found" "$([ -n "$(large_functions "$work")" ] || echo "they are not")"
make_function 598
check "601 lines of a file are found" "$([ -n "$(large_files "$work")" ] || echo "they are not")"

done_testing

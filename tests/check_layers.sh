#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every file includes only its own floor or a lower one, and other libraries' headers only where
# they belong: tests/layers.txt. A file without a floor is an error. The check tests itself on
# planted violations.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
LC_ALL=C
export LC_ALL

# violations FOLDER: one line each; nothing if all is well.
violations()
{
    (
        cd "$1"
        # Everything but what builds leave behind, so that no new folder goes unseen.
        find . \( -name '.?*' -o -name 'build*' -o -name _build -o -name _inst -o -name 'autom4te*' \) \
            -prune -o -type f \( -name '*.[ch]' -o -name '*.def' \) ! -path ./config.h -print |
            sed 's|^\./||' | sort >"$work/files"
        tr '\n' '\0' <"$work/files" | xargs -0 grep -nH '^[[:space:]]*#[[:space:]]*include' >"$work/includes" || :
        awk -f "$work/layers.awk" "$here/layers.txt" "$work/files" "$work/includes"
    )
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/layers.awk" <<'AWK'
function starts(text, prefix) { return substr(text, 1, length(prefix)) == prefix }
function floor_of(path,    p, best, n) {
    best = ""; n = -1
    for (p in floor)
        if (starts(path, p) && length(p) > n) { n = length(p); best = floor[p] }
    return best
}
function folder(path) { sub(/[^\/]*$/, "", path); return path }
# Where the compiler would find it: beside the file, then along -I.
function found(file, name,    path) {
    path = folder(file) name
    if (path in is_file) return path
    path = "include/" name; if (path in is_file) return path
    path = "src/" name; if (path in is_file) return path
    return (name in is_file) ? name : ""
}
function foreign(file, line, name,    library, n, allowed, i) {
    for (library in homes) {
        if (name !~ "^" library "([._/-]|$)") continue
        n = split(homes[library], allowed, " ")
        for (i = 1; i <= n; i++)
            if (starts(file, allowed[i])) break
        if (i > n) print file ":" line ": <" name "> belongs in: " homes[library]
    }
}
FILENAME ~ /layers.txt$/ {
    if ($1 == "floor") floor[$3] = $2
    if ($1 == "foreign") { name = $2; $1 = $2 = ""; homes[name] = $0 }
    next
}
FILENAME ~ /\/files$/ {
    is_file[$0] = 1
    if (floor_of($0) == "") print $0 ": no floor; give it one in tests/layers.txt"
    next
}
{
    n = split($0, part, ":"); file = part[1]; line = part[2]
    if (match($0, /"[^"]*"/)) quoted = 1
    else if (match($0, /<[^>]*>/)) quoted = 0
    else next # a macro's name
    name = substr($0, RSTART + 1, RLENGTH - 2)
    foreign(file, line, name)
    if (name == "config.h") next
    target = found(file, name)
    if (target == "") {
        if (quoted || starts(name, "starpool"))
            print file ":" line ": " name " is not a file of this project"
        next
    }
    if (floor_of(target) == "" || floor_of(file) == "") next # named above
    if (floor_of(target) + 0 > floor_of(file) + 0)
        print file ":" line ": floor " floor_of(file) " includes " target " of floor " floor_of(target)
}
AWK

check "every include goes to the same floor or down" "$(violations "${srcdir:-.}")"

# ---- the check itself ---------------------------------------------------------------------------
# planted NAME FILE LINE PATTERN: a tree with that one line has exactly that violation.
planted()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src/util" "$work/tree/src/heap" "$work/tree/src/new" "$work/tree/numa"
    printf '#include "config.h"\n#include <stdio.h>\n' >"$work/tree/src/util/low.c"
    printf '#include "src/util/low.h"\n' >"$work/tree/src/heap/high.h"
    printf '#include <hwloc.h>\n#include "src/heap/high.h"\n' >"$work/tree/numa/place.c"
    : >"$work/tree/src/util/low.h"
    [ -z "$2" ] || printf '%s\n' "$3" >>"$work/tree/$2"
    found=$(violations "$work/tree")
    if [ -z "$4" ]; then
        check "$1" "$found"
    elif printf '%s\n' "$found" | grep -q -e "$4" && [ "$(printf '%s\n' "$found" | wc -l)" -eq 1 ]; then
        ok "$1"
    else
        not_ok "$1" "found: $found"
    fi
}

planted "a clean tree has no violation" "" "" ""
planted "an include of a higher floor is found" src/util/low.c '#include "src/heap/high.h"' \
    'low.c:3: floor 1 includes src/heap/high.h of floor 2'
planted "another library's header in the wrong place is found" src/heap/high.h \
    '#include <hwloc/bitmap.h>' 'high.h:2: <hwloc/bitmap.h> belongs in'
planted "a file without a floor is found" src/new/file.c 'int x;' 'file.c: no floor'
planted "an include of nothing is found" src/util/low.c '#  include "src/heap/gone.h"' \
    'gone.h is not a file'

done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the library and the plugin export is what the version script, the public headers and the
# man pages say; the options are those of the man page; mutable state is where tests/state.txt
# says.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
source=$(cd "${srcdir:-.}" && pwd)
build=${builddir:-.}
# configure found "nm -B".
nm="${NM:-nm}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case ${SP_SANITIZER-} in
?*) skip_all "a sanitizer or gcov adds symbols of its own" ;;
esac
library=$build/.libs/libstarpool.so
plugin=$build/.libs/starpool_starpu.so
[ -e "$library" ] || {
    echo "Bail out! there is no $library: run make first"
    exit 99
}

# same WHAT FILE-A NAME-A FILE-B NAME-B: two sorted lists are equal.
same()
{
    check "$1" "$(comm -23 "$2" "$4" | sed "s|\$|: in $3, not in $5|")$(
        comm -13 "$2" "$4" | sed "s|\$|: in $5, not in $3|")"
}

# node NAME: the global symbols of a node of the version script.
node()
{
    sed 's|/\*.*\*/||; s|#.*||' "$source/src/starpool.map" | tr '\n' ' ' | tr '}' '\n' |
        sed -n "s/^.*$1 *{[^:]*global *:\(.*\)/\1/p" | sed 's/local *:.*//' |
        tr -s '; \t' '\n' | grep . | sort || :
}

# declared FILE...: the functions that headers mark STARPOOL_API.
declared()
{
    cat "$@" | awk '
        { gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "") }
        in_comment { if (!sub(/^.*\*\//, "")) next; in_comment = 0 }
        /\/\*/ { sub(/\/\*.*/, ""); in_comment = 1 }
        /^#/ || continued { continued = /\\$/; next }
        { text = text " " $0 }
        END {
            n = split(text, statement, /[;{}]/)
            for (i = 1; i <= n; i++)
                if (statement[i] ~ /STARPOOL_API/ && match(statement[i], /starpool_[a-z0-9_]+ *\(/)) {
                    name = substr(statement[i], RSTART, RLENGTH); sub(/ *\($/, "", name); print name
                }
        }' | sort
}

# exported FILE: its dynamic symbols, without the names of version nodes.
exported()
{
    # shellcheck disable=SC2086
    $nm -D --defined-only --without-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | sort
}

# ---- the library --------------------------------------------------------------------------------
sed -n 's/^STARPOOL_\([0-9.]*\) {.*/\1/p' "$source/src/starpool.map" >"$work/versions"
while read -r version; do
    node "STARPOOL_$version"
done <"$work/versions" | sort >"$work/public"
node STARPOOL_PRIVATE >"$work/private"
sort "$work/public" "$work/private" >"$work/map"
exported "$library" >"$work/library"
find "$source/include" -name '*.h' ! -name starpu.h >"$work/headers"
# Paths of ours have no blanks.
# shellcheck disable=SC2046
declared $(cat "$work/headers") >"$work/declared"

check "the version script has public functions" "$([ -s "$work/public" ] || echo "its nodes STARPOOL_<version> are empty")"
check "only starpool_ is public and only sp_ is private" \
    "$(grep -v '^starpool_' "$work/public" || :)$(grep -v '^sp_' "$work/private" || :)"
same "the library exports what the version script says" \
    "$work/library" libstarpool.so "$work/map" starpool.map
check "each with the version of its node" "$(
    # shellcheck disable=SC2086
    $nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' |
        grep -v -e '^starpool_.*@@STARPOOL_[0-9.]*$' -e '^sp_.*@@STARPOOL_PRIVATE$' || :
)"
same "the public headers declare what is public" \
    "$work/declared" "the headers" "$work/public" starpool.map

# ---- the plugin ---------------------------------------------------------------------------------
declared "$source/include/starpool/starpu.h" >"$work/plugin-declared"
if [ -e "$plugin" ]; then
    exported "$plugin" >"$work/plugin"
    grep '^starpool_' "$work/plugin" >"$work/plugin-public" || :
    same "the plugin exports what starpool/starpu.h declares" \
        "$work/plugin-public" starpool_starpu.so "$work/plugin-declared" starpu.h
    check "else it exports only StarPU's and CUDA's names, to stand in front of them" \
        "$(grep -v -e '^starpool_' -e '^starpu_' -e '^cu' "$work/plugin" || :)"
    check "the plugin is not linked with StarPU" \
        "$(readelf -d "$plugin" | grep 'NEEDED.*libstarpu' || :)"
    check "the plugin cannot be unloaded" \
        "$(readelf -d "$plugin" | grep -q 'FLAGS_1.*NODELETE' || echo "no NODELETE in its flags")"
else
    skip "the plugin" "configured without StarPU"
fi

# ---- the man pages ------------------------------------------------------------------------------
sort "$work/public" "$work/plugin-declared" >"$work/functions"
(cd "$source/src/man" && find . -name '*.3' | sed 's|^\./||; s|\.3$||' | sort) >"$work/pages"
same "each public function has a man page and each page a function" \
    "$work/pages" src/man "$work/functions" "the headers"
check "each redirect leads to a page" "$(
    cd "$source/src/man"
    grep -H '^\.so' ./*.[1-9] 2>/dev/null | sed 's/^\([^:]*\):\.so *\(man.\/\)\{0,1\}/\1 /' |
        while read -r page target; do
            [ -f "$target" ] || echo "$page leads to $target, which is not there"
        done
)"
check "each page says what its functions are called" "$(
    cd "$source/src/man"
    while read -r name; do
        [ -f "$name.3" ] || continue
        page=$name.3
        target=$(sed -n 's/^\.so *\(man.\/\)\{0,1\}//p' "$page" | head -n 1)
        [ -z "$target" ] || page=$target
        grep -q "$name" "$page" 2>/dev/null || echo "$page does not name $name"
    done <"$work/functions"
)"

# ---- the options --------------------------------------------------------------------------------
# starpool(1) introduces an option by a line with the variable alone, after .TP or .TQ, and ends its
# paragraph with "The default is X."
manual=$source/src/man/starpool.1
tr '\n' ' ' <"$source/src/util/options.def" | sed 's|/\*[^*]*\(\*[^/][^*]*\)*\*/||g' |
    grep -o 'X([A-Z_]*, [A-Z]*, "[^"]*"' |
    sed 's/X(\([A-Z_]*\), [A-Z]*, "\(.*\)"/STARPOOL_\1 \2/' | sort >"$work/options"
awk '/^\.T[PQ]/ { head = 1; next }
    head && /^\.B STARPOOL_[A-Z_]+$/ { if (name) print name, value; name = $2; value = ""; head = 0; next }
    head { head = 0 }
    /^\.SH/ { if (name) print name, value; name = "" }
    name && /^The default is / { value = $0; sub(/^The default is /, "", value); sub(/\.$/, "", value) }
    END { if (name) print name, value }' "$manual" | sort >"$work/manual" || :
check "the table has options" "$([ -s "$work/options" ] || echo "none found in options.def")"
same "starpool(1) has each option, with its default" \
    "$work/manual" starpool.1 "$work/options" options.def

# ---- mutable state --------------------------------------------------------------------------------
# Read-only data with addresses in it stands in .data.rel.ro, so the section tells and nm does not.
sed 's/#.*//' "$here/state.txt" | awk 'NF { print $1, $2 }' | sort >"$work/all-listed"
(
    cd "$build"
    for folder in src numa graph; do
        [ ! -d "$folder" ] || find "$folder" -name '*.o' -path '*/.libs/*' -o -path '*src/tools/*.o'
    done
) | while read -r object; do
    file=$(printf '%s\n' "$object" | sed -e 's|\.libs/||' -e 's|\.o$|.c|' -e 's|/[a-z0-9_]*_la-|/|' \
        -e 's|/starpool-\([^/]*\)$|/\1|')
    objdump -t "$build/$object" | awk -v file="$file" '
        {
            section = ""
            for (i = 2; i < NF; i++)
                if ($i ~ /^(\.(data|bss|tdata|tbss)|\*COM\*)/) section = $i
            name = $NF
            if (section == "" || section ~ /rel\.ro/ || name ~ /^\./) next
            sub(/\.[0-9]+$/, "", name); print file, name
        }'
done | sort -u >"$work/found"
# What is not in every build is listed if it is found.
sed 's/?$//' "$work/all-listed" | sort | comm -12 - "$work/found" >"$work/listed"
grep -v '?$' "$work/all-listed" >>"$work/listed" || :
sort -u -o "$work/listed" "$work/listed"
same "mutable state is where tests/state.txt says" "$work/found" "the objects" "$work/listed" state.txt
check "each line of tests/state.txt gives a reason" \
    "$(sed 's/#.*//' "$here/state.txt" | awk 'NF && NF < 4 { print $0 ": no reason" }')"

done_testing

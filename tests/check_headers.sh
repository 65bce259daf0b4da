#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each public header compiles alone, and twice, as C and as C++, without a warning.
#
# Usage: tests/check_headers.sh [INCLUDE-FOLDER], the source tree's unless named.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=$(cd "${1:-${srcdir:-.}/include}" && pwd)

# compile HEADER SUFFIX COMPILER...
compile()
{
    header=$1 suffix=$2
    shift 2
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$header" "$header" \
        >"$work/header.$suffix"
    # StarPU's flags are several words.
    # shellcheck disable=SC2086
    "$@" -fsyntax-only -Wall -Wextra -Wundef -Werror -I"$include" ${STARPU_CFLAGS-} \
        "$work/header.$suffix" 2>&1 || echo "status $?"
}

headers=$(cd "$include" && find . -name '*.h' | sed 's|^\./||' | grep '^starpool[./]' | LC_ALL=C sort)
[ -n "$headers" ] || not_ok "there are public headers" "none in $include"
for header in $headers; do
    # CC may hold options. No -Wshadow for C++, where it objects to a function with a struct's name.
    # shellcheck disable=SC2086
    check "$header as C" "$(compile "$header" c ${CC:-cc} -std=c11 -Wshadow -Wstrict-prototypes)"
    if [ -n "${CXX-}" ]; then
        # shellcheck disable=SC2086
        check "$header as C++" "$(compile "$header" cc $CXX -std=c++11)"
    else
        skip "$header as C++" "configure found no C++ compiler"
    fi
done

done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Valgrind's memcheck sees blocks of a pool as it sees malloc()'s: a correct program is clean, a
# use after free and a write past the end are told, with where the block was allocated or freed.
set -u
. "${srcdir:-.}/tests/taplib.sh"

source=${srcdir:-.} build=${builddir:-.}
command -v valgrind >/dev/null 2>&1 || skip_all "valgrind is not installed"
[ -e "$build/.libs/libstarpool.so" ] || skip_all "libstarpool.so is not built"
grep -q '^#define HAVE_VALGRIND_MEMCHECK_H 1' "$build/config.h" ||
    skip_all "built without valgrind's header"
[ -z "${SP_SANITIZER-}" ] || skip_all "valgrind cannot run a program with a sanitizer"

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/program.c" <<'END'
#include <stdio.h>
#include <string.h>

#include <starpool/pool.h>

static struct starpool_location host = {STARPOOL_HOST, 0};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct starpool_pool *pool;
    void *block, *other;
    volatile char *bytes;

    if (starpool_pool_default(host, STARPOOL_PINNED, &pool) != STARPOOL_OK ||
        starpool_alloc(pool, 1024, STARPOOL_STREAM_HOST, &block) != STARPOOL_OK ||
        starpool_alloc(pool, 100000, STARPOOL_STREAM_HOST, &other) != STARPOOL_OK)
        return 3;
    memset(block, 1, 1024);
    memset(other, 2, 100000);
    bytes = block;
    if (strcmp(what, "past-the-end") == 0)
        bytes[1024] = 1;
    starpool_free(block, STARPOOL_STREAM_HOST);
    if (strcmp(what, "after-free") == 0)
        printf("%d\n", bytes[10]);
    starpool_free(other, STARPOOL_STREAM_HOST);
    if (strcmp(what, "trimmed") == 0) {
        starpool_pool_trim(pool, 0);
        if (starpool_alloc(pool, 1024, STARPOOL_STREAM_HOST, &block) != STARPOOL_OK)
            return 3;
        memset(block, 3, 1024);
        starpool_free(block, STARPOOL_STREAM_HOST);
    }
    return 0;
}
END

# shellcheck disable=SC2086 # CC may have arguments
${CC:-cc} -g -O0 -I"$source/include" "$scratch/program.c" -o "$scratch/program" \
    -L"$build/.libs" -lstarpool -Wl,-rpath,"$(cd "$build/.libs" && pwd)" >"$scratch/log" 2>&1 || {
    not_ok "a program that uses pools builds" "$(cat "$scratch/log")"
    done_testing
    exit
}

# under WHAT: run the program in valgrind; its status, with what valgrind says in $scratch/log.
under()
{
    valgrind --error-exitcode=9 --suppressions="$source/tests/valgrind.supp" \
        "$scratch/program" "$1" >"$scratch/log" 2>&1
}

# clean NAME WHAT
clean()
{
    under "$2"
    rc=$?
    if [ $rc -eq 0 ] && grep -q 'ERROR SUMMARY: 0 errors' "$scratch/log"; then
        ok "$1"
    else
        not_ok "$1" "exit status $rc" "$(cat "$scratch/log")"
    fi
}

# told NAME WHAT PATTERN...: valgrind ends with an error and says every one of the patterns.
told()
{
    name=$1 what=$2
    shift 2
    under "$what"
    rc=$?
    for pattern; do
        grep -q -e "$pattern" "$scratch/log" || {
            not_ok "$name" "nothing is said like '$pattern':" "$(cat "$scratch/log")"
            return
        }
    done
    if [ $rc -eq 9 ]; then
        ok "$name"
    else
        not_ok "$name" "exit status $rc" "$(cat "$scratch/log")"
    fi
}

clean "a correct program is clean" ""
clean "memory that comes back after a trim may be used again" trimmed
told "a read after free is told with who freed" after-free \
    'Invalid read of size 1' "is 10 bytes inside a block of size 1,024 free'd" 'starpool_free'
told "a write past the end is told" past-the-end 'Invalid write of size 1' \
    "is 0 bytes after a block of size 1,024 alloc'd"
done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each tests/mutants/NAME.patch breaks the sources on purpose, and the test that its head names
# must fail on it:
#   # caught-by: tests/test_x        a unit test, or tests/NAME.sh
#   # case: name                     optional: that case must be the one that does not pass
# The patch (-p1) goes to a copy of the sources, where only what the test needs is built. Fails if
# the test still passes, does not build, or the patch no longer applies.
#
# Usage: tests/check_mutants.sh [NAME...], all unless named. In a configured build folder.
set -eu
# A mutant that loops for ever is caught too, but need not take long.
STARPOOL_TEST_TIMEOUT=${STARPOOL_TEST_TIMEOUT:-30}
export STARPOOL_TEST_TIMEOUT
source=$(cd "${srcdir:-.}" && pwd)
build=$(cd "${builddir:-.}" && pwd)
jobs=$(nproc 2>/dev/null || echo 1)
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
make=${MAKE:-make}

die()
{
    printf 'check_mutants: %s\n' "$@" >&2
    exit 1
}

command -v patch >/dev/null 2>&1 || die "patch is missing: install the package patch"
[ -x "$build/config.status" ] || die "$build is not configured"

# head PATCH KEY: what the head of a patch says.
head_of()
{
    sed -n "/^---/q; s/^# $2: *//p" "$1" | head -n 1
}

# ---- a copy of the sources, built once; each mutant rebuilds what it changed --------------------
copy=$build/mutants
rm -rf "$copy"
mkdir -p "$copy/source" "$copy/build"
trap 'rm -rf "$copy"' EXIT
(
    cd "$source"
    for name in *; do
        case $name in
        build | build-ci | autom4te.cache | starpool-*) ;;
        *) [ "$source/$name" = "$build" ] || printf '%s\0' "$name" ;;
        esac
    done | xargs -0 tar -cf - --exclude=.git --exclude="./$(basename "$build")"
) | tar -xf - -C "$copy/source"
printf 'check_mutants: building the copy\n'
(
    cd "$copy/build"
    # The options of the build at hand, which config.status quotes for the shell; and the run-time
    # checks, which some tests are about.
    eval "set -- $("$build/config.status" --config)"
    "$copy/source/configure" -q "$@" --enable-checks
    "$make" -s -j"$jobs" all
) >"$copy/log" 2>&1 || {
    tail -n 30 "$copy/log" >&2
    die "the unchanged sources do not build"
}

# make_test TEST: build what TEST needs, in the copy: a script may need everything. One goal after
# the other: "all" is a make of its own, and both would compile the same file.
make_test()
{
    : >"$copy/log"
    case $1 in
    *.sh)
        "$make" -C "$copy/build" -s -j"$jobs" all >>"$copy/log" 2>&1 || return
        set -- tests/harness_cases tests/trace_sample
        ;;
    esac
    for goal; do
        "$make" -C "$copy/build" -s -j"$jobs" "$goal" >>"$copy/log" 2>&1 || return
    done
}

# run_test TEST: its TAP in $copy/tap, as make check runs it. True if everything passed.
run_test()
{
    "$make" -C "$copy/build" -s check-one TEST="$1" >"$copy/tap" 2>"$copy/stderr" &&
        ! grep -q '^not ok' "$copy/tap"
}

# caught PATCH: the reason why it is not, or nothing.
verdict()
{
    test=$(head_of "$1" caught-by)
    case_name=$(head_of "$1" case)
    [ -n "$test" ] || {
        echo "no line '# caught-by: tests/...' before the first ---"
        return
    }
    patch -d "$copy/source" -p1 --batch --forward --fuzz=0 <"$1" >"$copy/patched" 2>&1 || {
        echo "the patch no longer applies: $(tail -n 3 "$copy/patched" | tr '\n' ' ')"
        return
    }
    if ! make_test "$test"; then
        echo "it does not build: $(grep -m 1 -i error "$copy/log")"
    elif run_test "$test"; then
        echo "$test still passes"
    elif [ -n "$case_name" ] && grep -q "^ok [0-9]* - $case_name\$" "$copy/tap"; then
        echo "$test fails, but its case $case_name still passes"
    elif [ -n "$case_name" ] && ! grep -q "$case_name" "$source/$test"* "$source"/tests/*.c; then
        echo "$test has no case $case_name"
    fi
}

unpatch()
{
    # From the sources again: a patch that half applied cannot be reverted.
    sed -n 's|^+++ [^/]*/\([^	 ]*\).*|\1|p' "$1" | while read -r file; do
        cp "$source/$file" "$copy/source/$file"
        rm -f "$copy/source/$file.rej" "$copy/source/$file.orig"
    done
}

if [ $# -eq 0 ]; then
    for patch in "$source"/tests/mutants/*.patch; do
        [ -e "$patch" ] || die "there is no mutant in tests/mutants"
        set -- "$@" "$(basename "$patch" .patch)"
    done
fi

# ---- a test that fails on the unchanged sources would catch anything ----------------------------
for name; do
    [ -f "$source/tests/mutants/$name.patch" ] || die "there is no tests/mutants/$name.patch"
    head_of "$source/tests/mutants/$name.patch" caught-by
done | sort -u >"$copy/tests"
while read -r test; do
    make_test "$test" || die "$test does not build on the unchanged sources" "$(tail -n 5 "$copy/log")"
    run_test "$test" || die "$test fails on the unchanged sources" "$(grep -A 3 '^not ok' "$copy/tap")"
done <"$copy/tests"

n_caught=0
n_missed=0
for name; do
    patch=$source/tests/mutants/$name.patch
    why=$(verdict "$patch")
    unpatch "$patch"
    if [ -z "$why" ]; then
        n_caught=$((n_caught + 1))
        echo "caught: $name, by $(head_of "$patch" caught-by)"
    else
        n_missed=$((n_missed + 1))
        echo "MISSED: $name: $why"
    fi
done
echo "$n_caught mutants caught, $n_missed missed"
[ "$n_missed" -eq 0 ]

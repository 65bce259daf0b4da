#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each tests/mutants/NAME.patch breaks the sources on purpose, and the test that its head names
# must fail on it:
#   # caught-by: tests/test_x        a unit test, or tests/NAME.sh
#   # case: name                     optional: that case must be the one that does not pass
# The patch (-p1) goes to a copy of the sources, where only what the test needs is built. Fails if
# the test still passes, does not build, or the patch no longer applies. What cannot run here is
# skipped, with the reason.
#
# Usage: tests/check_mutants.sh [NAME...], all unless named. In a configured build folder.
set -eu
source=$(cd "${srcdir:-.}" && pwd)
build=$(cd "${builddir:-.}" && pwd)
# Where ./bootstrap --contrib leaves it: the copy has none of its own.
[ ! -d "$build/contrib" ] || : "${STARPOOL_TEST_CONTRIB:=$build/contrib}"
[ -z "${STARPOOL_TEST_CONTRIB:-}" ] || export STARPOOL_TEST_CONTRIB
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

# run_test TEST TAP: as make check runs it. True if everything passed.
run_test()
{
    "$make" -C "$copy/build" -s check-one TEST="$1" >"$2" 2>"$copy/stderr" &&
        ! grep -q '^not ok' "$2"
}

# tap_of TEST: its results on the unchanged sources; what time it took is in a file beside it.
tap_of()
{
    echo "$copy/tap-$(basename "$1")"
}

# run_mutant TEST: its TAP in $copy/tap. One that loops for ever is caught too, but need not take
# long: no more than several times what the unchanged sources need.
run_mutant()
(
    STARPOOL_TEST_TIMEOUT=${STARPOOL_TEST_TIMEOUT:-$((30 + 3 * $(cat "$(tap_of "$1").seconds")))}
    export STARPOOL_TEST_TIMEOUT
    run_test "$1" "$copy/tap"
)

# n_passes TAP CASE: results of that name that pass; of any name, where there is none.
n_passes()
{
    sed -n '/# SKIP/d; s/^ok [0-9]* - //p' "$1" | grep -c -F ${2:+-x} -e "$2" || :
}

# why_skipped TAP CASE: the reason why a case does not run here, or nothing. It is skipped itself,
# or the test ends with a skip, which stands for all that would follow. cmocka has the name of the
# case in place of a reason.
why_skipped()
{
    case_name=$2 awk '
        /^(not )?ok / || /# SKIP/ { last = "" }
        /# SKIP/ {
            last = name = $0
            sub(/.*# SKIP */, "", last)
            sub(/^ok [0-9]+ - /, "", name)
            sub(/ # SKIP.*/, "", name)
            if (name == ENVIRON["case_name"] || last == ENVIRON["case_name"])
                own = last
        }
        END { print own != "" ? own : last }' "$1"
}

# verdict PATCH: a line that begins with "caught", "SKIPPED" or "MISSED".
verdict()
{
    name=$(basename "$1" .patch)
    test=$(head_of "$1" caught-by)
    case_name=$(head_of "$1" case)
    before=$(tap_of "$test")
    why_not=$(why_skipped "$before" "$case_name")
    if ! patch -d "$copy/source" -p1 --batch --forward --fuzz=0 <"$1" >"$copy/patched" 2>&1; then
        echo "MISSED: $name: the patch no longer applies: $(tail -n 3 "$copy/patched" | tr '\n' ' ')"
    elif [ "$(n_passes "$before" "$case_name")" -eq 0 ] && [ -n "$why_not" ]; then
        echo "SKIPPED: $name: $test does not run ${case_name:-anything} here: $why_not"
    elif [ "$(n_passes "$before" "$case_name")" -eq 0 ]; then
        echo "MISSED: $name: $test has no case $case_name"
    elif ! make_test "$test"; then
        echo "MISSED: $name: it does not build: $(grep -m 1 -i error "$copy/log")"
    elif run_mutant "$test"; then
        echo "MISSED: $name: $test still passes"
    elif [ -n "$case_name" ] &&
        [ "$(n_passes "$copy/tap" "$case_name")" -ge "$(n_passes "$before" "$case_name")" ]; then
        echo "MISSED: $name: $test fails, but its case $case_name still passes;" \
            "not so: $(sed -n 's/^not ok [0-9]* - //p' "$copy/tap" | head -n 3 | tr '\n' ' ')"
    else
        echo "caught: $name, by $test"
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
    [ -n "$(head_of "$source/tests/mutants/$name.patch" caught-by)" ] ||
        die "tests/mutants/$name.patch has no line '# caught-by: tests/...' before the first ---"
done
for name; do
    head_of "$source/tests/mutants/$name.patch" caught-by
done | sort -u >"$copy/tests"
while read -r test; do
    tap=$(tap_of "$test")
    make_test "$test" || die "$test does not build on the unchanged sources" "$(tail -n 5 "$copy/log")"
    begin=$(date +%s)
    run_test "$test" "$tap" </dev/null ||
        die "$test fails on the unchanged sources" "$(grep -A 3 -e '^not ok' -e '^# no end' "$tap")"
    echo $(($(date +%s) - begin)) >"$tap.seconds"
done <"$copy/tests"

n_caught=0
n_missed=0
n_skipped=0
for name; do
    patch=$source/tests/mutants/$name.patch
    result=$(verdict "$patch")
    unpatch "$patch"
    echo "$result"
    case $result in
    caught*) n_caught=$((n_caught + 1)) ;;
    SKIPPED*) n_skipped=$((n_skipped + 1)) ;;
    *) n_missed=$((n_missed + 1)) ;;
    esac
done
echo "$n_caught mutants caught, $n_missed missed, $n_skipped skipped"
[ "$n_missed" -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/gpu_check.sh packs what runs without this source and this build, and where there is no
# driver the report says so. On a machine with a driver the suite has a test of its own.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if "$here/gpu_check.sh" pack "$work/pack" "${builddir:-.}" >"$work/out" 2>&1; then
    ok "the suite is packed"
else
    not_ok "the suite is packed" "$(cat "$work/out")"
    done_testing
    exit
fi
check "a folder that is there is left alone" \
    "$("$here/gpu_check.sh" pack "$work/pack" "${builddir:-.}" >"$work/out" 2>&1 && echo "it is not")"

missing=$(LD_LIBRARY_PATH=$work/pack/lib ldd "$work/pack/conformance_cuda" | grep 'not found' || :)
check "every library that it needs is there" "$missing"

# Runs it with an environment that has nothing of the build.
run()
{
    rc=0
    (cd / && env -i PATH="$PATH" TMPDIR="${TMPDIR:-/tmp}" "$work/pack/run.sh" "$work/report") || rc=$?
}

if "${builddir:-.}/tests/conformance_cuda" --describe >/dev/null 2>&1; then
    skip "without a driver the report says so" "there is a driver"
    skip "so does the C library that came along" "there is a driver"
    done_testing
    exit
fi

run
check "without a driver the report says so" \
    "$([ $rc -eq 77 ] && grep -q '^result: no driver: .*libcuda.so.1' "$work/report" ||
        echo "status $rc: $(cat "$work/report")")"

# As on a machine whose C library is too old for the program.
sed 's/^start_by .*LD_LIBRARY_PATH.*/false ||/' "$work/pack/run.sh" >"$work/pack/run2.sh"
mv "$work/pack/run2.sh" "$work/pack/run.sh"
chmod +x "$work/pack/run.sh"
run
check "so does the C library that came along" \
    "$([ $rc -eq 77 ] && grep -q '^result: no driver: .*libcuda.so.1' "$work/report" ||
        echo "status $rc: $(cat "$work/report")")"

done_testing

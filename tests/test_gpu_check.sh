#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/gpu_check.sh packs what runs without this source and this build, and compiles it with nothing
# but a C compiler; where there is no driver the report says so. What it observes is tried out on
# the simulated driver, whose behaviour is known. On a machine with a driver the suite has a test of
# its own.
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
check "which is no whole report" \
    "$("$here/gpu_check.sh" switches "$work/report" 2>/dev/null && echo "it is taken for one")"

# As on a machine whose C library is too old for the program.
sed 's/^start_by .*LD_LIBRARY_PATH.*/false ||/' "$work/pack/run.sh" >"$work/pack/run2.sh"
mv "$work/pack/run2.sh" "$work/pack/run.sh"
chmod +x "$work/pack/run.sh"
run
check "so does the C library that came along" \
    "$([ $rc -eq 77 ] && grep -q '^result: no driver: .*libcuda.so.1' "$work/report" ||
        echo "status $rc: $(cat "$work/report")")"

# ---- what is observed, as one setting ------------------------------------------------------------
sed -n '/^settle()/,/^}/p' "$here/gpu_run.sh" >"$work/settle"
cp "$here/../src/model/switches.def" "$work/pack/"
(
    # settle() looks for its list there.
    # shellcheck disable=SC2030
    here=$work/pack
    . "$work/settle"
    settle <<'END'
switch CAP-32 pool_calls=management|attributes
switch CAP-32 pool_calls=attributes|everything
switch ORDER-10 size_zero=null
switch ORDER-10 size_zero=invalid-value
switch CAP-22 merge_dies=both|waiting
switch ORDER-14 free_null=success
END
) >"$work/settled"
check "each observation allows some values, and together they settle a switch" \
    "$(tail -n 1 "$work/settled" | grep -q -x 'STARPOOL_MODEL_SWITCHES=pool_calls=attributes,free_null=success' ||
        cat "$work/settled")"
check "a contradiction, a choice and what was not observed stay open" \
    "$(for line in 'ORDER-10 size_zero: no value fits' 'CAP-22 merge_dies: both|waiting' 'POOL-12 bad_numa_node: not'; do
        grep -q "^open $line" "$work/settled" || echo "no '$line'"
    done)"

# ---- compiled with what a bare machine has -------------------------------------------------------
cat >"$work/cc" <<END
#!/bin/sh
case " \$* " in *' -lhwloc '* | *' -ljansson '* | *cmocka.so*) exit 1 ;; esac
exec ${CC:-cc} "\$@"
END
chmod +x "$work/cc"
# The driver of a report: the simulated one, with these switches.
set -- size_granule=256 size_zero=invalid-value pool_calls=attributes
driver=$(cd "${builddir:-.}" && pwd)/sim/cuda-13/libcuda.so.1
case ${SP_SANITIZER_NAME:-no} in no) ;; *) driver= ;; esac
[ -e "$driver" ] || driver=
rc=0
env -i PATH="$PATH" TMPDIR="${TMPDIR:-/tmp}" CC="$work/cc" STARPOOL_TEST_LIMIT=1200 \
    STARPOOL_MODEL_DEVICES=2 STARPOOL_MODEL_SWITCHES="$(echo "$*" | tr ' ' ,)" \
    STARPOOL_TEST_LIBCUDA="${driver:-none}" "$here/gpu_check.sh" "$work/whole" >"$work/out" 2>&1 || rc=$?
if [ -z "$driver" ]; then
    check "a C compiler is all that the sources need" \
        "$([ $rc -eq 77 ] && grep -q '^result: no driver: ' "$work/whole" ||
            echo "status $rc: $(cat "$work/out")")"
    skip "the suite passes on a driver that behaves as ours" "the simulated driver is not built"
    skip "pools and captures stand stress" "the simulated driver is not built"
    skip "what was observed becomes a setting of the model" "the simulated driver is not built"
    done_testing
    exit
fi
check "a C compiler is all that the sources need" \
    "$(grep -q '^without hwloc' "$work/whole" || cat "$work/out")"
check "the suite passes on a driver that behaves as ours" \
    "$(grep -q '^result: [1-9][0-9]* passed, 0 failed' "$work/whole" || cat "$work/out"
    [ $rc -eq 0 ] || grep -A 9 -e ' failed' "$work/whole")"
check "pools and captures stand stress" \
    "$(grep -q '^stress test_capture_stress: no_capture_is_lost.* passed' "$work/whole" ||
        grep stress "$work/whole" || cat "$work/out")"
setting=$("$here/gpu_check.sh" switches "$work/whole")
why=
for switch in "$@" free_null=success; do
    case ,${setting#*=}, in *,$switch,*) ;; *) why="$why $switch" ;; esac
done
check "what was observed becomes a setting of the model" "${why:+not$why: $setting}"
check "and what was not stays open" "$(grep -q '^open ACCESS-09 access_not_peer: not observed' "$work/whole" ||
    grep '^open' "$work/whole")"

done_testing

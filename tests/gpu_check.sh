#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Carries the built conformance suite to a machine with a GPU, which needs no build tools:
#
#   tests/gpu_check.sh pack DIR [BUILDDIR]   here: DIR gets the program, its libraries and run.sh
#   DIR/run.sh REPORT                        there: runs it and writes one report
#
# run.sh ends with 0 if no case failed, 1 if one did, 77 if there is no driver or no device.
set -eu

fail()
{
    echo "$0: $1" >&2
    exit 2
}

usage()
{
    echo "usage: $0 pack DIR [BUILDDIR]" >&2
    exit 2
}

# libtool's program is a script where it links a library that is not installed.
find_program()
{
    for program in "$1/tests/.libs/conformance_cuda" "$1/tests/conformance_cuda"; do
        if [ "$(dd if="$program" bs=1 skip=1 count=3 2>/dev/null)" = ELF ]; then
            echo "$program"
            return
        fi
    done
    fail "$1/tests/conformance_cuda is not built"
}

# The C library goes with its loader, for machines whose own is too old; everything else is put
# where it mixes with the C library of the machine.
copy_libraries()
{
    ldd "$1" | sed -n -E 's/.*=> (\/[^ ]*) .*/\1/p; s/^[[:space:]]*(\/[^ ]*) .*/\1/p' |
        while read -r library; do
            case ${library##*/} in
            ld-*.so* | libc.so* | libm.so* | libpthread.so* | libdl.so* | librt.so* | \
                libresolv.so*) cp -L "$library" "$2/libc/" ;;
            *) cp -L "$library" "$2/lib/" ;;
            esac
        done
    for loader in "$2"/libc/ld-*; do
        [ -f "$loader" ] || fail "no loader among the libraries of $1"
    done
}

write_run()
{
    cat >"$1" <<'END'
#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the conformance suite of starpool on this machine's driver. Usage: run.sh REPORT
set -u
[ $# -eq 1 ] || { echo "usage: $0 REPORT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The program by this machine's C library if that is new enough, else by the one that came along.
program=$work/program
start_by()
{
    printf '#!/bin/sh\n%s "$@"\n' "$1" >"$program" && chmod +x "$program" &&
        "$program" --list >"$work/cases" 2>"$work/error"
}
start_by "LD_LIBRARY_PATH='$here/lib' exec '$here/conformance_cuda'" ||
    start_by "exec $(echo "$here"/libc/ld-*) --library-path '$here/libc:$here/lib' '$here/conformance_cuda'" ||
    {
        {
            echo "result: the suite does not start here"
            cat "$work/error"
        } >"$1"
        exit 2
    }

CMOCKA_MESSAGE_OUTPUT=TAP STARPOOL_TEST_PROGRAM=$program STARPOOL_TEST_SLOW=1
STARPOOL_TEST_OBSERVED=$work/observed
export CMOCKA_MESSAGE_OUTPUT STARPOOL_TEST_PROGRAM STARPOOL_TEST_SLOW STARPOOL_TEST_OBSERVED
limited=
command -v timeout >/dev/null && limited='timeout 120'

# name passed|failed|skipped, from TAP; with what was said before it.
results()
{
    awk '
        /^ok [0-9]+ - / { print $4, "passed"; said = ""; next }
        /^(not )?ok [0-9]+ # SKIP / { print $NF, "skipped", said; said = ""; next }
        /^not ok [0-9]+ - / { print $5, "failed"; said = ""; next }
        /^# [a-z]+_[0-9][0-9]_/ { said = $0; sub(/^# [^:]*: /, "", said) }' "$1"
}

{
    echo "starpool: conformance on a real driver, $(date -u '+%Y-%m-%d')"
    echo "kernel: $(uname -sr)"
    [ ! -r /proc/driver/nvidia/version ] || sed -n 's/^NVRM version: */module: /p' /proc/driver/nvidia/version
} >"$1"
$limited "$program" --describe >"$work/about" 2>&1
rc=$?
if [ $rc -eq 77 ]; then
    echo "result: no driver: $(sed -n 's/^# *//p' "$work/about" | head -n 1)" >>"$1"
    exit 77
fi
cat "$work/about" >>"$1"

# All in one process, which is quick; then, each by itself, what has failed or was not reached.
: >"$work/observed"
if [ -n "$limited" ]; then
    timeout 300 "$program" >"$work/all" 2>"$work/errors"
else
    "$program" >"$work/all" 2>"$work/errors"
fi
results "$work/all" >"$work/first"
n_passed=0 n_failed=0 n_skipped=0
while read -r name; do
    line=$(grep "^$name " "$work/first" | head -n 1)
    case $line in
    "$name passed"* | "$name skipped"*) ;;
    *)
        $limited "$program" "$name" >"$work/one" 2>&1 </dev/null
        rc=$?
        line=$(results "$work/one" | grep "^$name " | head -n 1)
        [ -n "$line" ] || line="$name failed (the program ended with $rc)"
        ;;
    esac
    echo "$line"
    case $line in
    "$name passed"*) n_passed=$((n_passed + 1)) ;;
    "$name skipped"*) n_skipped=$((n_skipped + 1)) ;;
    *)
        n_failed=$((n_failed + 1))
        sed -e '/^1\.\./d' -e '/^not ok/d' -e 's/^/    /' "$work/one" | head -n 20
        ;;
    esac
    echo "$n_passed passed, $n_failed failed, $n_skipped skipped" >"$work/sum"
done <"$work/cases" >>"$1"
sort -u "$work/observed" >>"$1"
echo "result: $(cat "$work/sum")" >>"$1"
case $(cat "$work/sum") in
*" 0 failed"*) exit 0 ;;
*) exit 1 ;;
esac
END
    chmod +x "$1"
}

[ $# -ge 2 ] && [ $# -le 3 ] && [ "$1" = pack ] || usage
program=$(find_program "${3:-.}")
[ ! -e "$2" ] || fail "$2 is there already"
mkdir -p "$2/lib" "$2/libc"
cp "$program" "$2/conformance_cuda"
copy_libraries "$program" "$2"
write_run "$2/run.sh"
echo "$2 is packed; there: $2/run.sh REPORT"

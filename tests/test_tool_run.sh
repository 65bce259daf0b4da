#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `starpool run` keeps a program's arguments, environment, exit status and signals, and refuses
# what is wrong before anything starts.
set -u
. "${srcdir:-.}/tests/taplib.sh"

tool=${builddir:-.}/starpool
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

[ -x "$tool" ] || skip_all "the command is not built"

# ---- what needs no plugin ---------------------------------------------------------------------
# expect NAME STATUS PATTERN ARGUMENT...: the exit status, and one line of stderr.
expect()
{
    name=$1 status=$2 pattern=$3
    shift 3
    "$tool" "$@" >"$scratch/out" 2>"$scratch/err"
    rc=$?
    if [ "$rc" -ne "$status" ]; then
        not_ok "$name" "exit status $rc, not $status" "$(cat "$scratch/err")"
    elif [ -n "$pattern" ] && ! grep -q -e "$pattern" "$scratch/err"; then
        not_ok "$name" "stderr does not say '$pattern':" "$(cat "$scratch/err")"
    else
        ok "$name"
    fi
}

expect "no command is a usage error" 2 "no command"
expect "an unknown command is named" 2 "'frobnicate'" frobnicate
expect "no program is a usage error" 2 "no program given" run
expect "an unknown option is named" 2 "frobnicate" run --frobnicate true
expect "a size that does not parse is refused" 2 "STARPOOL_HOST_LIMIT=12Q" \
    run --host-limit=12Q true
expect "a negative limit is refused" 2 "STARPOOL_HOST_LIMIT=-1" run --host-limit=-1 true
expect "a size that does not fit is refused" 2 "STARPOOL_HOST_LIMIT=" \
    run --host-limit=99999999999999999999 true
expect "a word that is none is refused" 2 "STARPOOL_NUMA_POLICY=maybe" \
    run --numa-policy=maybe true
expect "a flag that is none is refused" 2 "STARPOOL_LOCK=2" run --lock=2 true
expect "a node that does not exist is refused" 2 "STARPOOL_NODES=4095" run --nodes=4095 true
expect "a list of nodes that does not parse is refused" 2 "STARPOOL_NODES=a" run --nodes=a true
for option in host-limit numa-policy log release lock; do
    expect "an empty value is refused (--$option=)" 2 "--$option=" run --$option= true
done
expect "an empty value that stands apart is refused" 2 "--host-limit=" run --host-limit '' true
expect "an abbreviation that fits two options is refused" 2 "ambiguous" run --host=64M true
expect "a missing program is 127" 127 "no such program" run "$scratch/missing"
expect "a missing program in PATH is 127" 127 "no such program" run starpool-no-such-program
: >"$scratch/plain"
expect "a file that is not executable is 126" 126 "cannot be executed" run "$scratch/plain"
expect "a folder is 126" 126 "cannot be executed" run "$scratch"
expect "a value apart from its option is answered with the way to write it" 127 \
    "write --report=out.json" run --report out.json true
expect "an abbreviated option's value too" 126 "write --lock=$scratch/plain" \
    run --loc "$scratch/plain" true
"$tool" run --report -- "$scratch/missing" 2>"$scratch/err"
"$tool" run --report=1 "$scratch/missing" 2>>"$scratch/err"
check "there is no such hint where the option is complete" \
    "$(grep -e 'write --' "$scratch/err")"

if mkfifo "$scratch/fifo" 2>/dev/null && command -v timeout >/dev/null 2>&1; then
    chmod +x "$scratch/fifo"
    timeout -k 1 10 "$tool" run "$scratch/fifo" 2>"$scratch/err"
    rc=$?
    check "a FIFO is 126 and not waited for" \
        "$([ "$rc" -eq 126 ] || echo "exit status $rc: $(cat "$scratch/err")")"
else
    skip "a FIFO is 126 and not waited for" "no mkfifo or no timeout"
fi

STARPOOL_HUGE=enormous "$tool" run touch "$scratch/started" 2>"$scratch/err"
rc=$?
if [ "$rc" -eq 2 ] && [ ! -e "$scratch/started" ] &&
    grep -q STARPOOL_HUGE=enormous "$scratch/err"; then
    ok "a bad value in the environment is refused before the program starts"
else
    not_ok "a bad value in the environment is refused before the program starts" \
        "exit status $rc" "$(cat "$scratch/err")"
fi

STARPOOL_HOST_LIMT=1G "$tool" run "$scratch/missing" 2>"$scratch/err"
if grep -q "did you mean STARPOOL_HOST_LIMIT" "$scratch/err"; then
    ok "an unknown STARPOOL_ name is answered with the nearest"
else
    not_ok "an unknown STARPOOL_ name is answered with the nearest" "$(cat "$scratch/err")"
fi

"$tool" run --help >"$scratch/help" 2>&1
why=
for name in $(sed -n 's/^X(\([A-Z_]*\),.*/\1/p' "${srcdir:-.}/src/util/options.def"); do
    option=--$(echo "$name" | tr 'A-Z_' 'a-z-')
    grep -q -e "^  ${option}[=[]" "$scratch/help" || why="$why $option is missing."
done
check "--help lists every option" "$why"

why=
"$tool" --help | grep -q '^  run ' || why="run is missing."
"$tool" --help | grep -q '^  info ' || why="$why info is missing."
check "--help lists every command" "$why"
case $("$tool" --version) in
"starpool "[0-9]*) ok "--version tells the version" ;;
*) not_ok "--version tells the version" ;;
esac

# ---- what needs the plugin --------------------------------------------------------------------
if [ ! -e "${builddir:-.}/.libs/starpool_starpu.so" ]; then
    expect "without a plugin nothing is started" 77 "without StarPU" run true
    done_testing
    exit
fi

# The command apart from its plugin: a plugin that was built and is not installed.
if cp "${builddir:-.}/.libs/starpool" "$scratch/alone" 2>/dev/null &&
    LD_LIBRARY_PATH=${builddir:-.}/.libs "$scratch/alone" --version >/dev/null 2>&1; then
    LD_LIBRARY_PATH=${builddir:-.}/.libs "$scratch/alone" run true 2>"$scratch/err"
    rc=$?
    if [ "$rc" -eq 77 ] && grep -q "not installed in" "$scratch/err" &&
        ! grep -q "without StarPU" "$scratch/err"; then
        ok "a plugin that is not installed is told from a build without StarPU"
    elif [ "$rc" -eq 0 ]; then
        skip "a plugin that is not installed is told from a build without StarPU" \
            "one is installed"
    else
        not_ok "a plugin that is not installed is told from a build without StarPU" \
            "exit status $rc" "$(cat "$scratch/err")"
    fi
else
    skip "a plugin that is not installed is told from a build without StarPU" \
        "the command cannot be moved"
fi
case ${SP_SANITIZER_NAME:-no} in
no) ;;
address*)
    # The programs below know nothing of the sanitizer that comes with the plugin.
    ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
    export ASAN_OPTIONS
    ;;
*)
    skip "programs keep what is theirs" "this sanitizer cannot be preloaded"
    done_testing
    exit
    ;;
esac

expect "the exit status is the program's" 7 "" run sh -c 'exit 7'
expect "the program's own 2 is kept" 2 "" run -- sh -c 'exit 2'

"$tool" run sh -c 'kill -TERM $$' 2>/dev/null
rc=$?
if [ "$rc" -eq 143 ]; then
    ok "a signal ends the program itself"
else
    not_ok "a signal ends the program itself" "exit status $rc, not 143"
fi

out=$("$tool" run -- sh -c 'printf "<%s>" "$@"' sh 'a b' '' '*' --report 2>/dev/null)
if [ "$out" = '<a b><><*><--report>' ]; then
    ok "arguments arrive as they are"
else
    not_ok "arguments arrive as they are" "$out"
fi

out=$("$tool" run --host-limit=2G --lock --numa-policy strict env 2>/dev/null |
    grep '^STARPOOL_' | grep -v '^STARPOOL_TEST_' | sort | tr '\n' ' ')
if [ "$out" = 'STARPOOL_HOST_LIMIT=2G STARPOOL_LOCK=1 STARPOOL_NUMA_POLICY=strict ' ]; then
    ok "options become variables"
else
    not_ok "options become variables" "$out"
fi

# The inner shell expands it.
# shellcheck disable=SC2016
out=$(KEPT='x  y' "$tool" run sh -c 'echo "$KEPT"')
if [ "$out" = 'x  y' ]; then
    ok "the environment is kept"
else
    not_ok "the environment is kept" "$out"
fi

out=$(LD_PRELOAD=libm.so.6 "$tool" run env | sed -n 's/^LD_PRELOAD=//p')
case $out in
*starpool_starpu.so:libm.so.6) ok "the plugin goes in front of what is preloaded already" ;;
*) not_ok "the plugin goes in front of what is preloaded already" "$out" ;;
esac

out=$(echo input | "$tool" run cat)
if [ "$out" = input ]; then
    ok "standard input is the program's"
else
    not_ok "standard input is the program's" "$out"
fi

printf '#!/bin/sh\nexit 5\n' >"$scratch/script"
chmod +x "$scratch/script"
expect "a script is run" 5 "" run "$scratch/script"

printf '#!/no/such/interpreter\n' >"$scratch/orphan"
chmod +x "$scratch/orphan"
expect "a missing interpreter is named" 127 "interpreter is missing" run "$scratch/orphan"

# The first half of an ELF file: the kernel refuses it, and the command must not stumble.
head -c 300 "$(command -v env)" >"$scratch/torn"
chmod +x "$scratch/torn"
"$tool" run "$scratch/torn" >/dev/null 2>"$scratch/err"
rc=$?
if [ "$rc" -gt 0 ] && [ "$rc" -le 127 ]; then
    ok "a damaged program ends in a status"
else
    not_ok "a damaged program ends in a status" "exit status $rc"
fi
if grep -q "is damaged" "$scratch/err" && ! grep -q "statically" "$scratch/err"; then
    ok "a damaged program is not called a static one"
else
    not_ok "a damaged program is not called a static one" "$(cat "$scratch/err")"
fi

echo 'int main(void) { return 5; }' >"$scratch/five.c"
if ${CC:-cc} -static -o "$scratch/static" "$scratch/five.c" 2>/dev/null; then
    expect "a static program runs, with a word about it" 5 "linked statically" \
        run "$scratch/static"
else
    skip "a static program runs, with a word about it" "the compiler cannot link statically"
fi

# Built by gcc, the library of a sanitizer is a shared one; AddressSanitizer's must come first. A
# plugin with a sanitizer of its own tells nothing here.
for sanitizer in address thread undefined; do
    name="a program with gcc's $sanitizer sanitizer runs"
    [ "${SP_SANITIZER_NAME:-no}" = no ] || break
    if ${CC:-cc} -fsanitize=$sanitizer -o "$scratch/$sanitizer" "$scratch/five.c" \
        2>/dev/null && "$scratch/$sanitizer" 2>/dev/null || [ $? -eq 5 ]; then
        expect "$name" 5 "" run "$scratch/$sanitizer"
    else
        skip "$name" "the compiler has no such sanitizer"
    fi
done
# A library with the name and no more: what is written to LD_PRELOAD, whatever the compiler has.
echo 'extern char **environ; int puts(const char *);
int main(void) { for (char **v = environ; *v; v++) puts(*v); return 0; }' >"$scratch/print.c"
if ${CC:-cc} -shared -fPIC -Wl,-soname,libasan.so.99 -o "$scratch/libasan.so.99" -x c - </dev/null \
    2>/dev/null &&
    ${CC:-cc} -Wl,--no-as-needed -o "$scratch/print" "$scratch/print.c" "$scratch/libasan.so.99" \
        -Wl,-rpath,"$scratch" 2>/dev/null; then
    out=$(LD_PRELOAD=libm.so.6 "$tool" run "$scratch/print" | sed -n 's/^LD_PRELOAD=//p')
    case $out in
    "$scratch/libasan.so.99:"*starpool_starpu.so:libm.so.6)
        ok "AddressSanitizer's library goes in front of the plugin"
        ;;
    *) not_ok "AddressSanitizer's library goes in front of the plugin" "$out" ;;
    esac
else
    skip "AddressSanitizer's library goes in front of the plugin" "no compiler"
fi
echo 'int starpu_init(void *); int starpu_init(void *p) { return p != 0; }
int main(void) { return starpu_init(0) + 6; }' >"$scratch/own.c"
if ${CC:-cc} -o "$scratch/own" "$scratch/own.c" 2>/dev/null; then
    expect "a program with its own StarPU runs, with a word about it" 6 "StarPU linked into it" \
        run "$scratch/own"
else
    skip "a program with its own StarPU runs, with a word about it" "no compiler"
fi
echo 'int main(void) { return 0; }' >"$scratch/other.c"
if ${CC:-cc} -shared -fPIC -Wl,-soname,libstarpu-9.9.so.1 -o "$scratch/libstarpu-9.9.so.1" \
    "$scratch/five.c" 2>/dev/null &&
    ${CC:-cc} -Wl,--no-as-needed -o "$scratch/other" "$scratch/other.c" \
        "$scratch/libstarpu-9.9.so.1" -Wl,-rpath,"$scratch" 2>/dev/null; then
    expect "another StarPU than the plugin's runs, with a word about it" 0 "loads starpu-9.9" \
        run "$scratch/other"
else
    skip "another StarPU than the plugin's runs, with a word about it" "no compiler"
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    chmod 755 "$scratch"
    cp "$(command -v env)" "$scratch/suid"
    chmod 4755 "$scratch/suid"
    if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$tool" &&
        setpriv --reuid=65534 --regid=65534 --clear-groups "$tool" --version >/dev/null 2>&1; then
        setpriv --reuid=65534 --regid=65534 --clear-groups \
            "$tool" run "$scratch/suid" true 2>"$scratch/err"
        if grep -q "ignores LD_PRELOAD" "$scratch/err"; then
            ok "a set-user-id program runs, with a word about it"
        else
            not_ok "a set-user-id program runs, with a word about it" "$(cat "$scratch/err")"
        fi
    else
        skip "a set-user-id program runs, with a word about it" "others cannot reach the build"
    fi
else
    skip "a set-user-id program runs, with a word about it" "needs root, setpriv"
fi

done_testing

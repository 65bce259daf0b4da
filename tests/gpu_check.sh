#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks a real driver against what the CPU model does, on a machine with a GPU, which needs neither
# Autotools nor a network:
#
#   tests/gpu_check.sh REPORT                there, from these sources: compiles with cc, runs, and
#                                            writes one report, within 10 minutes
#   tests/gpu_check.sh pack DIR [BUILDDIR]   here, where there is a build: DIR gets the programs,
#                                            their libraries and run.sh, for a machine without a
#   DIR/run.sh REPORT                        compiler; there
#   tests/gpu_check.sh switches REPORT       prints the setting of the CPU model that behaves as the
#                                            driver of the report
#
# Ends with 0 if no case failed, 1 if one did, 77 if there is no driver or no device, 2 if nothing
# could be run.
set -eu
limit=600 # [s] for everything

fail()
{
    echo "$0: $1" >&2
    exit 2
}

usage()
{
    echo "usage: $0 REPORT | pack DIR [BUILDDIR] | switches REPORT" >&2
    exit 2
}

source=$(cd "$(dirname "$0")/.." && pwd)

# ---- carrying what was built -------------------------------------------------------------------
# find_program BUILDDIR FOLDER NAME: libtool's program is a script where it links a library that is
# not installed.
find_program()
{
    for program in "$1/$2/.libs/$3" "$1/$2/$3"; do
        if [ "$(dd if="$program" bs=1 skip=1 count=3 2>/dev/null)" = ELF ]; then
            echo "$program"
            return
        fi
    done
    fail "$1/$2/$3 is not built"
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

pack()
{
    program=$(find_program "$2" tests conformance_cuda)
    stress=$(find_program "$2" tests test_capture_stress)
    [ ! -e "$1" ] || fail "$1 is there already"
    mkdir -p "$1/lib" "$1/libc" "$1/stress"
    cp "$program" "$1/conformance_cuda"
    cp "$stress" "$1/stress/"
    copy_libraries "$program" "$1"
    copy_libraries "$stress" "$1"
    if [ -e "$2/bench/device" ]; then
        bench=$(find_program "$2" bench device)
        cp "$bench" "$1/bench_device"
        copy_libraries "$bench" "$1"
    fi
    cp "$source/tests/gpu_run.sh" "$1/run.sh"
    cp "$source/src/model/switches.def" "$1/"
    chmod +x "$1/run.sh"
    echo "$1 is packed; there: $1/run.sh REPORT"
}

# ---- building it here --------------------------------------------------------------------------
# has HEADER LIBRARY: this machine has both.
has()
{
    printf '#include <%s>\nint main(void) { return 0; }\n' "$1" >"$build/try.c"
    # CPPFLAGS holds several words.
    # shellcheck disable=SC2086
    $CC $CPPFLAGS -o "$build/try" "$build/try.c" "-l$2" >/dev/null 2>&1
}

# The files to compile. Of cmocka the tests take ours, which is the same everywhere; without hwloc
# there is one NUMA node, and without jansson no reader of graphs, which nothing here reads.
list_sources()
{
    cd "$source"
    for file in src/util/*.c src/heap/*.c src/driver/*.c src/model/*.c src/pool/*.c src/trace/*.c \
        numa/*.c graph/*.c tests/gpu/cmocka.c tests/support.c tests/fixture.c tests/script.c \
        tests/driver_fixture.c tests/capture_fixture.c $(suite) tests/test_capture_stress.c; do
        case $file in
        numa/topo*) [ -z "$hwloc" ] || echo "$file" ;;
        graph/read_json.c) [ -z "$jansson" ] || echo "$file" ;;
        *) echo "$file" ;;
        esac
    done
    [ -n "$hwloc" ] || echo tests/gpu/no_topo.c
}

# The conformance suite's own files: its cases and harness, and the one program.
suite()
{
    for file in tests/conformance_*.c; do
        grep -q 'int main(' "$file" || echo "$file"
    done
    echo tests/conformance_cuda.c
}

object()
{
    echo "$build/$(echo "${1%.c}" | tr / _).o"
}

compile_all()
{
    version=$(sed -n 's/^AC_INIT(\[starpool\], \[\(.*\)\])$/\1/p' "$source/configure.ac")
    cat >"$build/config.h" <<EOF
#define PACKAGE_VERSION "$version"
#define SP_CHECKS 1
#define HAVE_VALGRIND_MEMCHECK_H 0
EOF
    cat >"$build/compile" <<EOF
#!/bin/sh
cd '$source'
for file; do
    out='$build'/\$(echo "\${file%.c}" | tr / _).o
    $CC $CPPFLAGS -std=gnu11 -O1 -w -D_GNU_SOURCE -pthread -Itests/gpu -I'$build' -Iinclude \\
        -Isrc -I. -c "\$file" -o "\$out" || exit 255
done
EOF
    list_sources >"$build/files"
    xargs -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" -n 4 sh "$build/compile" \
        <"$build/files" >"$build/log" 2>&1 || {
        tail -n 20 "$build/log" >&2
        fail "the sources do not compile here: see above"
    }
}

# link PROGRAM FILE...: of these files, and of the others what they need.
link()
{
    target=$1
    shift
    objects=
    for file; do
        objects="$objects $(object "$file")"
    done
    # shellcheck disable=SC2086
    $CC -pthread -o "$target" $objects "$build/libcore.a" $hwloc $jansson -ldl -lm >"$build/log" 2>&1 || {
        tail -n 20 "$build/log" >&2
        fail "${target##*/} cannot be linked here: see above"
    }
}

build_programs()
{
    hwloc='' jansson=''
    ! has hwloc.h hwloc || hwloc=-lhwloc
    ! has jansson.h jansson || jansson=-ljansson
    compile_all
    objects=
    for file in "$build"/*.o; do
        case ${file##*/} in
        tests_conformance* | tests_test_*) ;;
        *) objects="$objects ${file##*/}" ;;
        esac
    done
    # shellcheck disable=SC2086
    (cd "$build" && ar rcs libcore.a $objects)
    mkdir -p "$folder/lib" "$folder/stress"
    # shellcheck disable=SC2046
    link "$folder/conformance_cuda" $(cd "$source" && suite)
    link "$folder/stress/test_capture_stress" tests/test_capture_stress.c
    if [ -f "$source/bench/device.c" ]; then
        build_bench
    fi
    {
        echo "compiler: $($CC --version 2>/dev/null | head -n 1)"
        [ -n "$hwloc" ] || echo "without hwloc: one NUMA node, to which nothing is bound"
    } >"$folder/built"
}

# The benchmark's programs are found by their names.
build_bench()
{
    bench=$(cd "$source" && echo bench/bench.c bench/device*.c)
    # shellcheck disable=SC2086
    sh "$build/compile" $bench >"$build/log" 2>&1 || return 0
    # shellcheck disable=SC2086
    link "$folder/bench_device" $bench
}

check()
{
    begun=$(date +%s)
    CC=${CC:-cc} CPPFLAGS=${CPPFLAGS-}
    command -v "$CC" >/dev/null || fail "there is no C compiler: carry a build here (pack)"
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    build=$folder/build
    mkdir "$build"
    build_programs
    cp "$source/tests/gpu_run.sh" "$folder/run.sh"
    cp "$source/src/model/switches.def" "$folder/"
    STARPOOL_TEST_LIMIT=$((${STARPOOL_TEST_LIMIT:-$limit} - $(date +%s) + begun))
    export STARPOOL_TEST_LIMIT
    status=0
    sh "$folder/run.sh" "$1" || status=$?
    tail -n 1 "$1"
    exit $status
}

[ $# -ge 1 ] || usage
case $1 in
pack)
    case $# in 2 | 3) ;; *) usage ;; esac
    pack "$2" "${3:-.}"
    ;;
switches)
    [ $# -eq 2 ] || usage
    grep '^STARPOOL_MODEL_SWITCHES=' "$2" || fail "$2 is no whole report"
    ;;
-*) usage ;;
*)
    [ $# -eq 1 ] || usage
    check "$1"
    ;;
esac

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The ways in and out of the plugin: who is served and who is left alone, by which mechanism, and
# where the report goes.
set -u
. "${srcdir:-.}/tests/taplib.sh"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
. "${srcdir:-.}/tests/starpu/lib.sh"

build_program doors
doors=$scratch/doors
report=$scratch/report.json

silent()
{
    ! [ -s "$scratch/err" ]
}

tells()
{
    grep -q -e "$1" "$scratch/err"
}

# ---- programs that never load StarPU -----------------------------------------------------------
under STARPOOL_REPORT="$report" STARPOOL_HOST_LIMIT=rubbish sh -c 'ls / >/dev/null; exit 3'
rc=$?
holds "a program without StarPU keeps its exit status" [ $rc -eq 3 ]
holds "and hears nothing, not even of a bad option" silent
holds "and writes no report" [ ! -e "$report" ]
under STARPOOL_REPORT="$scratch/child-%p.json" sh -c "'$doors' each_door && '$doors' late_frees"
set -- "$scratch"/child-*.json
holds "its children that do are served, and write a report each" [ $# -eq 2 ]

# ---- link order ---------------------------------------------------------------------------------
plugin_dir=$(dirname "$plugin")
# shellcheck disable=SC2086
if build "$scratch/linked" doors.c -Wl,--no-as-needed -L"$plugin_dir" -l:starpool_starpu.so \
    -Wl,-rpath,"$plugin_dir" -Wl,-rpath-link,"$plugin_dir" $STARPU_LIBS 2>"$scratch/err"; then
    bare STARPOOL_REPORT="$report" "$scratch/linked" each_door
    rc=$?
    holds "a program that is linked with the plugin first is served" [ $rc -eq 0 ]
    holds "and the report says how" grep -q '"interposer": "link"' "$report"
    # Twice: preloaded as well, from another file.
    cp "$plugin" "$scratch/starpool_starpu.so"
    bare LD_PRELOAD="${runtime:+$runtime:}$scratch/starpool_starpu.so" "$scratch/linked" each_door
    rc=$?
    holds "a second copy of the plugin changes nothing" [ $rc -eq 0 ]
    # shellcheck disable=SC2086
    build "$scratch/linked_last" doors.c -Wl,--no-as-needed $STARPU_LIBS -L"$plugin_dir" \
        -l:starpool_starpu.so -Wl,-rpath,"$plugin_dir" -Wl,-rpath-link,"$plugin_dir"
    bare STARPOOL_REPORT="$report" "$scratch/linked_last" each_door
    rc=$?
    holds "linked in the wrong order it is served too" [ $rc -eq 0 ]
    holds "by redirected calls" grep -q '"interposer": "got"' "$report"
    # shellcheck disable=SC2086
    build "$scratch/linked_now" doors.c -Wl,-z,now,-z,relro -Wl,--no-as-needed $STARPU_LIBS \
        -L"$plugin_dir" -l:starpool_starpu.so -Wl,-rpath,"$plugin_dir" -Wl,-rpath-link,"$plugin_dir"
    bare "$scratch/linked_now" each_door
    rc=$?
    holds "also where the table of calls is read-only" [ $rc -eq 0 ]
else
    not_ok "the plugin can be linked with" "$(cat "$scratch/err")"
fi

# ---- opened before libstarpu --------------------------------------------------------------------
libstarpu=$(ldd "$doors" | sed -n 's/.*libstarpu-[^ ]* => \([^ ]*\) .*/\1/p')
build "$scratch/early" early.c
for scope in local global; do
    bare ${runtime:+LD_PRELOAD="$runtime"} "$scratch/early" $scope "$plugin" "$libstarpu"
    rc=$?
    if [ $scope = local ]; then
        holds "opened before libstarpu and RTLD_LOCAL, the plugin is in nobody's way" [ $rc -eq 0 ]
        holds "and says what to do" tells 'not served: .* RTLD_GLOBAL'
        holds "in one line" [ "$(wc -l <"$scratch/err")" -eq 1 ]
    else
        holds "with RTLD_GLOBAL it serves" [ $rc -eq 0 ]
        holds "without a word" silent
    fi
done

# ---- a StarPU that is linked in ----------------------------------------------------------------
archive=$(pkg-config --variable=libdir starpu-1.3 2>/dev/null)/libstarpu-1.3.a
name="a program that StarPU is linked into is left alone"
if [ -e "$archive" ] && build "$scratch/static" doors.c "$archive" -lhwloc -lOpenCL \
    -l:libglpk.so.40 -lm -lrt \
    2>"$scratch/err"; then
    under STARPOOL_REPORT="$scratch/static.json" "$scratch/static" each_door
    holds "$name" grep -q 'is_ours' "$scratch/err"
    holds "and told so" [ "$(grep -c 'is linked into this program' "$scratch/err")" -eq 1 ]
    holds "without a report" [ ! -e "$scratch/static.json" ]
    bare "$scratch/static" plain
    without=$?
    under "$scratch/static" plain
    holds "and runs as before" [ $? -eq $without ]
else
    skip "$name" "no static libstarpu with all it needs"
fi

# ---- other builds of StarPU ---------------------------------------------------------------------
# small_starpu NAME MAJOR MINOR: a small StarPU of that version, and a program on it.
small_starpu()
{
    build "$scratch/libstarpu-$1.so" other_starpu.c -shared -fPIC -fvisibility=protected \
        -Wl,-soname,"libstarpu-$1.so" -DMAJOR="$2" -DMINOR="$3" &&
        build "$scratch/small-$1" small.c -L"$scratch" "-lstarpu-$1" -Wl,-rpath,"$scratch"
}

small_starpu 9.9 9 9
under STARPOOL_REPORT="$scratch/other.json" "$scratch/small-9.9" alone
rc=$?
holds "another version of StarPU is left alone" [ $rc -eq 0 ]
holds "and one line says so" tells 'StarPU 9\.9 and this plugin was built for [0-9]'
holds "one only" [ "$(wc -l <"$scratch/err")" -eq 1 ]
holds "without a report" [ ! -e "$scratch/other.json" ]

# The version that the plugin was built for, as it has just said itself.
minor=$(sed -n 's/.*was built for \([0-9]*\.[0-9]*\):.*/\1/p' "$scratch/err")
small_starpu direct "${minor%.*}" "${minor#*.}"
under STARPOOL_REPORT="$report" "$scratch/small-direct" served
rc=$?
holds "where libstarpu's own calls cannot be reached the hooks serve" [ $rc -eq 0 ]
holds "and it is said" tells 'linked with -Bsymbolic'
holds "and stands in the report" grep -q '"interposer": "none"' "$report"

# ---- where the report goes -----------------------------------------------------------------------
umask 022
rm -f "$report"
OMPI_COMM_WORLD_RANK=3 && export OMPI_COMM_WORLD_RANK
under STARPOOL_REPORT="$scratch/%r-%%-r.json" "$doors" each_door
holds "%r is the rank and %% a percent sign" [ -s "$scratch/3-%-r.json" ]
unset OMPI_COMM_WORLD_RANK
holds "the rank stands in the report" [ "$(number rank "$scratch/3-%-r.json")" -eq 3 ]
mode=$(stat -c %a "$scratch/3-%-r.json")
holds "the file is its owner's only" [ "$mode" = 600 ]
echo old >"$report"
chmod 644 "$report"
under STARPOOL_REPORT="$report" "$doors" each_door
mode=$(stat -c %a "$report")
holds "an old file is written over, and closed to others" [ "$mode" = 600 ]
holds "whole" [ "$(head -c 1 "$report")" = '{' ]
echo precious >"$scratch/precious"
ln -s precious "$scratch/link.json"
ln "$scratch/precious" "$scratch/second.json"
mkfifo "$scratch/pipe.json"
for kind in link second pipe; do
    under STARPOOL_REPORT="$scratch/$kind.json" "$doors" each_door
    rc=$?
    holds "no report goes through a $kind; the program does not fail" [ $rc -eq 0 ]
    holds "and it is said" tells "no report: .*$kind.json: "
done
holds "what a link leads to is intact" [ "$(cat "$scratch/precious")" = precious ]
under STARPOOL_REPORT="$scratch/missing/report.json" "$doors" each_door
holds "a folder that is not there is said" tells "no report: .*missing"
for value in 1 stderr; do
    under STARPOOL_REPORT=$value "$doors" each_door
    holds "STARPOOL_REPORT=$value is text on stderr" tells 'interposer preload, hooks installed'
done
under STARPOOL_REPORT=1 "$doors" idle
holds "a StarPU that asked for nothing is said to have done so" tells 'StarPU asked for no memory'
(cd "$scratch" && under STARPOOL_REPORT=0 "$doors" each_door)
holds "STARPOOL_REPORT=0 is no report" [ ! -e "$scratch/0" ]
holds "nor a word" silent
mkdir "$scratch/at %p"
(cd "$scratch/at %p" && under STARPOOL_REPORT=from-here.json "$doors" elsewhere)
holds "a relative name is from where the program started" [ -s "$scratch/at %p/from-here.json" ]
under STARPOOL_REPORT=1 sh -c "exec 2>&-; exec '$doors' each_door"
rc=$?
holds "nor does a closed stderr matter" [ $rc -eq 0 ]
under STARPOOL_REPORT="$report" STARPOOL_HUGE=enormous STARPOOL_HOST_LIMIT=-5 "$doors" each_door
holds "an option that does not parse is named once" [ "$(grep -c 'STARPOOL_HUGE=enormous' "$scratch/err")" -eq 1 ]
holds "and stands in the report" grep -q '"STARPOOL_HUGE"' "$report"
holds "with every other" grep -q '"STARPOOL_HOST_LIMIT"' "$report"
if command -v python3 >/dev/null; then
    holds "the report is JSON" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$report"
else
    skip "the report is JSON" "python3 is not installed"
fi

done_testing

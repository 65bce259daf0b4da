#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `starpool report`, `replay` and `verify`, on traces of a small program and on its memory.
set -u
. "${srcdir:-.}/tests/taplib.sh"

tool=${builddir:-.}/starpool
sample=${builddir:-.}/tests/trace_sample
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

[ -x "$tool" ] || skip_all "the command is not built"
[ -x "$sample" ] || skip_all "tests/trace_sample is not built"

for kind in sound broken unordered; do
    "$sample" "$kind" "$scratch/$kind" || {
        echo "Bail out! no trace '$kind'"
        exit 99
    }
done
head -c 1000 "$scratch/sound" >"$scratch/cut"

# run STATUS NAME COMMAND [ARGUMENT...]: it ends with that status; its output is in $scratch.
run()
{
    expected=$1
    name=$2
    shift 2
    "$tool" "$@" >"$scratch/out" 2>"$scratch/err"
    rc=$?
    check "$name" "$([ "$rc" -eq "$expected" ] ||
        echo "exit status $rc: $(head -n 20 "$scratch/out" "$scratch/err")")"
}

# contains NAME FILE PATTERN
contains()
{
    if grep -q -e "$3" "$2"; then
        ok "$1"
    else
        not_ok "$1" "no line matches '$3':" "$(cat "$2")"
    fi
}

# Parsed where a parser is installed; else brackets and quotes are counted.
is_json()
{
    if command -v jq >/dev/null 2>&1; then
        jq -e type "$1" >/dev/null 2>&1
    elif command -v python3 >/dev/null 2>&1; then
        python3 -m json.tool "$1" >/dev/null 2>&1
    else
        tr -d '\n' <"$1" | awk '{
            gsub(/\\./, ""); n = gsub(/"[^"]*"/, "")
            o = gsub(/[{[]/, ""); c = gsub(/[]}]/, "")
            exit !(n > 0 && o > 0 && o == c && index($0, "\"") == 0) }'
    fi
}

# parses NAME: what was written last is JSON.
parses()
{
    if is_json "$scratch/out"; then
        ok "$1"
    else
        not_ok "$1" "$(cat "$scratch/out")"
    fi
}

# ---- report -----------------------------------------------------------------------------------
run 0 "report reads a whole trace" report "$scratch/sound"
contains "report names the pool" "$scratch/out" '^Pool 1 "sample, with a comma", HOST'
contains "report counts refusals by status" "$scratch/out" 'refused with ENOMEM: 1$'
contains "report tells peaks" "$scratch/out" 'at most  *2 blocks, 8 KiB in use, 256 KiB reserved'
contains "report tells what was never freed" "$scratch/out" 'never freed'
run 0 "report writes JSON" report --json "$scratch/sound"
parses "report's JSON parses"
run 0 "report writes CSV" report --csv "$scratch/sound"
contains "a name with a comma is quoted" "$scratch/out" '^1,"sample, with a comma",HOST,0,128,127,1,1,'
run 0 "report writes all events as CSV" report --events=csv "$scratch/sound"
n=$(wc -l <"$scratch/out")
check "each event is a line" "$([ "$n" -eq 266 ] || echo "$n lines, not 266")"
run 0 "report writes all events as JSON" report --events=json "$scratch/sound"
parses "the events' JSON parses"
run 2 "report of a trace that is cut is a failure" report "$scratch/cut"
contains "the place and the reason are told" "$scratch/err" 'byte 992: the file ends inside an entry'
contains "what is there is shown all the same" "$scratch/out" '^Pool 1'
run 2 "report of another file is a failure" report "$0"
contains "it is told to be no trace" "$scratch/err" 'byte 0: it is no trace'
check "nothing is shown of it" "$(cat "$scratch/out")"
run 2 "report of no file is a failure" report "$scratch/missing"
contains "the system's reason is told" "$scratch/err" 'No such file'
for command in report replay verify; do
    run 2 "$command of a folder is a failure" "$command" "$scratch"
    contains "$command tells a folder from a file" "$scratch/err" 'it is no file, but a directory'
done
for command in report replay verify; do
    run 2 "$command of another file is a failure with --json" "$command" --json "$0"
    parses "$command's JSON parses where there is nothing to tell"
    contains "it tells that the trace is not whole" "$scratch/out" '"is_whole": false'
done

# ---- verify, of a trace -----------------------------------------------------------------------
run 0 "verify finds a sound trace sound" verify "$scratch/sound"
contains "the order was checked" "$scratch/out" 'the order of 128 allocations checked'
run 1 "verify finds a second free" verify "$scratch/broken"
contains "the block is named" "$scratch/out" '0x101000 is freed, and no live block begins there'
run 1 "verify finds a reuse without order" verify "$scratch/unordered"
contains "the reuse is named" "$scratch/out" '0x100000 is taken, and its last free need not be over'
run 1 "verify's verdict is the same as JSON" verify --json "$scratch/broken"
parses "verify's JSON parses"
run 2 "verify of a trace that is cut is a failure" verify "$scratch/cut"

# ---- verify, of a process ---------------------------------------------------------------------
run 2 "a process that there is not is a failure" verify 4194999
contains "how a file of that name is written is told" "$scratch/err" \
    'there is no process 4194999; a file of that name is written ./4194999'
mkfifo "$scratch/in" "$scratch/ready"
"$sample" pages <"$scratch/in" >"$scratch/ready" &
pid=$!
exec 3>"$scratch/in" 4<"$scratch/ready"
if read -r line <&4 && [ "$line" = ready ] && [ -r "/proc/$pid/numa_maps" ]; then
    run 0 "pages on their node are right" verify "$pid"
    contains "the mapping is shown" "$scratch/out" 'bind:0  *1 pages there, 0 elsewhere'
    run 0 "pages are told as JSON" verify --json "$pid"
    parses "the pages' JSON parses"
else
    skip "pages on their node are right" "memory cannot be bound here, or there is no numa_maps"
fi
exec 3>&- 4<&-
wait "$pid"

# ---- replay -----------------------------------------------------------------------------------
run 0 "replay makes the requests again" replay "$scratch/sound"
contains "none is refused without a limit" "$scratch/out" 'requests  *129, 0 refused'
contains "frees are told" "$scratch/out" 'frees  *127,'
check "progress is for terminals only" "$(cat "$scratch/err")"
run 1 "a limit makes requests fail" replay --limit=512K "$scratch/sound"
contains "refusals are counted" "$scratch/out" 'requests  *129, 1 refused'
run 0 "sizes can be scaled" replay --scale=0.25 --limit=512K "$scratch/sound"
run 0 "policies can be chosen" replay --policy=release=0 --reuse=follow,internal "$scratch/sound"
run 0 "replay writes JSON" replay --json "$scratch/sound"
parses "replay's JSON parses"
run 0 "replay runs on the model" replay --model "$scratch/sound"
contains "the model serves all of it" "$scratch/out" 'requests  *129, 0 refused'
fault=cuMemPoolCreate
STARPOOL_MODEL_FAULTS=$fault@1=OUT_OF_MEMORY,$fault@2=OUT_OF_MEMORY
export STARPOOL_MODEL_FAULTS
run 1 "without a pool every request is refused" replay --model "$scratch/sound"
contains "these refusals are counted" "$scratch/out" 'requests  *129, 129 refused'
unset STARPOOL_MODEL_FAULTS
run 2 "replay of a trace that is cut is a failure" replay "$scratch/cut"
run 2 "replay of another file is a failure" replay "$0"
for option in --limit=much --scale=0 --scale=x --policy=sometimes --reuse=all --reuse= --reuse=,; do
    run 2 "$option is a mistake" replay "$option" "$scratch/sound"
done

# ---- all of them ------------------------------------------------------------------------------
for command in replay report verify; do
    run 0 "$command has a help text" "$command" --help
    contains "it tells the exit status" "$scratch/out" 'xit status'
    run 2 "$command wants an argument" "$command"
    run 2 "$command wants no second one" "$command" "$scratch/sound" "$scratch/sound"
    run 2 "$command knows its options" "$command" --frobnicate "$scratch/sound"
    if [ -w /dev/full ]; then
        "$tool" "$command" "$scratch/sound" >/dev/full 2>"$scratch/err"
        rc=$?
        check "$command tells a full disk" "$([ "$rc" -eq 1 ] || echo "exit status $rc")"
    fi
done

# ---- a program's own trace --------------------------------------------------------------------
program=${builddir:-.}/examples/pool
if [ -x "$program" ] && STARPOOL_TRACE=$scratch/pool-%p "$program" >/dev/null 2>"$scratch/err" &&
    set -- "$scratch"/pool-* && [ -f "$1" ]; then
    trace=$1
    run 0 "the trace of a program is sound" verify "$trace"
    run 0 "it can be replayed" replay "$trace"
    run 0 "it can be summed up" report "$trace"
    contains "it has the program's allocations" "$scratch/out" 'allocations  *[1-9]'
else
    skip "the trace of a program is sound" "examples/pool does not run here"
fi

# Which allocates by StarPU, from several threads. A sanitizer's run-time library would have to be
# preloaded in front of the plugin: tests/starpu/lib.sh does that for the other tests.
program=${builddir:-.}/examples/starpu_vector
STARPU_SILENT=1 STARPU_NCPU=2 STARPU_HOME=$scratch
export STARPU_SILENT STARPU_NCPU STARPU_HOME
if [ "${SP_SANITIZER_NAME:-no}" = no ] && [ -x "$program" ] &&
    timeout --kill-after=5 120 "$tool" run --trace="$scratch/vector-%p" -- "$program" \
        >/dev/null 2>"$scratch/err"; then
    set -- "$scratch"/vector-*
    run 0 "the trace of a StarPU program is sound" verify "$1"
    contains "nothing in it is wrong" "$scratch/out" '^problems: 0$'
    run 0 "its requests can be replayed" replay "$1"
    run 0 "what it did can be summed up" report "$1"
    contains "the pools that served StarPU are in it" "$scratch/out" '^Pool 1 "StarPU node 0'
else
    skip "the trace of a StarPU program is sound" "examples/starpu_vector does not run here"
fi

done_testing

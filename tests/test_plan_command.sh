#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `starpool plan`: every form in and out, what it says, and how it ends.
set -u
. "${srcdir:-.}/tests/taplib.sh"

tool=${builddir:-.}/starpool
data=${srcdir:-.}/tests/data/dsa
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

[ -x "$tool" ] || skip_all "the command is not built"

# run STATUS NAME ARGUMENT...: `starpool plan` ends with that status; its output is in $scratch.
run()
{
    expected=$1
    name=$2
    shift 2
    "$tool" plan "$@" >"$scratch/out" 2>"$scratch/err"
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
        not_ok "$1" "no line matches '$3':" "$(head -n 40 "$2")"
    fi
}

# Two branches that each have a block; with an edge more one block after the other would do.
cat >"$scratch/fork.json" <<'JSON'
{
  "starpool_graph": 1,
  "name": "fork <&> \"join\"",
  "nodes": [
    {"kind": "empty"}, {"kind": "kernel", "name": "left"}, {"kind": "kernel"}, {"kind": "empty"}
  ],
  "edges": [
    {"from": 0, "to": 1}, {"from": 0, "to": 2}, {"from": 1, "to": 3}, {"from": 2, "to": 3}
  ],
  "blocks": [
    {"size": 4096, "location": "device 0", "alloc": 1, "free": 1},
    {"size": 4096, "location": "device 0", "alloc": 2, "free": 2},
    {"size": 100, "location": "host", "name": "h", "is_input": true, "is_output": true}
  ]
}
JSON

# ---- what it says -----------------------------------------------------------------------------
run 0 "a graph of nodes is planned" "$scratch/fork.json"
contains "the graph is named" "$scratch/out" '^Graph "fork <&> "join"" of 4 nodes, 4 edges and 3 blocks'
contains "concurrent blocks have a place each" "$scratch/out" '^device 0 *2 *8192 *8192 *8192  *0\.000  yes'
contains "each location has a row" "$scratch/out" '^host *1 *256 *256 *256 '
check "progress is for terminals only" "$(cat "$scratch/err")"
run 0 "sizes can be taken as they are" --alignment=1 "$scratch/fork.json"
contains "then nothing is rounded" "$scratch/out" '^host *1 *100 *100 *100 '
run 0 "edges can be added" --add-edges --check "$scratch/fork.json"
contains "the peak is lower" "$scratch/out" '^device 0 *2 *8192 *4096 '
contains "the edge is told with what it saves" "$scratch/out" '  node [12].* before node [12].*: 4 KiB of device 0'
contains "the checker is content" "$scratch/out" '^The check found nothing wrong'
run 1 "what does not fit is told" --capacity=6K "$scratch/fork.json"
contains "the location that does not fit is told" "$scratch/out" '^device 0 .* \(no\|never\) '
run 0 "with edges it fits" --capacity=6K --add-edges "$scratch/fork.json"
run 0 "the result is JSON, too" --json --check "$scratch/fork.json"
contains "JSON has the peak" "$scratch/out" '"peak_bytes": 8192'
contains "JSON has the verdict" "$scratch/out" '"is_valid": true'
if command -v python3 >/dev/null 2>&1; then
    check "JSON parses" "$(python3 -m json.tool "$scratch/out" 2>&1 >/dev/null)"
else
    skip "JSON parses" "no python3"
fi

# ---- the instances of others ------------------------------------------------------------------
for name in A C E G J; do
    file=$data/$name.1048576.csv
    run 0 "$name fits in the capacity of its name" --time=20000 --check "$file"
    contains "$name has a row" "$scratch/out" '^anywhere  *[0-9].*  yes  '
done
run 1 "a byte less does not do" --capacity=1048575 --time=100 "$data/A.1048576.csv"
run 0 "without a capacity everything fits" --capacity=none --fast "$data/A.1048576.csv"

# ---- forms ------------------------------------------------------------------------------------
run 0 "all forms are written at once" --out="$scratch/x.json" --out="$scratch/x.csv" \
    --out="$scratch/x.dot" --out="$scratch/x.svg" "$scratch/fork.json"
contains "JSON has the plan" "$scratch/x.json" '"offsets": \['
contains "CSV has the offsets" "$scratch/x.csv" '^id,lower,upper,size,alignment,location,name,offset$'
contains "DOT has the nodes" "$scratch/x.dot" '^    n1 .*left'
contains "SVG has its names escaped" "$scratch/x.svg" 'fork &lt;&amp;&gt; &quot;join&quot;'
if command -v xmllint >/dev/null 2>&1; then
    check "SVG is XML" "$(xmllint --noout "$scratch/x.svg" 2>&1)"
else
    skip "SVG is XML" "no xmllint"
fi
run 0 "JSON that was written is read" "$scratch/x.json"
run 0 "CSV that was written is read" "$scratch/x.csv"
contains "it is linear time then" "$scratch/out" 'of 3 blocks with times'
cp "$scratch/x.svg" "$scratch/first.svg"
run 0 "the same graph is drawn again" --out="$scratch/x.svg" "$scratch/fork.json"
check "the picture is the same" "$(cmp "$scratch/x.svg" "$scratch/first.svg" 2>&1)"
run 0 "intervals are drawn" --fast --out="$scratch/a.svg" "$data/A.1048576.csv" --capacity=none
run 2 "intervals have no nodes to draw" --out="$scratch/a.dot" "$data/A.1048576.csv"
contains "that is told" "$scratch/err" 'has times and no nodes'
check "no file is left" "$(ls "$scratch/a.dot" 2>/dev/null)"
run 1 "what cannot be written is a failure" --out="$scratch/none/x.svg" "$scratch/fork.json"
contains "the system's reason is told" "$scratch/err" 'No such file'
contains "the result is shown all the same" "$scratch/out" '^device 0'

# ---- mistakes ---------------------------------------------------------------------------------
# broken NAME TEXT WORDS: a file of that text is refused with those words.
broken()
{
    printf '%b' "$2" >"$scratch/$1"
    run 2 "$1 is refused" "$scratch/$1"
    contains "$1: the reason is told" "$scratch/err" "^starpool plan: .*$1: $3"
    check "$1: nothing is shown" "$(cat "$scratch/out")"
}

broken empty.csv '' 'the file is empty'
broken short.csv 'id,lower,upper,size\n0,1,2,3\n1,2,3' 'line 3: 3 fields, and not 4'
broken twice.csv 'id,lower,upper,size\n0,1,2,3\n0,1,2,3\n' "line 3: id '0' is that of line 2"
broken minus.csv 'id,lower,upper,size\n0,1,2,-3\n' "line 2: size '-3' is no whole number"
broken huge.csv 'id,lower,upper,size\n0,1,2,99999999999999999999\n' 'line 2: size .* 2^63 or more'
broken open.json '{"starpool_graph": 1,\n' 'line 2: '
broken word.json '{"starpool_graph": 1,\n"color": 2}' "line 2: there is no key 'color' here"
broken cycle.json '{"starpool_graph": 1,\n"nodes": [{"kind": "host"}],\n"edges":
[{"from": 0, "to": 0}]}' 'line 2: there is a cycle'
broken picture.svg '<svg/>' 'DOT and SVG are written only'
run 2 "a file that is not there is refused" "$scratch/missing.csv"
contains "its reason is told" "$scratch/err" 'No such file'
run 2 "a folder is refused" "$scratch"
contains "it is told to be one" "$scratch/err" 'it is no file, but a directory'
mkfifo "$scratch/pipe"
run 2 "a pipe is refused" "$scratch/pipe"
for option in --capacity= --capacity=0 --capacity=much --time=-1 --time=x --alignment=3 \
    --alignment=0 --seed=x --out=x.txt --out=; do
    run 2 "$option is a mistake" "$option" "$scratch/fork.json"
done
printf '0,0,1,4611686018427387904\n' >"$scratch/large.csv"
run 2 "more bytes than can be planned are a mistake" "$scratch/large.csv"
contains "that they are too many is told" "$scratch/err" 'more than 2^62 bytes'
printf '{"starpool_graph": 1, "name": "a\302\2332Jb\\u001b[2J"}' >"$scratch/terminal.json"
run 0 "a name of commands for terminals is none" "$scratch/terminal.json"
contains "these are taken out of it" "$scratch/out" '^Graph "a?2Jb?\[2J" '
run 2 "an option that there is not is a mistake" --frobnicate "$scratch/fork.json"
run 2 "it wants a file"
run 2 "it wants no second one" "$scratch/fork.json" "$scratch/fork.json"
run 0 "it has a help text" --help
contains "that tells the exit status" "$scratch/out" 'xit status'
if [ -w /dev/full ]; then
    "$tool" plan "$scratch/fork.json" >/dev/full 2>"$scratch/err"
    rc=$?
    check "a full disk is told" "$([ "$rc" -eq 1 ] || echo "exit status $rc")"
fi

done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every name that Debian's CUDA-enabled StarPU, its tools and its examples import from NVIDIA's
# libraries is exported by the simulated ones, with the version that the programs ask for. Where
# StarPU was unpacked: STARPOOL_TEST_CONTRIB, or contrib in the build tree; the simulated libraries:
# STARPOOL_TEST_SIM, or sim in the build tree.
#
# Usage: tests/check_imports.sh [FILE...]   (all of them, unless some are named)
set -u
LC_ALL=C
export LC_ALL
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
contrib=${STARPOOL_TEST_CONTRIB:-${builddir:-.}/contrib}
sim=${STARPOOL_TEST_SIM:-${builddir:-.}/sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

libraries='libcuda libcudart libcublas libcublasLt libcusparse libnvidia-ml'

command -v objdump >/dev/null || skip_all "objdump is not here"
[ -d "$sim/cuda-11" ] || {
    echo "Bail out! there is no $sim/cuda-11: run make first"
    exit 99
}

# needs FILE: the libraries of ours that a file loads, by SONAME.
needs()
{
    objdump -p "$1" 2>/dev/null | sed -n 's/^ *NEEDED *//p' | while read -r soname; do
        case " $libraries " in
        *" ${soname%%.so*} "*) echo "$soname" ;;
        esac
    done
}

# symbols OPTION FILE: its dynamic symbols, "NAME VERSION", the version "-" if there is none.
# objdump puts an imported version in brackets, and "Base" for one that is only the file's own.
symbols()
{
    objdump -T "$2" 2>/dev/null | awk -v undefined="$1" '
        /^[0-9a-f]+ / {
            is_undefined = index($0, "*UND*") > 0
            if (is_undefined != (undefined == "imports"))
                next
            version = NF >= 2 ? $(NF - 1) : "-"
            gsub(/[()]/, "", version)
            if (version ~ /^[0-9a-f]+$/ || version == "Base")
                version = "-"
            print $NF, version
        }' | sort -u
}

# where SONAME: the folder of ours that has it; a program of one major finds one folder.
where()
{
    for folder in "$sim"/cuda-*; do
        if [ -e "$folder/$1" ]; then
            echo "$folder/$1"
            return
        fi
    done
}

# Names of NVIDIA's, by their prefix: not every import carries a version that tells.
ours='^(cu[A-Z]|cuda[A-Z]|__cuda|cublas|cusparse|nvml)'

# missing FILE: what it imports and ours have not, one a line.
missing()
{
    : >"$work/exports"
    for soname in $(needs "$1"); do
        library=$(where "$soname")
        if [ -z "$library" ]; then
            echo "$soname, needed by $1"
            continue
        fi
        symbols exports "$library" >>"$work/exports"
    done
    sort -u -o "$work/exports" "$work/exports"
    symbols imports "$1" | grep -E "$ours" | comm -23 - "$work/exports" |
        sed "s|\$|, imported by $1|"
}

# ---- the check fails when it should ---------------------------------------------------------------

# A library that needs the simulated NVML, and one name that it has not.
plant()
{
    printf 'int nvmlInit_v2(void);\nint %s(void);\nint planted(void);\n' "$1" >"$work/planted.c"
    printf 'int planted(void)\n{\n    return nvmlInit_v2() + %s();\n}\n' "$1" >>"$work/planted.c"
    ${CC:-cc} -shared -fPIC -o "$work/planted.so" "$work/planted.c" \
        "$sim/cuda-11/libnvidia-ml.so.1" -Wl,--allow-shlib-undefined 2>"$work/errors"
}

if plant nvmlShutdown; then
    check "what is there is found" "$(missing "$work/planted.so")"
    plant nvmlPlantedName
    case $(missing "$work/planted.so") in
    "nvmlPlantedName -, imported by "*) ok "a planted name is missed" ;;
    *) not_ok "a planted name is missed" "$(missing "$work/planted.so")" ;;
    esac
    # The right name with another library's version.
    printf 'libcublas.so.77 {\n    global:\n        cublasInit;\n};\n' >"$work/other.map"
    echo 'int cublasInit(void); int cublasInit(void) { return 0; }' >"$work/other.c"
    echo 'int cublasInit(void); int use(void); int use(void) { return cublasInit(); }' \
        >"$work/use.c"
    ${CC:-cc} -shared -fPIC -Wl,-soname,libcublas.so.11 -Wl,--version-script,"$work/other.map" \
        -o "$work/libother.so" "$work/other.c" &&
        ${CC:-cc} -shared -fPIC -o "$work/use.so" "$work/use.c" "$work/libother.so"
    case $(missing "$work/use.so") in
    "cublasInit libcublas.so.77, imported by "*) ok "a wrong version is missed" ;;
    *) not_ok "a wrong version is missed" "$(missing "$work/use.so")" ;;
    esac
else
    skip "what is there is found" "no compiler makes the file that is looked at"
fi

# ---- the programs ----------------------------------------------------------------------------------

if [ $# -eq 0 ] && [ ! -d "$contrib" ]; then
    skip "imports of StarPU's CUDA build are exported" "it is not in $contrib: ./bootstrap fetches it"
    done_testing
    exit
fi
if [ $# -gt 0 ]; then
    printf '%s\n' "$@" >"$work/files"
else
    find "$contrib" -type f \( -perm -100 -o -name '*.so.*' \) | sort >"$work/files"
fi
n=0
: >"$work/missing"
while read -r file; do
    [ -n "$(needs "$file")" ] || continue
    n=$((n + 1))
    missing "$file" >>"$work/missing"
done <"$work/files"
if [ $n -eq 0 ]; then
    not_ok "imports of StarPU's CUDA build are exported" "no file needs any of $libraries"
else
    check "imports of $n files are exported" "$(cat "$work/missing")"
fi
done_testing

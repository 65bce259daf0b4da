#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the simulated libcuda.so.1 exports is what its list says and what CUDA's own has, with
# parameters of the same shape; nothing else of starpool can be seen; stubs that were called are
# listed when the program ends.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
source=$(cd "${srcdir:-.}" && pwd)
build=${builddir:-.}
nm="${NM:-nm}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

library=$build/sim/cuda-13/libcuda.so.1
[ -e "$library" ] || {
    echo "Bail out! there is no $library: run make first"
    exit 99
}

# exported FILE: the functions and objects that it offers, with a version's name if they have one.
exported()
{
    # shellcheck disable=SC2086
    $nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort
}

# rows FILE: the fields of an X list, one row a line.
rows()
{
    awk '
        /^X\(/ || row != "" {
            row = row $0
            if (row ~ /\)$/) { sub(/^X\(/, "", row); sub(/\)$/, "", row); gsub(/ /, "", row); print row; row = "" }
        }' "$1"
}

rows "$source/src/sim/driver_exports.def" >"$work/rows"
cut -d, -f2 "$work/rows" | sort -u >"$work/listed"
exported "$library" >"$work/exported"

# ---- what can be seen ----------------------------------------------------------------------------
grep -v '^cu' "$work/exported" >"$work/others" || :
check "starpool's sign is all that is not CUDA's, and there are no versions" \
    "$(echo sp_is_starpool_driver | diff - "$work/others")$(grep '@' "$work/exported" || :)"
grep '^cu' "$work/exported" >"$work/cuda" || :
check "the library exports what its list says" "$(diff "$work/listed" "$work/cuda")"

name="every function of CUDA's own library is there"
stub=
for folder in /usr/local/cuda/lib64/stubs /usr/lib/x86_64-linux-gnu/stubs; do
    [ ! -e "$folder/libcuda.so" ] || stub=$folder/libcuda.so
done
if [ -n "$stub" ]; then
    exported "$stub" | grep '^cu' | sed 's/@.*//' >"$work/cudas"
    check "$name" "$(comm -23 "$work/cudas" "$work/exported")"
else
    skip "$name" "CUDA's stub of libcuda.so is not on this machine"
fi

# ---- the shape of parameters ---------------------------------------------------------------------
cat >"$work/shape.cc" <<'END'
#include <cstddef>
#include <cstdint>
#define __CUDA_API_VERSION_INTERNAL
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <cudaProfiler.h>
#include <type_traits>

#include "src/driver/driver.h"
#include "src/sim/driver_made.h"

template <typename Ours, typename Theirs> constexpr bool is_alike()
{
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
           std::is_pointer<Ours>::value == std::is_pointer<Theirs>::value &&
           std::is_class<Ours>::value == std::is_class<Theirs>::value;
}
template <typename Ours, typename Theirs> struct alike {
    static constexpr bool value = false;
};
template <> struct alike<sp_cu_result(), CUresult()> {
    static constexpr bool value = true;
};
template <typename O, typename... Os, typename T, typename... Ts>
struct alike<sp_cu_result(O, Os...), CUresult(T, Ts...)> {
    static constexpr bool value =
        is_alike<O, T>() && alike<sp_cu_result(Os...), CUresult(Ts...)>::value;
};

#define X(name, symbol, version, parameters) sp_cu_result ours_##symbol parameters;
#include "src/driver/calls.def"
#include "src/sim/driver_made.def"
#undef X
END
# A symbol has the parameters of its row, of what it is the same as, or of what it is the twin of.
cat "$source/src/driver/calls.def" "$source/src/sim/driver_made.def" |
    sed -n 's/^X([A-Za-z0-9_]*, \([A-Za-z0-9_]*\),.*/\1/p' >"$work/made"
awk -F, '
    FNR == NR { is_made[$1] = 1; next }
    {
        ours = $2
        if (!(ours in is_made) && $4 != "") ours = $4
        if (!(ours in is_made)) sub(/_pt[ds][sz]$/, "", ours)
        if (!(ours in is_made)) next
        printf "static_assert(alike<decltype(ours_%s), decltype(%s)>::value, \"%s\");\n", ours, $2, $2
    }' "$work/made" "$work/rows" | sort -u >>"$work/shape.cc"
name="the parameters are of the size and kind that CUDA's header says"
include=
for folder in /usr/include /usr/local/cuda/include; do
    [ ! -e "$folder/cuda.h" ] || include=$folder
done
if [ -z "$include" ]; then
    skip "$name" "cuda.h is not on this machine"
else
    # shellcheck disable=SC2086
    ${CXX:-c++} -std=c++17 -fsyntax-only -isystem "$include" -I"$source/include" -I"$source" \
        "$work/shape.cc" >"$work/errors" 2>&1 || :
    grep -c static_assert "$work/shape.cc" | sed 's/^/# functions compared: /'
    check "$name" "$(head -n 20 "$work/errors")"
fi

# ---- programs that are linked with it ------------------------------------------------------------
case ${SP_SANITIZER-} in
?*)
    skip "a program that is linked with the library starts" "a sanitizer comes with the program"
    skip "stubs that were called are listed" "a sanitizer comes with the program"
    done_testing
    exit
    ;;
esac
cat >"$work/linked.c" <<'END'
#include <stdio.h>
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count_out);
int main(void)
{
    int n = 0;
    if (cuDeviceGetCount(&n) != 3 || cuInit(0) != 0 || cuDeviceGetCount(&n) != 0)
        return 1;
    printf("%d devices\n", n);
    return 0;
}
END
# What libstarpool.so needs is found by the library itself.
${CC:-cc} -o "$work/linked" "$work/linked.c" "$library" -Wl,--allow-shlib-undefined
echo "3 devices" >"$work/devices"
for preload in "" "$build/.libs/libstarpool.so"; do
    check "a program that is linked with the library starts${preload:+, starpool before it}" "$(
        LD_PRELOAD=$preload LD_LIBRARY_PATH=$(dirname "$library") STARPOOL_MODEL_DEVICES=3 \
            timeout 30 "$work/linked" 2>&1 | diff - "$work/devices" 2>&1)"
done

# A libstarpool.so of another version, as far as it says.
echo 'const char *sp_build_version(void); const char *sp_build_version(void) { return "0.0"; }' >"$work/other.c"
${CC:-cc} -shared -fPIC -o "$work/other.so" "$work/other.c"
cat >"$work/refused.c" <<'END'
int cuInit(unsigned flags);
int main(void)
{
    return cuInit(0) == 803 && cuInit(0) == 803 ? 0 : 1;
}
END
${CC:-cc} -o "$work/refused" "$work/refused.c" "$library" -Wl,--allow-shlib-undefined
LD_PRELOAD=$work/other.so LD_LIBRARY_PATH=$(dirname "$library") timeout 30 "$work/refused" \
    >"$work/said" 2>&1 || echo "exit $?" >>"$work/said"
check "a library of another version serves no device, and says so once" "$(
    [ "$(wc -l <"$work/said")" -eq 1 ] && grep -q 'and libstarpool of 0.0: no device is served' "$work/said" ||
        cat "$work/said")"

# ---- what is missing -----------------------------------------------------------------------------
cat >"$work/caller.c" <<'END'
#include <dlfcn.h>
#include <stddef.h>
int main(int argc, char **argv)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (int i = 1; library != NULL && i < argc; i++) {
        int (*function)(void *) = (int (*)(void *))dlsym(library, argv[i]);
        if (function == NULL || function(NULL) != 801)
            return 1;
    }
    return library == NULL;
}
END
${CC:-cc} -o "$work/caller" "$work/caller.c" -ldl
call="env LD_LIBRARY_PATH=$(dirname "$library") $work/caller cuTexRefCreate cuArrayDestroy cuTexRefCreate"
cat >"$work/expected" <<'END'
libcuda.so.1 cuArrayDestroy 1
libcuda.so.1 cuTexRefCreate 2
END
STARPOOL_SIM_MISSING=$work/list $call >"$work/said" 2>&1 || echo "exit $?" >>"$work/said"
check "stubs that were called are listed in a file" "$(diff "$work/expected" "$work/list" 2>&1)$(cat "$work/said")"
STARPOOL_SIM_MISSING=1 $call 2>&1 | sed 's/^starpool: not supported, but called: //' >"$work/said"
check "stubs that were called are listed on stderr" "$(diff "$work/expected" "$work/said")"
check "nothing is listed unless that is asked for" "$($call 2>&1)"

done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where pages are, on a real kernel with several NUMA nodes: boots a virtual machine with what was
# just built, and passes on what its programs (tests/numa) find. Run by `make check-numa`.
set -u
source_dir=$(cd "${srcdir:-.}" && pwd)
build=$(cd "${builddir:-.}" && pwd)
# shellcheck source=tests/taplib.sh
. "$source_dir/tests/taplib.sh"
numa=$source_dir/tests/numa
# Downloads are kept here.
kernel=$build/numa-vm
: "${CC:=cc}" "${PKG_CONFIG:=pkg-config}"

n_nodes=2
mib_a_node=512
limit=230

# ---- what it takes ------------------------------------------------------------------------------
[ "$(uname -m)" = x86_64 ] || skip_all "the virtual machine is an x86_64; this is $(uname -m)"
case ${SP_SANITIZER_NAME:-no} in
no) ;;
*) skip_all "a sanitizer's own memory would fill the small nodes" ;;
esac
command -v qemu-system-x86_64 >/dev/null || skip_all "qemu-system-x86_64 is missing (package qemu-system-x86)"
command -v busybox >/dev/null || skip_all "busybox is missing (package busybox-static)"
! ldd "$(command -v busybox)" >/dev/null 2>&1 || skip_all "busybox is not static (package busybox-static)"
[ -e "$build/.libs/libstarpool.so" ] || skip_all "libstarpool.so is not built"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
sh "$numa/kernel.sh" "$kernel" 2>"$scratch/why" || skip_all "$(head -n 1 "$scratch/why")"

# ---- build --------------------------------------------------------------------------------------
# program NAME [FLAG...]
program()
{
    name=$1
    shift
    # shellcheck disable=SC2086,SC2046
    $CC -std=gnu11 -g -O1 -Wall -Wextra -DHAVE_CONFIG_H -I"$source_dir/include" -I"$build" -I"$numa" $($PKG_CONFIG --cflags hwloc) \
        -o "$scratch/$name" "$numa/$name.c" "$numa/guest.c" "$@" \
        -L"$build/.libs" -lstarpool $($PKG_CONFIG --libs hwloc) -lpthread
}

set -- "$numa/guest.sh" "$kernel/loop.ko"
for part in places full hwloc limits refused; do
    if program "guest_$part"; then
        set -- "$@" "$scratch/guest_$part"
    else
        not_ok "guest_$part.c is built"
    fi
done
plugin=$build/.libs/starpool_starpu.so
if [ -e "$plugin" ]; then
    # StarPU's headers are not clean. What they define with quotes is for makefiles.
    # shellcheck disable=SC2086,SC2046
    if program guest_starpu $(echo "${STARPU_CFLAGS-}" | tr ' ' '\n' | grep -v '"') ${STARPU_LIBS-}; then
        set -- "$@" "$scratch/guest_starpu" "$numa/guest_starpu.sh" "$plugin"
    else
        not_ok "guest_starpu.c is built"
    fi
fi
LD_LIBRARY_PATH=$build/.libs sh "$numa/image.sh" "$scratch/image" "$@" || {
    not_ok "the file system of the virtual machine is packed"
    done_testing
    exit 1
}

# ---- run ----------------------------------------------------------------------------------------
began=$(date +%s)
sh "$numa/vm.sh" "$kernel/vmlinuz" "$scratch/image" "$n_nodes" "$mib_a_node" "$limit" >"$scratch/console"
rc=$?
took=$(($(date +%s) - began))

# Each line of the console: a case, or an explanation.
while IFS= read -r line; do
    case $line in
    "ok - "*) ok "${line#ok - }" ;;
    "not ok - "*) not_ok "${line#not ok - }" ;;
    "skip - "*)
        line=${line#skip - }
        skip "${line%% # *}" "${line#* # }"
        ;;
    *) echo "# ${line#\# }" ;;
    esac
done <"$scratch/console"

if pages=$(awk '/^# pages [0-9]+ [0-9]+$/ { n += $3; wrong += $4 }
    END { printf "%d page checks, %d wrong", n, wrong; exit n == 0 || wrong > 0 }' "$scratch/console"); then
    ok "$n_nodes nodes: $pages"
else
    not_ok "$n_nodes nodes: $pages"
fi
case $rc in
0) ok "the virtual machine ran to its end, in $took s" ;;
97) not_ok "the virtual machine ran to its end" "it panicked, or hung until $limit s were over" ;;
*) not_ok "the virtual machine ran to its end" "its script ended with status $rc" ;;
esac
done_testing

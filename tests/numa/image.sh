#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Packs the virtual machine's file system: busybox, the files given, in /t, and the shared objects
# that these need, found with ldd and LD_LIBRARY_PATH.
#
# Usage: tests/numa/image.sh IMAGE FILE...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
busybox=$(command -v busybox)
image=$1
shift
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The shared objects of a program, one a line; those that are missing are an error.
objects()
{
    ldd "$1" | awk '
        /not found/ { print "missing: " $1 >"/dev/stderr"; exit 1 }
        $2 == "=>" && $3 ~ /^\// { print $3 }
        $1 ~ /^\// { print $1 }'
}

# add OBJECT: into /lib, where the loader looks unasked; the loader itself has a fixed place.
add()
{
    case $1 in
    */ld-linux*) place=$root$1 ;;
    *) place=$root/lib/${1##*/} ;;
    esac
    [ -e "$place" ] && return
    mkdir -p "${place%/*}"
    cp -L "$1" "$place"
}

mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/t" "$root/lib"
cp "$busybox" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp "$here/init.sh" "$root/init"
chmod +x "$root/init"
for file; do
    cp -L "$file" "$root/t/"
    # Not a script, nor a kernel module.
    case $file in
    *.sh | *.ko) continue ;;
    esac
    objects "$file" >"$root/objects"
    while read -r object; do
        add "$object"
    done <"$root/objects"
    rm "$root/objects"
done
(cd "$root" && find . | LC_ALL=C sort | "$busybox" cpio -o -H newc -R 0:0 2>/dev/null) | gzip -1n >"$image"

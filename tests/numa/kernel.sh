#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Gets the kernel of the virtual machine: Debian's for clouds, which has all that is needed built
# in, except the loop device. Downloaded by its package's name and unpacked, never installed. What
# is there already stays. Says on stderr why it cannot.
#
# Usage: tests/numa/kernel.sh FOLDER      makes FOLDER/vmlinuz and FOLDER/loop.ko
set -eu
package=linux-image-cloud-amd64

give_up()
{
    echo "no kernel for the virtual machine: $*" >&2
    exit 1
}

# The package itself is empty: it depends on the one of the current version.
current()
{
    apt-cache depends "$package" 2>/dev/null |
        awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }'
}

download()
{
    name=$(current)
    [ -n "$name" ] || return 1
    (cd "$work" && apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=3 download "$name") >"$work/log" 2>&1
}

update()
{
    [ "$(id -u)" -eq 0 ] &&
        apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 update >"$work/log" 2>&1
}

# member PATTERN FILE: a file of the package.
member()
{
    dpkg-deb --fsys-tarfile "$work"/*.deb | tar -xO --wildcards "$1" >"$work/member" 2>"$work/log" || :
    [ -s "$work/member" ] || give_up "$name has no $1"
    mv "$work/member" "$2"
}

folder=$1
if [ -s "$folder/vmlinuz" ] && [ -s "$folder/loop.ko" ]; then
    exit 0
fi
for tool in apt-get apt-cache dpkg-deb; do
    command -v "$tool" >/dev/null || give_up "$tool is missing"
done
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The lists may be missing or older than the mirror.
if ! download && { ! update || ! download; }; then
    give_up "$package is not to be had: $(tail -n 1 "$work/log" 2>/dev/null)"
fi
member './lib/modules/*/kernel/drivers/block/loop.ko' "$folder/loop.ko"
member './boot/vmlinuz-*' "$folder/vmlinuz"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `make install` installs is whole: the headers alone, a program built by the .pc file, the
# plugin where the .pc file says, and nothing left after `make uninstall`.
set -eu
here=$(cd "${srcdir:-.}/tests" && pwd)
. "$here/taplib.sh"
build=${builddir:-.}
libdir=${libdir:?run by make check} pkglibdir=${pkglibdir:?} includedir=${includedir:?} bindir=${bindir:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ "${SP_SANITIZER_NAME:-no}" = no ] || skip_all "a program would need the sanitizer too"

# Not as a part of the make that runs this test: its job server and its variables are its own.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
make=${MAKE:-make}
root=$work/root
check "make install" "$("$make" -C "$build" -s install DESTDIR="$root" >"$work/install.log" 2>&1 ||
    cat "$work/install.log")"

check "the headers compile alone" "$(sh "$here/check_headers.sh" "$root$includedir" 2>&1 | grep -A 5 '^not ok' || :)"

# The .pc files name the final place; --define-prefix is no help when libdir is not below prefix.
mkdir "$work/pc"
for pc in "$root$libdir"/pkgconfig/*.pc; do
    sed "s|=\(/.*\)|=$root\1|" "$pc" >"$work/pc/$(basename "$pc")"
done
PKG_CONFIG_PATH=$work/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
pkg_config=${PKG_CONFIG:-pkg-config}

cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <starpool.h>
int main(void)
{
    void *block = NULL;
    enum starpool_status status = starpool_alloc_current(100, STARPOOL_STREAM_HOST, &block);
    if (status != STARPOOL_OK)
        return printf("alloc: %s\n", starpool_status_name(status)), 1;
    status = starpool_free(block, STARPOOL_STREAM_HOST);
    return status == STARPOOL_OK ? 0 : (printf("free: %s\n", starpool_status_name(status)), 1);
}
END
# pkg-config's answer and CC are several words.
# shellcheck disable=SC2046,SC2086
check "a program builds with starpool.pc" "$(${CC:-cc} -o "$work/program" "$work/program.c" \
    $("$pkg_config" --cflags --libs starpool) 2>&1 || echo "status $?")"
check "and runs" "$(LD_LIBRARY_PATH="$root$libdir" "$work/program" 2>&1 || echo "status $?")"
check "the command is installed and answers" \
    "$(LD_LIBRARY_PATH="$root$libdir" "$root$bindir/starpool" --help 2>&1 >/dev/null || echo "status $?")"

if [ -e "$build/.libs/starpool_starpu.so" ]; then
    plugin=$("$pkg_config" --variable=plugindir starpool)/starpool_starpu.so
    check "plugindir of starpool.pc has the plugin" "$([ -f "$plugin" ] || echo "no $plugin")"
    check "it is the one for the StarPU that configure found" \
        "$([ "$(readlink "$plugin")" = "$STARPU_FLAVOUR/starpool_starpu.so" ] || ls -l "$plugin" 2>&1)"
    check "it cannot be unloaded" \
        "$(readelf -d "$plugin" | grep -q 'FLAGS_1.*NODELETE' || readelf -d "$plugin" 2>&1)"
    check "no libtool archive of it is left" \
        "$(find "$root$pkglibdir" -name '*.la' | sed "s|^$root||")"
    cat >"$work/vector.c" <<'END'
#include <starpu.h>
int main(void)
{
    void *block = NULL;
    if (starpu_init(NULL) != 0)
        return 77;
    if (starpu_malloc(&block, 100) != 0)
        return 1;
    starpu_free(block);
    starpu_shutdown();
    return 0;
}
END
    # shellcheck disable=SC2046,SC2086
    check "a StarPU program links with starpool-starpu.pc, the plugin before StarPU" "$(
        ${CC:-cc} -o "$work/vector" "$work/vector.c" ${STARPU_CFLAGS-} \
            $("$pkg_config" --cflags --libs starpool-starpu) ${STARPU_LIBS-} 2>&1 || echo "status $?"
        readelf -d "$work/vector" | awk '/NEEDED/ { print $NF }' >"$work/needed"
        awk '/starpool_starpu/ { plugin = NR } /libstarpu-/ { starpu = NR }
            END { if (!plugin || plugin > starpu) print "the plugin does not come first" }' "$work/needed"
    )"
    check "and runs" "$(LD_LIBRARY_PATH="$root$libdir" "$work/vector" >"$work/out" 2>&1 ||
        { rc=$?; [ "$rc" -eq 77 ] || { cat "$work/out"; echo "status $rc"; }; })"
else
    skip "the plugin" "configured without StarPU"
fi

check "make uninstall leaves no file" "$(
    "$make" -C "$build" -s uninstall DESTDIR="$root" >"$work/uninstall.log" 2>&1 || cat "$work/uninstall.log"
    find "$root" ! -type d | sed "s|^$root||"
)"

done_testing

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Links a simulated library twice: for the build tree, as sim/NAME, and for where it is installed,
# as sim/installed/NAME. NAME has the folder of its version of CUDA in front, if it belongs to one.
#
# Usage: link.sh NAME MAP ARCHIVE [LIBRARY...], with the compiler and its options in SIM_CC, in the
# build folder. The last part of NAME is the soname; MAP is the version script, or "" for none;
# ARCHIVE's objects are the library.
set -eu
name=$1 map=$2 archive=$3
shift 3

# link FILE RUNPATH LIBRARY...
link()
{
    file=$1 runpath=$2
    shift 2
    mkdir -p "$(dirname "$file")"
    # A library that is in use is replaced and not written over. The options are words.
    # shellcheck disable=SC2086
    $SIM_CC -shared -Wl,-soname,"${name##*/}" ${map:+-Wl,--version-script,"$map"} \
        -Wl,-Bsymbolic-functions -Wl,--enable-new-dtags -Wl,-rpath,"$runpath" -o "$file.tmp" \
        -Wl,--whole-archive "$archive" -Wl,--no-whole-archive .libs/libstarpool.so "$@"
    mv -f "$file.tmp" "$file"
}

link "sim/installed/$name" "\$ORIGIN/../..:\$ORIGIN/../../.." "$@"
link "sim/$name" "$(pwd)/.libs" "$@"

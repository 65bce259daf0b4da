# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# TAP for the tests that are shell scripts: each calls ok, not_ok or skip once a case and ends with
# done_testing. To be sourced.

tap_n=0
tap_failed=0

ok()
{
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1"
}

# not_ok NAME [WHY...]: each WHY is a line of its own; a WHY of several lines is fine.
not_ok()
{
    tap_n=$((tap_n + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
}

skip()
{
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}

# A case that holds when WHY is empty: check NAME WHY.
check()
{
    if [ -z "$2" ]; then
        ok "$1"
    else
        not_ok "$1" "$2"
    fi
}

skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}

done_testing()
{
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ]
}

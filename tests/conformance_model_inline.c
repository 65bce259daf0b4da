/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conformance suite on the CPU model, streams executing inside calls. */
#include "config.h"

#include "tests/conformance.h"

int main(int argc, char **argv)
{
    return sp_conformance_main(SP_CONFORM_INLINE, argc, argv);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conformance suite on the CPU model, each stream in a thread. */
#include "config.h"

#include "tests/conformance.h"

int main(int argc, char **argv)
{
    return sp_conformance_main(SP_CONFORM_THREADS, argc, argv);
}

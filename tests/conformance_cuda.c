/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conformance suite on libcuda.so.1; exit 77 without a device. */
#include "config.h"

#include "tests/conformance.h"

int main(int argc, char **argv)
{
    return sp_conformance_main(SP_CONFORM_CUDA, argc, argv);
}

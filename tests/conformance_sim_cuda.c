/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conformance suite on the simulated libcuda.so.1, loaded as the real one would be. */
#include "config.h"

#include "tests/conformance_main.h"

int main(int argc, char **argv)
{
    return sp_conformance_main(SP_CONFORM_SIM_CUDA, argc, argv);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The programs that run the conformance suite, each over one driver table. */
#ifndef SP_CONFORMANCE_MAIN_H
#define SP_CONFORMANCE_MAIN_H

/* SIM_CUDA is the model behind the libcuda.so.1 of sim/cuda-13 in the build folder. Its program
 * is linked with libstarpool.so and not with the objects: there must be one model. */
enum sp_conformance_mode {
    SP_CONFORM_THREADS,
    SP_CONFORM_INLINE,
    SP_CONFORM_CUDA,
    SP_CONFORM_SIM_CUDA
};

/* All of a program's main(): runs the cases whose names match the patterns of the command line,
 * all without one. 77 if the driver is not here. */
int sp_conformance_main(enum sp_conformance_mode mode, int argc, char **argv);

#endif /* SP_CONFORMANCE_MAIN_H */

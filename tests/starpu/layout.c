/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the plugin finds what it reads and writes of StarPU's structures. Debian's two builds
 * of StarPU differ in others, such as the rest of struct starpu_codelet: what this prints must
 * be the same for both, or one plugin cannot serve both. */
#define STARPU_DONT_INCLUDE_CUDA_HEADERS
#include <starpu.h>

#include <stddef.h>
#include <stdio.h>

#define TASK(member) printf("task %s %zu\n", #member, offsetof(struct starpu_task, member))
#define CODELET(member) \
    printf("codelet %s %zu\n", #member, offsetof(struct starpu_codelet, member))

int main(void)
{
    TASK(name);
    TASK(cl);
    TASK(nbuffers);
    TASK(handles);
    TASK(dyn_handles);
    TASK(modes);
    TASK(dyn_modes);
    TASK(handles_sequential_consistency);
    TASK(prologue_callback_pop_func);
    TASK(prologue_callback_pop_arg);
    TASK(tag_id);
    CODELET(nbuffers);
    CODELET(modes);
    CODELET(dyn_modes);
    printf("ops get_size %zu\n", offsetof(struct starpu_data_interface_ops, get_size));
    printf("task size %zu\n", sizeof(struct starpu_task));
    printf("kinds %d %d, workers %d %d, buffers %d\n", STARPU_CPU_RAM, STARPU_CUDA_RAM,
           STARPU_CPU_WORKER, STARPU_CUDA_WORKER, STARPU_NMAXBUFS);
    return 0;
}

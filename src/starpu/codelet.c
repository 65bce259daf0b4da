/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What codelets ask for themselves: on a CUDA worker in the order of its stream, captured or
 * not, on a CPU worker from the pool of its node. */
#include "config.h"

#include <starpool/starpu.h>

#include "src/starpu/cuda.h"
#include "src/starpu/node.h"
#include "src/starpu/plugin.h"
#include "src/starpu/real.h"

/* The calling thread's worker, if it is in a task. */
static enum starpool_status find_worker(int *worker_out)
{
    if (!sp_plugin_is_active() || sp_real.is_initialized() == 0)
        return STARPOOL_ENOTINIT;
    if (sp_real.worker_get_id == NULL || sp_real.worker_get_type == NULL ||
        sp_real.worker_get_devid == NULL || sp_real.worker_get_memory_node == NULL ||
        sp_real.task_get_current == NULL)
        return STARPOOL_ENOTSUP;
    *worker_out = sp_real.worker_get_id();
    return *worker_out < 0 || sp_real.task_get_current() == NULL ? STARPOOL_EINVAL
                                                                 : STARPOOL_OK;
}

/* The stream in whose order a worker's memory is. */
static enum starpool_status find_stream(int worker, starpool_stream *stream_out)
{
    switch ((int)sp_real.worker_get_type(worker)) {
    case STARPU_CPU_WORKER:
        *stream_out = STARPOOL_STREAM_HOST;
        return STARPOOL_OK;
    case STARPU_CUDA_WORKER:
        if (sp_real.cuda_get_local_stream == NULL)
            return STARPOOL_ENOTSUP;
        *stream_out = sp_real.cuda_get_local_stream();
        return STARPOOL_OK;
    default:
        return STARPOOL_ENOTSUP;
    }
}

static enum starpool_status find_pool(int worker, starpool_stream stream,
                                      struct starpool_pool **pool_out)
{
    if (stream == STARPOOL_STREAM_HOST)
        return sp_node_pool(sp_real.worker_get_memory_node((unsigned)worker), pool_out);
    return sp_cuda_codelet_pool(sp_real.worker_get_devid(worker), pool_out);
}

enum starpool_status starpool_starpu_alloc(size_t size, void **ptr_out)
{
    enum starpool_status status;
    struct starpool_pool *pool;
    starpool_stream stream;
    int worker;

    if (size == 0 || ptr_out == NULL)
        return STARPOOL_EINVAL;
    status = find_worker(&worker);
    if (status == STARPOOL_OK)
        status = find_stream(worker, &stream);
    if (status == STARPOOL_OK)
        status = find_pool(worker, stream, &pool);
    return status == STARPOOL_OK ? starpool_alloc(pool, size, stream, ptr_out) : status;
}

enum starpool_status starpool_starpu_free(void *ptr)
{
    enum starpool_status status;
    starpool_stream stream;
    int worker;

    if (ptr == NULL)
        return STARPOOL_EINVAL;
    status = find_worker(&worker);
    if (status == STARPOOL_OK)
        status = find_stream(worker, &stream);
    return status == STARPOOL_OK ? starpool_free(ptr, stream) : status;
}

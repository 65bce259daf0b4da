/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The twins of entry points for programs compiled so that the default stream is the thread's
 * own: the same, with that stream in the place of none. */
#include "config.h"

#include "src/sim/runtime.h"

static sp_cu_stream own(sp_cu_stream stream)
{
    return stream == NULL ? SP_CU_STREAM_PER_THREAD : stream;
}
#define SP_OWN(stream) own(stream)

static struct sp_rt_launch_config own_config(const struct sp_rt_launch_config *config)
{
    struct sp_rt_launch_config changed = *config;

    changed.stream = own(config->stream);
    return changed;
}
#define SP_OWN_CONFIG(config) \
    ((config) == NULL ? NULL : (struct sp_rt_launch_config[]){own_config(config)})

/* What a call without a stream ends with. */
static int finish(int error)
{
    return error == SP_CU_SUCCESS ? cudaStreamSynchronize(SP_CU_STREAM_PER_THREAD) : error;
}

#define X(name, parameters)
#define Z(name, parameters, arguments) \
    int name##_ptsz parameters         \
    {                                  \
        return name arguments;         \
    }
#define D(name, parameters, async, arguments) \
    int name##_ptds parameters                \
    {                                         \
        return finish(async arguments);       \
    }
#include "src/sim/runtime_calls.def"

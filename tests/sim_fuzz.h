/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random calls of the simulated libcuda.so.1 and libcudart.so.13: every entry point that they
 * have, by the lists that they are made from, with arguments that are valid about as often as
 * they are not. What the calls must not do: crash, hang, answer what is no result, write an
 * output though they fail or beyond it. */
#ifndef SP_SIM_FUZZ_H
#define SP_SIM_FUZZ_H

#include "tests/support.h"

#include <stdbool.h>

#include <starpool/model.h>

#include "src/driver/driver.h"
#include "src/sim/runtime_types.h"

/* ---- entry points (sim_fuzz_calls.c) ------------------------------------------------- */

/* Kinds of what calls make and others take. */
enum sp_fuzz_kind {
    SP_FUZZ_CONTEXT,
    SP_FUZZ_STREAM,
    SP_FUZZ_EVENT,
    SP_FUZZ_POOL,
    SP_FUZZ_GRAPH,
    SP_FUZZ_NODE,
    SP_FUZZ_EXEC,
    SP_FUZZ_OBJECT,
    SP_FUZZ_MODULE,
    SP_FUZZ_FUNCTION,
    SP_FUZZ_LIBRARY,
    SP_FUZZ_KERNEL,
    SP_FUZZ_CONDITIONAL,
    SP_FUZZ_PTR,
    SP_FUZZ_PINNED, /* memory of the host; given as SP_FUZZ_PTR by tame calls */
    SP_FUZZ_N_KINDS,
    SP_FUZZ_NO_KIND
};

struct sp_fuzz_parameter {
    char type[32], name[32]; /* without const, struct and stars */
    unsigned n_stars;
    enum sp_fuzz_kind kind;
    bool is_output; /* an address of what the call writes */
    bool is_array;  /* of more than one */
};

#define SP_FUZZ_MAX_PARAMETERS 16
struct sp_fuzz_call {
    const char *symbol;
    void *function;
    struct sp_fuzz_parameter parameters[SP_FUZZ_MAX_PARAMETERS];
    unsigned n_parameters;
    bool is_runtime;
    bool has_host; /* takes addresses that may be the host's */
};

/* Open both libraries of the build tree and look all entry points up. False after a line about
 * what is missing. No call is made. */
bool sp_fuzz_load(void);

/* The entry points that are called at random. */
const struct sp_fuzz_call *sp_fuzz_calls(size_t *n_out);

/* Functions that fuzzers need by name, ours to call with any arguments. */
void sp_fuzz_find(const char *symbol, void *function_out);

/* A number that is a result of the driver or an error of the runtime. */
bool sp_fuzz_is_result(int result);

/* ---- values (sim_fuzz_values.c) ------------------------------------------------------ */

enum { SP_FUZZ_RECENT = 24, SP_FUZZ_MAX_MADE = 1 << 14, SP_FUZZ_HOST_BYTES = 1 << 16 };

/* What a fuzzing process knows. `recent` is what arguments are chosen from; `made` has all that
 * ever was, for the end. */
struct sp_fuzz_world {
    uint64_t random;
    bool is_wild; /* sizes of this call may be anything, its addresses are devices' */
    struct sp_fuzz_handles {
        uint64_t recent[SP_FUZZ_RECENT];
        uint64_t made[SP_FUZZ_MAX_MADE];
        unsigned n_made, n_seen;
    } handles[SP_FUZZ_N_KINDS];
    uint64_t foreign[8];           /* the last handle for other processes that was made */
    char host[SP_FUZZ_HOST_BYTES]; /* where copies begin in its first part */
};
extern struct sp_fuzz_world sp_fuzz;

size_t sp_fuzz_below(size_t bound);
uint64_t sp_fuzz_handle(enum sp_fuzz_kind kind);
void sp_fuzz_made(enum sp_fuzz_kind kind, uint64_t handle);
void sp_fuzz_made_unseen(enum sp_fuzz_kind kind, uint64_t handle); /* never an argument */
uint64_t sp_fuzz_size(void);
unsigned sp_fuzz_dimension(void);
void *sp_fuzz_host(void);
struct sp_cu_location sp_fuzz_location(void);
struct sp_rt_pitched sp_fuzz_pitched(void);
struct sp_rt_extent sp_fuzz_extent(void);

/* What calls are given: a host function, a callback, the host's names of a kernel and of a
 * device's variable. */
void sp_fuzz_host_call(void *arg);
void sp_fuzz_callback(sp_cu_stream stream, sp_cu_result status, void *arg);
void sp_fuzz_kernel(void);
extern char sp_fuzz_variable[64];

/* The addresses of a kernel's arguments, until some calls later. */
void **sp_fuzz_args(void);

/* Zeros that an argument points to, until some calls later. */
enum { SP_FUZZ_ROOM = 1024 };
void *sp_fuzz_room(void);

/* Fill what a parameter of a structure's type points to; of other types nothing happens. */
void sp_fuzz_structure(const char *type, void *room);

/* ---- calling (sim_fuzz_run.c) -------------------------------------------------------- */

/* The last calls of a process, which another reads when it has died. */
enum { SP_FUZZ_LINES = 24, SP_FUZZ_LINE = 400 };
struct sp_fuzz_log {
    unsigned n; /* lines that were begun */
    char lines[SP_FUZZ_LINES][SP_FUZZ_LINE];
    char wrong[SP_FUZZ_LINE]; /* what did not hold first, or "" */
};

/* Write down that something does not hold. */
void sp_fuzz_wrong(struct sp_fuzz_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One call with random arguments. The result. */
int sp_fuzz_call(const struct sp_fuzz_call *call, struct sp_fuzz_log *log);

/* Host memory that is gone is not to be given to a copy: after whatever may free some. */
void sp_fuzz_forget_freed(void);

/* ---- sequences (sim_fuzz_sequence.c) ------------------------------------------------- */

/* One sequence of calls, in a process that has not used the model before. */
struct sp_fuzz_job {
    unsigned theme; /* what every second call is about: any number */
    enum starpool_model_exec exec;
    uint64_t seed;
    size_t n_calls;
    bool destroys; /* or else whatever runs goes on */
};

/* What the theme is called. */
const char *sp_fuzz_theme(unsigned theme);

/* Configure the model, call, and look that nothing is left when all has been destroyed. What
 * did not hold is in the log. */
void sp_fuzz_sequence(const struct sp_fuzz_job *job, struct sp_fuzz_log *log);

#endif /* SP_SIM_FUZZ_H */

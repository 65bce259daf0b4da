/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Accesses of the host to the devices' memory: a handler of SIGSEGV and SIGBUS says which block
 * was touched and what to do instead, and lets the signal take the course that it would have
 * taken. The signal is the faulting thread's own, so that the handler interrupts no code that
 * holds anything of the model, unless the model itself is wrong. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/model/graph_memory.h"
#include "src/model/mempool.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* The lock may be held by another thread, whose calls are short: how often it is asked for, a
 * millisecond apart. */
#define MAX_TRIES 250

/* Set with the model's lock; the handler reads. */
static struct {
    bool is_installed;
    struct sigaction before[2]; /* of SIGSEGV and SIGBUS */
    _Atomic uintptr_t last;     /* the address that was last explained */
} faults;

/* A place of its own at load, so that the handler's first look makes none. */
static __thread __attribute__((tls_model("initial-exec"))) bool is_in_kernel;

void sp_model_fault_in_kernel(bool now)
{
    is_in_kernel = now;
}

/* ---- the line ------------------------------------------------------------------------ */

/* Nothing of stdio may be used in a handler. */
struct line {
    char text[512];
    size_t n;
};

static void add_text(struct line *line, const char *text)
{
    for (; *text != '\0' && line->n < sizeof(line->text) - 1; text++)
        line->text[line->n++] = *text;
}

static void add_number(struct line *line, uint64_t number, unsigned base)
{
    char digits[24];
    size_t i = sizeof(digits) - 1;

    digits[i] = '\0';
    do {
        digits[--i] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    add_text(line, base == 16 ? "0x" : "");
    add_text(line, digits + i);
}

static void add_block(struct line *line, const char *state, uintptr_t start, size_t size,
                      uint64_t id)
{
    add_text(line, state);
    add_text(line, " ");
    add_number(line, start, 16);
    add_text(line, " of ");
    add_number(line, size, 10);
    add_text(line, " bytes, buffer id ");
    add_number(line, id, 10);
}

/* ---- what is there ------------------------------------------------------------------- */

static bool add_pooled(struct line *line, const struct sp_model_memory *memory,
                       uintptr_t address)
{
    const struct sp_model_block *record;
    struct sp_reuse_block block;

    if (!sp_reuse_find(memory->pool->reuse, address, &block) || block.cookie == NULL)
        return false;
    record = block.cookie;
    add_block(line, "in the live block of a pool at", block.start, record->asked, record->id);
    return true;
}

static bool add_graphs(struct line *line, uintptr_t address)
{
    const struct sp_model_alloc *alloc = sp_model_alloc_around(address);

    if (alloc == NULL)
        return false;
    add_block(line, "in the allocation of a graph at", (uintptr_t)alloc->params.ptr,
              alloc->params.size, alloc->block->id);
    return true;
}

/* False if nothing is allocated there. */
static bool add_live(struct line *line, const struct sp_model_memory *memory, uintptr_t address)
{
    if (memory == NULL)
        return false;
    switch (memory->kind) {
    case SP_MEMORY_CHUNK:
        return add_pooled(line, memory, address);
    case SP_MEMORY_GRAPH:
        return add_graphs(line, address);
    case SP_MEMORY_IMPORTED:
        add_block(line, "in the live block of an imported pool at", memory->base, memory->asked,
                  sp_model_import_find(memory->base)->block->id);
        return true;
    case SP_MEMORY_OPENED:
        add_block(line, "in the live allocation of another process at", memory->base,
                  memory->asked, memory->id);
        return true;
    case SP_MEMORY_DEVICE:
    case SP_MEMORY_MANAGED:
    case SP_MEMORY_HOST:
    case SP_MEMORY_REGISTERED:
        break;
    }
    add_block(line, "in the live allocation at", memory->base, memory->asked, memory->id);
    return true;
}

static void add_where(struct line *line, uintptr_t address)
{
    const struct sp_model_memory *memory = sp_model_memory_find(address);
    const struct sp_model_freed *freed;

    if (add_live(line, memory, address))
        return;
    freed = sp_model_freed_find(address);
    if (freed != NULL)
        add_block(line,
                  freed->is_pooled ? "in the freed block of a pool at"
                                   : "in the freed allocation at",
                  freed->start, freed->size, freed->id);
    else
        add_text(line, memory == NULL ? "where nothing is allocated"
                                      : "in a pool's memory, where no block is allocated");
}

/* True with the lock, which sp_lock_take() would wait for without end. */
static bool take_lock(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    if (sp_model_is_forked())
        return false;
    for (int i = 0; i < MAX_TRIES; i++) {
        if (pthread_mutex_trylock(&sp_model_lock()->mutex) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void explain(uintptr_t address, int device)
{
    struct line line = {.n = 0};

    add_text(&line, "starpool: the host touches memory of a simulated device: address ");
    add_number(&line, address, 16);
    add_text(&line, " of device ");
    add_number(&line, (uint64_t)device, 10);
    if (take_lock()) {
        add_text(&line, ", ");
        add_where(&line, address);
        pthread_mutex_unlock(&sp_model_lock()->mutex);
    }
    add_text(&line, is_in_kernel ? "; this is a kernel's stand-in, which reaches memory that "
                                   "none of its arguments points to\n"
                                 : "; the host must copy it with cuMemcpy() or cudaMemcpy()\n");
    (void)!write(STDERR_FILENO, line.text, line.n);
}

/* ---- the handler --------------------------------------------------------------------- */

/* Without a handler, the instruction is executed again and ends the process; a signal that was
 * sent is sent again. */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &faults.before[signal_number == SIGBUS];
    bool is_sent = info->si_code <= 0;

    if ((before->sa_flags & SA_SIGINFO) != 0) {
        before->sa_sigaction(signal_number, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(signal_number);
    } else if (before->sa_handler == SIG_DFL || !is_sent) {
        (void)signal(signal_number, SIG_DFL);
        if (is_sent)
            (void)raise(signal_number);
    }
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    int device = info->si_code > 0 ? sp_model_protect_device(address) : -1;
    int error = errno;

    if (device >= 0 && atomic_exchange(&faults.last, address) != address)
        explain(address, device);
    errno = error; /* Who is called next may let the program go on. */
    pass_on(signal_number, info, context);
}

void sp_model_fault_watch(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    atomic_store(&faults.last, 0);
    if (faults.is_installed)
        return;
    sigemptyset(&action.sa_mask);
    faults.is_installed = sigaction(SIGSEGV, &action, &faults.before[0]) == 0 &&
                          sigaction(SIGBUS, &action, &faults.before[1]) == 0;
}

static bool is_ours(int signal_number)
{
    struct sigaction now;

    return sigaction(signal_number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
           now.sa_sigaction == on_fault;
}

/* Whoever has put a handler in place since may pass faults on to ours: it stays, then. */
void sp_model_fault_unwatch(void)
{
    if (!faults.is_installed || !is_ours(SIGSEGV) || !is_ours(SIGBUS))
        return;
    (void)sigaction(SIGSEGV, &faults.before[0], NULL);
    (void)sigaction(SIGBUS, &faults.before[1], NULL);
    faults.is_installed = false;
}

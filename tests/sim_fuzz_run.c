/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One random call: its arguments by type and, where that says too little, by name; the words
 * that the compiler would pass for them; and what the call did with its outputs. */
#include "config.h"

#include "tests/sim_fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/model/model.h"

#if defined(__x86_64__)
enum { PASSES_STRUCTURES = true };
#else
enum { PASSES_STRUCTURES = false }; /* only where it is known how */
#endif

/* [words] what the System V ABI passes in registers; all that a call may have besides. */
enum { N_REGISTERS = 6, N_STACK = 26, MAX_WORDS = 8 };

/* Every byte of an output before the call. */
#define UNWRITTEN      0xa5
#define UNWRITTEN_WORD UINT64_C(0xa5a5a5a5a5a5a5a5)

struct argument {
    uint64_t words[MAX_WORDS];
    unsigned n_words;
    bool is_on_stack; /* whatever registers are free */
    unsigned char *output;
};

struct words {
    uint64_t registers[N_REGISTERS], stack[N_STACK];
    unsigned n_registers, n_stack;
};

static bool one_in(size_t n)
{
    return sp_fuzz_below(n) == 0;
}

static bool is(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool is_count(const struct sp_fuzz_parameter *parameter)
{
    return strncmp(parameter->name, "n_", 2) == 0 || is(parameter->name, "log_size");
}

/* Of what is made at random, few go together. */
static uint64_t count(void)
{
    return one_in(4) ? sp_fuzz_below(9) : sp_fuzz_below(3);
}

/* ---- numbers ------------------------------------------------------------------------- */

static uint64_t long_number(const struct sp_fuzz_parameter *parameter)
{
    const char *name = parameter->name;

    if (is_count(parameter))
        return count();
    if (has(name, "flags") || has(name, "value"))
        return one_in(2) ? 0 : sp_fuzz_below(9) - 1;
    if (!sp_fuzz.is_wild && has(name, "height"))
        return sp_fuzz_below(5);
    if (!sp_fuzz.is_wild && has(name, "width"))
        return sp_fuzz_below(64);
    if (!sp_fuzz.is_wild && has(name, "pitch"))
        return one_in(8) ? sp_fuzz_below(100) : 64;
    return sp_fuzz_size();
}

static uint64_t unsigned_number(const struct sp_fuzz_parameter *parameter)
{
    const char *name = parameter->name;

    if (is_count(parameter))
        return count();
    if (has(name, "grid") || has(name, "block"))
        return sp_fuzz_dimension();
    if (has(name, "shared"))
        return (unsigned)sp_fuzz_size();
    if (is(name, "default_value")) /* of a condition */
        return 0;
    if (is(name, "flags") || is(name, "count") || is(name, "initial"))
        return one_in(8) ? (unsigned)sp_fuzz_below(12) - 1 : sp_fuzz_below(3);
    return one_in(2) ? 0 : (unsigned)sp_fuzz_below(12) - 1;
}

static uint64_t int_number(const struct sp_fuzz_parameter *parameter)
{
    const char *name = parameter->name;

    if (is(name, "size")) /* of a text's room */
        return one_in(4) ? sp_fuzz_below(3) - 1 : sp_fuzz_below(60);
    if (has(name, "device") || has(name, "peer") || is(name, "ordinal"))
        return sp_fuzz_below(5) - 1;
    if (has(name, "attribute"))
        return one_in(4) ? sp_fuzz_below(160) - 5 : sp_fuzz_below(20);
    if (is(name, "mode") || is(name, "kind") || is(name, "alloc_type"))
        return one_in(8) ? sp_fuzz_below(9) - 1 : sp_fuzz_below(4);
    if (is(name, "version"))
        return 11000 + 10 * sp_fuzz_below(220);
    return one_in(16) ? sp_test_random(&sp_fuzz.random) : sp_fuzz_below(9) - 1;
}

static uint64_t function_pointer(const char *type)
{
    uint64_t word = 0;

    if (one_in(8))
        return 0;
    if (is(type, "sp_cu_host_fn")) {
        sp_cu_host_fn call = sp_fuzz_host_call;
        memcpy(&word, &call, sizeof(call));
    } else if (is(type, "sp_cu_stream_callback")) {
        sp_cu_stream_callback call = sp_fuzz_callback;
        memcpy(&word, &call, sizeof(call));
    }
    return word;
}

/* ---- handles ------------------------------------------------------------------------- */

/* Of nodes one that suits the name of the call, if there is one among some. */
static uint64_t node_for(const char *symbol)
{
    static const struct {
        const char *part;
        int type;
    } types[] = {{"KernelNode", SP_CU_NODE_KERNEL},        {"MemcpyNode", SP_CU_NODE_MEMCPY},
                 {"MemsetNode", SP_CU_NODE_MEMSET},        {"HostNode", SP_CU_NODE_HOST},
                 {"ChildGraphNode", SP_CU_NODE_GRAPH},     {"EventWait", SP_CU_NODE_WAIT_EVENT},
                 {"EventRecord", SP_CU_NODE_EVENT_RECORD}, {"MemAlloc", SP_CU_NODE_MEM_ALLOC},
                 {"MemFree", SP_CU_NODE_MEM_FREE}};
    uint64_t node = sp_fuzz_handle(SP_FUZZ_NODE);
    int wanted = -1, type = -1;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (has(symbol, types[i].part))
            wanted = types[i].type;
    }
    if (wanted < 0)
        return node;
    for (unsigned i = 0; i < 12; i++) {
        if (sp_model_driver()->cuGraphNodeGetType((sp_cu_node)(uintptr_t)node, &type) ==
                SP_CU_SUCCESS &&
            type == wanted)
            break;
        node = sp_fuzz_handle(SP_FUZZ_NODE);
    }
    return node;
}

/* Of streams one that is captured, if the name is of what needs one. */
static uint64_t stream_for(const char *symbol)
{
    uint64_t stream = sp_fuzz_handle(SP_FUZZ_STREAM);
    int status = SP_CU_CAPTURE_NONE;

    for (unsigned i = 0; i < 12 && (has(symbol, "EndCapture") || has(symbol, "UpdateCapture"));
         i++) {
        if (sp_model_driver()->cuStreamIsCapturing((sp_cu_stream)(uintptr_t)stream, &status) ==
                SP_CU_SUCCESS &&
            status == SP_CU_CAPTURE_ACTIVE)
            break;
        stream = sp_fuzz_handle(SP_FUZZ_STREAM);
    }
    return stream;
}

/* ---- arguments by value -------------------------------------------------------------- */

/* What names something of another process: as it was made here, but for a word or all of it. */
static void foreign_bytes(uint64_t *words)
{
    memcpy(words, sp_fuzz.foreign, sizeof(sp_fuzz.foreign));
    if (one_in(4))
        words[sp_fuzz_below(MAX_WORDS)] ^= (uint64_t)1 << sp_fuzz_below(64);
    for (unsigned i = 0; i < MAX_WORDS && one_in(4); i++)
        words[i] = sp_test_random(&sp_fuzz.random);
}

static void structure_value(const struct sp_fuzz_parameter *parameter, struct argument *out)
{
    struct sp_cu_location location = sp_fuzz_location();
    struct sp_rt_pitched pitched = sp_fuzz_pitched();
    struct sp_rt_extent extent = sp_fuzz_extent();

    if (is(parameter->type, "sp_cu_location")) {
        memcpy(out->words, &location, sizeof(location));
        return;
    }
    if (is(parameter->type, "sp_rt_dim3")) {
        out->words[0] = sp_fuzz_dimension() | (uint64_t)sp_fuzz_dimension() << 32;
        out->words[1] = sp_fuzz_dimension();
        out->n_words = 2;
        return;
    }
    out->is_on_stack = true; /* more than two words */
    if (is(parameter->type, "sp_rt_pitched")) {
        memcpy(out->words, &pitched, sizeof(pitched));
        out->n_words = sizeof(pitched) / sizeof(uint64_t);
    } else if (is(parameter->type, "sp_rt_extent")) {
        memcpy(out->words, &extent, sizeof(extent));
        out->n_words = sizeof(extent) / sizeof(uint64_t);
    } else {
        foreign_bytes(out->words);
        out->n_words = MAX_WORDS;
    }
}

static void value(const struct sp_fuzz_call *call, const struct sp_fuzz_parameter *parameter,
                  struct argument *out)
{
    const char *type = parameter->type;

    out->n_words = 1;
    if (parameter->kind == SP_FUZZ_NODE)
        out->words[0] = node_for(call->symbol);
    else if (parameter->kind == SP_FUZZ_STREAM)
        out->words[0] = stream_for(call->symbol);
    else if (parameter->kind != SP_FUZZ_NO_KIND)
        out->words[0] = sp_fuzz_handle(parameter->kind);
    else if (is(type, "size_t") || is(type, "uint64_t") || is(type, "unsigned long long"))
        out->words[0] = long_number(parameter);
    else if (is(type, "unsigned") || is(type, "uint32_t"))
        out->words[0] = (uint32_t)unsigned_number(parameter);
    else if (is(type, "int") || is(type, "sp_cu_device") || is(type, "sp_cu_result"))
        out->words[0] = (uint32_t)int_number(parameter);
    else if (is(type, "unsigned char"))
        out->words[0] = sp_fuzz_below(UINT8_MAX + 1);
    else if (is(type, "unsigned short"))
        out->words[0] = sp_fuzz_below(UINT16_MAX + 1);
    else if (has(type, "_fn") || has(type, "callback"))
        out->words[0] = function_pointer(type);
    else
        structure_value(parameter, out);
}

/* ---- arguments by address ------------------------------------------------------------ */

static void *text(const struct sp_fuzz_parameter *parameter)
{
    static const char *const texts[] = {
        "",
        "fuzz_nothing",
        "fuzz_two",
        "no_kernel",
        "cuInit",
        "cuMemAlloc",
        "0000:01:00.0",
        "zz:zz",
        "a name that is longer than most of those that there are in programs"};
    const char *chosen = texts[sp_fuzz_below(sizeof(texts) / sizeof(texts[0]))];

    if (is(parameter->name, "path"))
        chosen = "/dev/null";
    return strcpy(sp_fuzz_room(), chosen);
}

static void *untyped(const struct sp_fuzz_call *call, const struct sp_fuzz_parameter *parameter)
{
    void (*symbol)(void) = sp_fuzz_kernel;
    const char *name = parameter->name;
    uint64_t *room = sp_fuzz_room();
    void *ptr;

    memcpy(&ptr, &symbol, sizeof(ptr));
    if (is(name, "symbol") && one_in(2))
        return sp_fuzz_variable;
    if (is(name, "function") || is(name, "symbol"))
        return one_in(8) ? room : ptr;
    if (is(name, "kernel"))
        return (void *)(uintptr_t)sp_fuzz_handle(SP_FUZZ_KERNEL);
    if (has(name, "value") || is(name, "image") || is(name, "wanted") || is(name, "handle")) {
        *room = one_in(2) ? sp_fuzz_size() : sp_fuzz_below(4);
        return room;
    }
    if (is(name, "affinity"))
        return room;
    if ((is(name, "ptr") || is(name, "host")) && one_in(2))
        return (void *)(uintptr_t)sp_fuzz_handle(SP_FUZZ_PINNED);
    if (call->is_runtime || sp_fuzz.is_wild)
        return (void *)(uintptr_t)sp_fuzz_handle(SP_FUZZ_PTR);
    return sp_fuzz_host();
}

static void *numbers(const struct sp_fuzz_parameter *parameter)
{
    static const size_t sizes[] = {0, 1, 4, 4, 8, 8, 16, 64};
    bool are_options = has(parameter->name, "options");
    void *room = sp_fuzz_room();

    if (is(parameter->type, "size_t") && is_count(parameter))
        *(size_t *)room = count();
    for (unsigned i = 0; i < 8 && !is_count(parameter); i++) {
        if (is(parameter->type, "size_t"))
            ((size_t *)room)[i] = sizes[sp_fuzz_below(8)];
        else if (is(parameter->type, "int") && !are_options)
            ((int *)room)[i] = (int)sp_fuzz_below(24) - 2;
    }
    return room;
}

/* Arrays have 8 elements, more than any count says. */
static void *input(const struct sp_fuzz_call *call, const struct sp_fuzz_parameter *parameter)
{
    const char *type = parameter->type;
    void *room = sp_fuzz_room();

    if (is(parameter->name, "args"))
        return sp_fuzz_args();
    if (is(parameter->name, "extra"))
        return NULL;
    if (is(type, "char"))
        return text(parameter);
    if (parameter->n_stars == 2) {
        for (unsigned i = 0; i < 8; i++)
            ((void **)room)[i] = sp_fuzz_room();
        return room;
    }
    if (parameter->kind != SP_FUZZ_NO_KIND) {
        for (unsigned i = 0; i < 8; i++)
            ((uint64_t *)room)[i] = sp_fuzz_handle(parameter->kind);
        return room;
    }
    if (is(type, "size_t") || is(type, "int"))
        return numbers(parameter);
    if (is(type, "void"))
        return untyped(call, parameter);
    if (is(type, "sp_cu_pointer_export"))
        foreign_bytes(room);
    sp_fuzz_structure(type, room);
    return room;
}

static void choose(const struct sp_fuzz_call *call, const struct sp_fuzz_parameter *parameter,
                   struct argument *out)
{
    if (parameter->n_stars == 0) {
        value(call, parameter, out);
        return;
    }
    out->n_words = 1;
    if (one_in(20))
        return; /* NULL */
    if (parameter->is_output)
        out->output = memset(sp_fuzz_room(), UNWRITTEN, SP_FUZZ_ROOM);
    out->words[0] =
        parameter->is_output ? (uintptr_t)out->output : (uintptr_t)input(call, parameter);
}

/* ---- outputs ------------------------------------------------------------------------- */

static bool is_unwritten(const unsigned char *bytes, size_t from)
{
    for (size_t i = from; i < SP_FUZZ_ROOM; i++) {
        if (bytes[i] != UNWRITTEN)
            return false;
    }
    return true;
}

/* [bytes] of an output of one element, or 0 if it is not known. */
static size_t output_size(const struct sp_fuzz_parameter *parameter)
{
    if (parameter->is_array)
        return 0;
    if (parameter->n_stars == 2 || parameter->kind != SP_FUZZ_NO_KIND ||
        is(parameter->type, "size_t"))
        return sizeof(uint64_t);
    return is(parameter->type, "int") || is(parameter->type, "unsigned") ||
                   is(parameter->type, "float")
               ? sizeof(int)
               : 0;
}

static sp_cu_result memory_type_of(uint64_t address, unsigned *type_out)
{
    return sp_model_driver()->cuPointerGetAttribute(type_out, SP_CU_POINTER_MEMORY_TYPE,
                                                    address);
}

/* The host's memory in pools may go without a call that says so. */
static void keep_block(const struct sp_fuzz_call *call, uint64_t address)
{
    unsigned type;

    if (memory_type_of(address, &type) == SP_CU_SUCCESS && type == SP_CU_MEMORY_TYPE_DEVICE)
        sp_fuzz_made(SP_FUZZ_PTR, address);
    else if (has(call->symbol, "Host"))
        sp_fuzz_made(SP_FUZZ_PINNED, address);
    else
        sp_fuzz_made_unseen(SP_FUZZ_PINNED, address);
}

static void keep(const struct sp_fuzz_call *call, const struct sp_fuzz_parameter *parameter,
                 const unsigned char *output)
{
    bool is_ptr = parameter->kind == SP_FUZZ_PTR || is(parameter->name, "ptr_out") ||
                  is(parameter->type, "sp_rt_pitched");
    uint64_t word;

    memcpy(&word, output, sizeof(word));
    if (word == UNWRITTEN_WORD)
        return;
    /* Of addresses those where a block begins: others come near its end with every call. */
    if (is_ptr &&
        (has(call->symbol, "lloc") || has(call->symbol, "Open") || has(call->symbol, "Import")))
        keep_block(call, word);
    else if (!is_ptr && parameter->kind != SP_FUZZ_NO_KIND && parameter->n_stars == 1)
        sp_fuzz_made(parameter->kind, word);
    else if (has(parameter->type, "_ipc_") || is(parameter->type, "sp_cu_pointer_export"))
        memcpy(sp_fuzz.foreign, output, sizeof(sp_fuzz.foreign));
    else if (is(parameter->name, "kernel_out"))
        sp_fuzz_made(SP_FUZZ_KERNEL, word);
}

/* What nodes allocate is told where their parameters were. */
static void keep_allocation(const struct sp_fuzz_parameter *parameter, uint64_t address)
{
    const struct sp_cu_node_params *node = (void *)(uintptr_t)address;
    const struct sp_cu_alloc_params *alloc = (void *)(uintptr_t)address;

    if (parameter->n_stars != 1 || address == 0)
        return;
    if (is(parameter->type, "sp_cu_alloc_params"))
        sp_fuzz_made(SP_FUZZ_PTR, alloc->ptr);
    else if (has(parameter->type, "_node_params") && node->type == SP_CU_NODE_MEM_ALLOC)
        sp_fuzz_made(SP_FUZZ_PTR, node->alloc.ptr);
}

/* These say why they fail, or that they found nothing. */
static bool tells_more(const char *symbol)
{
    static const char *const parts[] = {
        "ExecUpdate", "Instantiate",         "GetErrorName",   "GetErrorString",
        "EndCapture", "GetDriverEntryPoint", "GetExportTable", "GetProcAddress"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (has(symbol, parts[i]))
            return true;
    }
    return false;
}

/* NOT_READY is no failure of what asks for something else, too. */
static void check_output(const struct sp_fuzz_call *call,
                         const struct sp_fuzz_parameter *parameter, const unsigned char *output,
                         int result, struct sp_fuzz_log *log)
{
    size_t size = output_size(parameter);

    if (result == SP_CU_NOT_READY)
        return;
    if (result != SP_CU_SUCCESS) {
        if (!is_unwritten(output, 0) && !tells_more(call->symbol))
            sp_fuzz_wrong(log, "%s fails with %d and writes %s", call->symbol, result,
                          parameter->name);
        return;
    }
    if (size != 0 && !is_unwritten(output, size))
        sp_fuzz_wrong(log, "%s writes beyond %s", call->symbol, parameter->name);
    keep(call, parameter, output);
}

static void forget(enum sp_fuzz_kind kind)
{
    uint64_t *recent = sp_fuzz.handles[kind].recent;
    unsigned type;

    for (unsigned i = 0; i < SP_FUZZ_RECENT; i++) {
        if (recent[i] != 0 && memory_type_of(recent[i], &type) != SP_CU_SUCCESS)
            recent[i] = 0;
    }
}

void sp_fuzz_forget_freed(void)
{
    forget(SP_FUZZ_PTR);
    forget(SP_FUZZ_PINNED);
}

static bool may_free(const char *symbol)
{
    static const char *const parts[] = {"Free",  "Reset",      "CtxDestroy", "CtxDetach",
                                        "Close", "CtxRelease", "Unregister", "PoolDestroy"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (has(symbol, parts[i]))
            return true;
    }
    return false;
}

/* ---- the call ------------------------------------------------------------------------ */

static void pass(const struct argument *argument, struct words *words)
{
    bool fits = argument->n_words <= N_REGISTERS - words->n_registers;

    for (unsigned i = 0; i < argument->n_words; i++) {
        if (fits && !argument->is_on_stack)
            words->registers[words->n_registers++] = argument->words[i];
        else
            words->stack[words->n_stack++] = argument->words[i];
    }
}

/* Too many arguments do no harm. */
static int invoke(void *function, const struct words *words)
{
    const uint64_t *r = words->registers, *s = words->stack;
    int (*call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

    memcpy(&call, &function, sizeof(call));
    return call(r[0], r[1], r[2], r[3], r[4], r[5], s[0], s[1], s[2], s[3], s[4], s[5], s[6],
                s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15], s[16], s[17], s[18],
                s[19], s[20], s[21], s[22], s[23], s[24], s[25]);
}

void sp_fuzz_wrong(struct sp_fuzz_log *log, const char *format, ...)
{
    va_list args;

    if (log->wrong[0] != '\0')
        return;
    va_start(args, format);
    (void)vsnprintf(log->wrong, sizeof(log->wrong), format, args);
    va_end(args);
}

static void write_down(const struct sp_fuzz_call *call, const struct argument *arguments,
                       char *line)
{
    size_t length = (size_t)snprintf(line, SP_FUZZ_LINE, "%s(", call->symbol);

    for (unsigned i = 0; i < call->n_parameters && length < SP_FUZZ_LINE; i++)
        length += (size_t)snprintf(line + length, SP_FUZZ_LINE - length, "%s%s %" PRIx64,
                                   i > 0 ? ", " : "", call->parameters[i].name,
                                   arguments[i].words[0]);
}

int sp_fuzz_call(const struct sp_fuzz_call *call, struct sp_fuzz_log *log)
{
    struct argument arguments[SP_FUZZ_MAX_PARAMETERS] = {0};
    char *line = log->lines[log->n++ % SP_FUZZ_LINES];
    struct words words = {0};
    int result;

    /* What takes addresses of the host's is wild more seldom: then it would get none. */
    sp_fuzz.is_wild = call->has_host ? one_in(8) : one_in(2);
    for (unsigned i = 0; i < call->n_parameters; i++) {
        choose(call, &call->parameters[i], &arguments[i]);
        if (arguments[i].is_on_stack && !PASSES_STRUCTURES)
            return SP_CU_SUCCESS;
        pass(&arguments[i], &words);
    }
    write_down(call, arguments, line);
    result = invoke(call->function, &words);
    (void)snprintf(line + strlen(line), SP_FUZZ_LINE - strlen(line), ") = %d", result);
    if (!sp_fuzz_is_result(result))
        sp_fuzz_wrong(log, "%s answers %d", call->symbol, result);
    if (has(call->symbol, "GetLastError") || has(call->symbol, "PeekAtLastError"))
        return SP_CU_SUCCESS; /* another call's */
    for (unsigned i = 0; i < call->n_parameters; i++) {
        if (arguments[i].output != NULL)
            check_output(call, &call->parameters[i], arguments[i].output, result, log);
        else if (result == SP_CU_SUCCESS)
            keep_allocation(&call->parameters[i], arguments[i].words[0]);
    }
    if (may_free(call->symbol))
        sp_fuzz_forget_freed();
    return result;
}

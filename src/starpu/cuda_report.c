/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The report's part on CUDA. */
#include "config.h"

#include "src/starpu/cuda_report.h"

#include <inttypes.h>

#include "src/pool/private.h"
#include "src/starpu/codelet_check.h"
#include "src/starpu/cuda.h"
#include "src/starpu/pin.h"
#include "src/starpu/watch.h"
#include "src/util/util.h"

enum fact {
    FACT_RESETS,
    FACT_GLOBAL,
    FACT_DOWNGRADED,
    FACT_SPARED,
    FACT_CHECKED,
    FACT_CHANGED,
    N_FACTS
};

static const struct {
    const char *key;
    const char *text;
} words[N_FACTS] = {
    [FACT_RESETS] = {"resets", "devices reset"},
    [FACT_GLOBAL] = {"global_captures", "captures begun in mode GLOBAL"},
    [FACT_DOWNGRADED] = {"downgraded_captures", "of these begun as THREAD_LOCAL ones"},
    [FACT_SPARED] = {"spared_pins", "pins and unpins of memory that a pool has registered"},
    [FACT_CHECKED] = {"checked_blocks", "freed ranges looked at for CODELET_CHECK"},
    [FACT_CHANGED] = {"changed_blocks", "of these changed since StarPU had freed them"},
};

static void count_facts(uint64_t facts[N_FACTS])
{
    struct sp_watch_counts counts = sp_watch_counts();

    facts[FACT_RESETS] = counts.n_resets;
    facts[FACT_GLOBAL] = counts.n_global;
    facts[FACT_DOWNGRADED] = counts.n_downgraded;
    facts[FACT_SPARED] = sp_pin_n_spared();
    facts[FACT_CHECKED] = sp_codelet_check_n_checked();
    facts[FACT_CHANGED] = sp_codelet_check_n_changed();
}

/* A codelets' pool by itself, as a node's pool is shown with its node. */
static struct starpool_pool *codelet_pool(int device)
{
    return sp_cuda_record(device).codelets;
}

static bool has_anything(const uint64_t facts[N_FACTS])
{
    int i;

    for (i = 0; i < N_FACTS; i++) {
        if (facts[i] > 0)
            return true;
    }
    for (i = 0; i < SP_MAX_DEVICES; i++) {
        if (codelet_pool(i) != NULL)
            return true;
    }
    return false;
}

void sp_cuda_report_text(FILE *out)
{
    uint64_t facts[N_FACTS];
    int i;

    count_facts(facts);
    if (!has_anything(facts))
        return;
    fputs("  CUDA\n", out);
    for (i = 0; i < N_FACTS; i++) {
        if (facts[i] > 0)
            fprintf(out, "    %s: %" PRIu64 "\n", words[i].text, facts[i]);
    }
    for (i = 0; i < SP_MAX_DEVICES; i++) {
        if (codelet_pool(i) == NULL)
            continue;
        fprintf(out, "  codelets' own memory (cuda %d)\n", i);
        sp_report_pool_text(out, codelet_pool(i));
    }
}

void sp_cuda_report_json(struct sp_json *json)
{
    uint64_t facts[N_FACTS];
    int i;

    count_facts(facts);
    if (!has_anything(facts))
        return;
    sp_json_object_begin(json, "cuda");
    for (i = 0; i < N_FACTS; i++)
        sp_json_number(json, words[i].key, facts[i]);
    sp_json_array_begin(json, "codelet_pools");
    for (i = 0; i < SP_MAX_DEVICES; i++) {
        if (codelet_pool(i) == NULL)
            continue;
        sp_json_object_begin(json, NULL);
        sp_json_number(json, "device", (uint64_t)i);
        sp_json_object_begin(json, "pool");
        sp_report_pool_json(json, codelet_pool(i));
        sp_json_end(json);
        sp_json_end(json);
    }
    sp_json_end(json);
    sp_json_end(json);
}

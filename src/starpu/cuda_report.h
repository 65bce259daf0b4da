/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the report says of CUDA beyond StarPU's nodes. */
#ifndef SP_CUDA_REPORT_H
#define SP_CUDA_REPORT_H

#include <stdio.h>

#include "src/util/json.h"

/* Codelets' pools, captures, resets, pins, and what CODELET_CHECK found; nothing where there
 * was none of it. */
void sp_cuda_report_text(FILE *out);

/* The same, as a member "cuda" of the object. */
void sp_cuda_report_json(struct sp_json *json);

#endif /* SP_CUDA_REPORT_H */

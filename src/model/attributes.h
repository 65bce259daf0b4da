/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The attributes of the model's devices, by the names that cuda.h has for them. */
#ifndef SP_MODEL_ATTRIBUTES_H
#define SP_MODEL_ATTRIBUTES_H

#include <stdint.h>

enum sp_model_attribute {
#define X(name, number, value) SP_ATTRIBUTE_##name = number,
#include "src/model/attributes.def"
#undef X
    SP_ATTRIBUTE_LAST = SP_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED,
};

/* What attributes.def has; those that differ between devices or runs are not meant. Any thread,
 * with or without the model's lock. */
static inline int sp_model_attribute_constant(enum sp_model_attribute attribute)
{
    switch (attribute) {
#define X(name, number, value) \
    case SP_ATTRIBUTE_##name:  \
        return value;
#include "src/model/attributes.def"
#undef X
    default:
        return 0;
    }
}

#endif /* SP_MODEL_ATTRIBUTES_H */

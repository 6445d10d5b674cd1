/* Declarations that the files of elementwise ops share. */
#ifndef TW_LOWER_EMIT_H
#define TW_LOWER_EMIT_H

#include "lower/lower_op.h"

#define NEW(l, type, mnemonic, ...)                                                                \
    nvptx_new(&(struct nvptx_scalars){.build = &(l)->b}, (type), (mnemonic), NULL,                 \
              PTX_OPERANDS(__VA_ARGS__))
/* For each `*` in the mnemonic the type `each`. */
#define NEW_OF(l, type, each, mnemonic, ...)                                                       \
    nvptx_new(&(struct nvptx_scalars){.build = &(l)->b}, (type), (mnemonic),                       \
              PTX_TYPES((uint16_t)(each), (uint16_t)(each)), PTX_OPERANDS(__VA_ARGS__))

/* yes where p, else no; of PTX type `type`. */
static inline struct ptx_operand emit_select(struct lower *l, enum ptx_mod type,
                                             struct ptx_operand p, struct ptx_operand yes,
                                             struct ptx_operand no)
{
    return NEW_OF(l, type, type, "selp.*", yes, no, p);
}

/* --- lower_lookup.c --- */

/* The element at `index` (an i32) of the table whose symbol has that number; the first or last one
 * where the index is outside. */
struct ptx_operand lookup_emit(struct lower *l, struct ptx_operand number,
                               struct ptx_operand index);

#endif

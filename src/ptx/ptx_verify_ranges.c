/* Verifies constants that have the right type: is the value in the instruction's range? The
 * table has the ranges that it can express (see SLOT_IMMEDIATE); the others are here. */
#include "ptx/ptx_verifier.h"

#include <inttypes.h>

enum {
    MOST_ARRIVALS = (1 << 20) - 1, /* PTX ISA, parallel-synchronization-…-mbarrier-contents */
    MOST_BYTES = 1048560,          /* of a bulk copy: a multiple of 16 in 20 bits */
    FIELD = 255
};

static const struct {
    uint16_t op;
    uint8_t operand;
    int32_t low, high;
} ranges[] = {{PTX_BFE, 2, 0, FIELD},
              {PTX_BFE, 3, 0, FIELD},
              {PTX_BFI, 3, 0, FIELD},
              {PTX_BFI, 4, 0, FIELD},
              {PTX_CP_ASYNC_BULK, 2, 0, MOST_BYTES},
              {PTX_CP_REDUCE_ASYNC_BULK, 2, 0, MOST_BYTES},
              {PTX_CP_ASYNC_BULK_PREFETCH, 1, 0, MOST_BYTES},
              {PTX_MBARRIER_INIT, 1, 1, MOST_ARRIVALS},
              {PTX_MBARRIER_EXPECT_TX, 1, -MOST_ARRIVALS, MOST_ARRIVALS},
              {PTX_MBARRIER_COMPLETE_TX, 1, -MOST_ARRIVALS, MOST_ARRIVALS},
              {PTX_MBARRIER_ARRIVE, 2, 1, MOST_ARRIVALS},
              {PTX_MBARRIER_ARRIVE_DROP, 2, 1, MOST_ARRIVALS}};

void ptx_verify_ranges(struct ptx_verifier *v)
{
    const struct ptx_instruction *ins = v->instruction;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (ranges[i].op != ins->op || ranges[i].operand >= ins->operand_count ||
            ins->operands[ranges[i].operand].kind != PTX_IMMEDIATE)
            continue;
        int64_t value = (int64_t)ins->operands[ranges[i].operand].bits, low = ranges[i].low;
        if (ptx_has(ins, MOD_EXPECT_TX)) /* bytes, not arrivals */
            low = -MOST_ARRIVALS;
        if (value < low || value > ranges[i].high)
            ptx_complain(
                v, "operand %d of `%s` must be from %" PRId64 " to %" PRId32 ", not %" PRId64,
                ranges[i].operand + 1, ptx_mnemonic(v->arena, ins), low, ranges[i].high, value);
    }
}

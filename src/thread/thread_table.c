/* The table of operations. */
#include "thread/thread.h"

#include <string.h>

#define PURE THREAD_PURE
#define READS THREAD_READS
#define WRITES THREAD_WRITES
#define SYNC THREAD_SYNC
#define CONTROL THREAD_CONTROL
const struct thread_op_info thread_op_table[THREAD_OPS] = {
#define THREAD_OP(name, text, types, results, operands, effects)                                   \
    [THREAD_##name] = {text, types, results, operands, effects},
#include "thread/thread_ops.def"
#undef THREAD_OP
};

enum thread_opcode thread_opcode_of(const char *text, size_t length)
{
    for (int i = 0; i < THREAD_OPS; i++)
        if (thread_op_table[i].text[0] == text[0] && strlen(thread_op_table[i].text) == length &&
            memcmp(thread_op_table[i].text, text, length) == 0)
            return (enum thread_opcode)i;
    return THREAD_OPS;
}

struct thread_type thread_moved_type(const struct thread_operation *op)
{
    const struct thread_operand *last = &op->operands.data[op->operands.count - 1];
    if (op->results.count)
        return op->results.data[0]->type;
    return last->kind == THREAD_VALUE ? last->value->type
                                      : (struct thread_type){.dtype = op->types[0], .count = 1};
}

bool thread_is_integer(const struct thread_operation *op)
{
    return thread_op_table[op->op].effects == THREAD_PURE && op->results.count == 1 &&
           op->results.data[0]->type.count == 1 && op->types[0] != DT_NONE &&
           dtype_is_int(op->types[0]) && op->op != THREAD_PHILOX && op->op != THREAD_UNDEFINED;
}

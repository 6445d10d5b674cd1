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
        if (strlen(thread_op_table[i].text) == length &&
            memcmp(thread_op_table[i].text, text, length) == 0)
            return (enum thread_opcode)i;
    return THREAD_OPS;
}

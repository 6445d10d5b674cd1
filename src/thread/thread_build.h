/* Making thread IR, operation by operation. */
#ifndef TW_THREAD_BUILD_H
#define TW_THREAD_BUILD_H

#include "thread/thread.h"

struct thread_builder {
    struct arena *arena;
    struct thread_function *function;
    struct thread_region *region;   /* operations go to its end */
    struct loc where;               /* the place of the operations to come */
    const struct thread_turn *turn; /* likewise */
    struct thread_made *made; /* by hash, for operations to come; NULL: equal ones are made again */
    /* by number of a value of a function that the builder started: its operation; NULL: it has none yet */
    VEC(const struct thread_operation *) definitions;
};

/* Starts a function: without parameters, objects and operations. An operation that computes a single value from its
 * operands alone is made once in a region: adding an equal one returns the first one's result. The builder remembers
 * 1,024 operations by their hash; an operation that another has replaced there is made again. */
void thread_build_start(struct thread_builder *b, struct arena *a, const char *name,
                        struct ptx_target target);

/* Returns the operation that was added for the value; NULL: it is an argument, a parameter or a result of control. */
const struct thread_operation *thread_definition(const struct thread_builder *b,
                                                 const struct thread_operand *o);

/* Makes a value that no operation defines yet: a parameter, an argument or a result. */
struct thread_value *thread_new_value(struct thread_builder *b, struct thread_type type);
struct thread_object *thread_new_object(struct thread_builder *b, const char *name,
                                        enum dtype dtype, uint32_t count, uint32_t at);
/* Makes a table. values: `count` constants, which stay the caller's. */
struct thread_object *thread_new_table(struct thread_builder *b, const char *name, enum dtype dtype,
                                       uint32_t count, const struct thread_operand *values);
/* Makes a local array. */
struct thread_object *thread_new_local(struct thread_builder *b, const char *name, enum dtype dtype,
                                       uint32_t count);

struct thread_operand thread_use(struct thread_value *v);
struct thread_operand thread_integer(int64_t v);
struct thread_operand thread_real(double v);
struct thread_operand thread_text(const char *text);
/* Element `index` + `more` of an array; index: a u32 value, or an integer. */
struct thread_operand thread_element(const struct thread_object *object,
                                     struct thread_operand index, int64_t more);

/* Adds an operation. Its results, which the table lists, get the types that the operands give. count_of_result: of operations
 * whose text states it; else 0. Returns the first result; NULL: there is none. */
struct thread_value *thread_add_counted(struct thread_builder *b, enum thread_opcode op,
                                        enum dtype t, enum dtype from, uint16_t count_of_result,
                                        const struct thread_operand *operands, size_t count);
/* The same for operations with up to three types. */
struct thread_value *thread_add_typed(struct thread_builder *b, enum thread_opcode op,
                                      const enum dtype types[THREAD_TYPES],
                                      uint16_t count_of_result,
                                      const struct thread_operand *operands, size_t count);
#define THREAD_ADD_OP(b, op, t, from, ...)                                                         \
    thread_add_counted(b, op, t, from, 0, (const struct thread_operand[]){__VA_ARGS__},            \
                       sizeof((const struct thread_operand[]){__VA_ARGS__}) /                      \
                           sizeof(struct thread_operand))
/* Adds an operation with regions, or one that ends a region: the caller fills it. */
struct thread_operation *thread_add_control(struct thread_builder *b, enum thread_opcode op);

/* Returns the type of an operation's result whose letter in the table is `kind`. count 0: none or more
 * than a group may have. */
struct thread_type thread_result_type(const struct thread_operation *o, char kind);

#endif

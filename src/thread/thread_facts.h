/* Facts about the scalars of thread IR (facts/facts.h): the driver of the domain over thread IR. */
#ifndef TW_THREAD_FACTS_H
#define TW_THREAD_FACTS_H

#include "facts/facts.h"
#include "thread/thread.h"

/* Calls visit after each operation without regions, with what is known of each value there, by its number: loops have
 * reached an end, and the conditions of `if` and `break_if` count where they hold. Requires a verified function. */
void thread_facts_walk(struct arena *a, const struct thread_function *f,
                       void (*visit)(void *user, const struct thread_operation *op,
                                     const struct facts *facts),
                       void *user);
/* Returns the facts of an operand of type t. */
struct facts thread_facts_of(const struct facts *facts, const struct thread_operand *o,
                             enum dtype t);

#endif

/* Facts about the scalars of thread IR (facts/facts.h): the driver of the domain over thread IR. */
#ifndef TW_THREAD_FACTS_H
#define TW_THREAD_FACTS_H

#include "facts/facts.h"
#include "thread/thread.h"

/* Calls visit, in the order of the program, after each operation that `wants` names, and after those that compute its numbers
 * and the conditions around it, with what is known there of the values that it takes and gives, by their numbers. Loops have
 * reached an end, and the conditions of `if` and `break_if` count where they hold. Operations of control are not visited.
 * Requires a verified function. */
void thread_facts_walk(struct arena *a, const struct thread_function *f,
                       bool (*wants)(const struct thread_operation *op),
                       void (*visit)(void *user, const struct thread_operation *op,
                                     const struct facts *facts),
                       void *user);
/* Returns the facts of an operand of type t. */
struct facts thread_facts_of(const struct facts *facts, const struct thread_operand *o,
                             enum dtype t);

#endif

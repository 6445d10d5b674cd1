/* Faults, and uses of values: a value that a product takes is not used again. */
#include "thread/thread_verify_own.h"

void thread_verify_fault(struct checks *c, struct loc at, const char *text)
{
    diag_error(c->diag, at, "%s", text);
    c->ok = false;
}

void thread_verify_refuse(struct checks *c, const struct thread_operand *o, const char *text)
{
    thread_verify_fault(c, thread_place_of(o, c->where), text);
}

void thread_verify_use(struct checks *c, const struct thread_operand *o)
{
    if (o->value && fate_of(c, o->value)->taken)
        thread_verify_refuse(
            c, o, "the registers of this value belong to a later one: a product has taken it");
}

void thread_verify_iteration(struct checks *c, const struct thread_operand *o)
{
    if (fate_of(c, o->value)->loops < c->loops)
        thread_verify_refuse(
            c, o,
            "this value would be taken in each iteration of the loop: make it an argument "
            "of the loop");
}

void thread_verify_take(struct checks *c, const struct thread_operand *o)
{
    thread_verify_use(c, o);
    thread_verify_iteration(c, o);
    fate_of(c, o->value)->taken = true;
    vec_push(c->arena, &c->taken, o->value->number);
}

/* Compiles roles, mbarriers and what waits for them (exec_roles.c).
 *
 * Each replica of a role is compiled by itself, one after the other, and none of them releases its
 * part of the frame's memory: all are alive at the same time. */
#include "cpu/compile/compile.h"

enum { WARPGROUP = 4 };

/* Returns the number of arrivals of one arrive() in a role of that size. */
static int arrivals_of(int warps)
{
    return warps < WARPGROUP ? 1 : warps / WARPGROUP;
}

void compile_roles_open(struct compiler *c)
{
    int count = 1;
    if (!kernel_uses_roles(c->kernel))
        return;
    for (const struct stmt *s = c->kernel->body; s; s = s->next)
        count += s->kind == STMT_ROLE ? s->role->replicas : 0;
    c->roles = arena_alloc(c->arena, sizeof *c->roles + (size_t)count * sizeof c->roles->role[0]);
    *c->roles = (struct roles_detail){.count = count};
    c->roles->at = compile_memory_new(c, (size_t)count * sizeof(struct role_state));
    c->roles->role[0] = (struct role_start){0, "it"};
    if (c->kernel->cluster[0] > 0) {
        c->roles->peer = clusters_frame;
        c->roles->run = clusters_run;
    }
    c->arrivals = arrivals_of(c->kernel->warps);
    c->program->roles = c->roles;
    compile_add_step(c, step_roles_open);
}

/* --- mbarriers --- */

void compile_mbarrier(struct compiler *c, const struct sym *s)
{
    struct slot *slot = compile_slot_of(c, s);
    struct mbarrier_detail *d = arena_new(c->arena, struct mbarrier_detail);
    size_t elements = (size_t)type_elements(&s->type);
    slot->value = (struct value){.dtype = s->type.dtype, .rank = s->type.rank, .lanes = 1};
    memcpy(slot->value.extent, s->type.extent, sizeof slot->value.extent);
    slot->value.at = compile_memory_new(c, elements * sizeof(struct mbarrier));
    slot->waited_at = compile_memory_new(c, (size_t)c->roles->count * elements * sizeof(uint32_t));
    d->at = slot->value.at;
    d->waited = slot->waited_at;
    d->elements = (uint32_t)elements;
    d->arrivals = s->arrivals;
    d->ready = s->ready;
    compile_add_step(c, step_mbarrier)->detail = d;
}

struct mbarrier_detail *compile_mbarrier_new(struct compiler *c, const struct expr *e,
                                             const struct expr *value)
{
    struct mbarrier_detail *d = arena_new(c->arena, struct mbarrier_detail);
    const struct slot *slot = compile_slot_of(c, e->sym);
    d->access = compile_access_new(c, e);
    d->at = slot->value.at;
    d->waited = slot->waited_at;
    d->elements = (uint32_t)type_elements(&e->sym->type);
    d->arrivals = e->sym->arrivals;
    d->value = value ? compile_value_convert(c, compile_expr(c, value, NULL), DT_I32).at : NO_SLOT;
    return d;
}

void compile_phase(struct compiler *c, const struct expr *e)
{
    uint32_t top = c->top;
    struct mbarrier_detail *d =
        compile_mbarrier_new(c, e->args[0], e->count > 1 ? e->args[1] : NULL);
    d->one_thread = c->one_thread;
    struct instr *in = compile_add_step(c, e->op == OP_WAIT     ? step_wait
                                           : e->op == OP_EXPECT ? step_expect
                                                                : step_arrive);
    in->detail = d;
    in->n = e->op == OP_EXPECT ? 1 : (uint32_t)c->arrivals;
    c->top = top;
}

/* --- roles --- */

static void compile_replica(struct compiler *c, const struct stmt *s, int number)
{
    const struct role *role = s->role;
    struct role_start *start = &c->roles->role[++c->role];
    if (role->first + number * role->warps == 0)
        c->roles->with_thread = c->role;
    start->pc = c->labelled = (uint32_t)c->code.count;
    start->name =
        arena_printf(c->arena, "warps(%d +: %d)", role->first + number * role->warps, role->warps);
    if (role->replica) {
        struct value v = compile_value_new(c, DT_I32, 0, NULL, 1);
        struct value constant = compile_value_constant(c, DT_I32, (struct literal){.i = number});
        compile_value_transfer(c, &v, &constant);
        compile_slot_of(c, role->replica)->value = v;
    }
    c->arrivals = arrivals_of(role->warps);
    compile_scope(c, s->body);
    c->loc = s->loc;
    compile_add_step(c, step_role_end);
    c->roles->end = c->labelled = (uint32_t)c->code.count;
    c->top = c->high;
}

void compile_role(struct compiler *c, const struct stmt *s)
{
    if (c->role == 0)
        compile_add_step(c, step_roles_start);
    for (int i = 0; i < s->role->replicas; i++)
        compile_replica(c, s, i);
}

void compile_one_thread(struct compiler *c, const struct stmt *s)
{
    int all = c->arrivals;
    c->arrivals = 1;
    c->one_thread = true;
    compile_scope(c, s->body);
    c->one_thread = false;
    c->arrivals = all;
}

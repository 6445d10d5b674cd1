/* The state of a kernel's emission: what it reports, its variables and shared objects, what is known at a place, and barriers. */
#include "emit/emit_own.h"
#include "plan/plan_layouts.h"

#include <stdarg.h>

/* --- errors --- */

void emit_error(struct emit *m, struct loc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct text text;
    text_init(&text, m->arena);
    text_vprintf(&text, format, args);
    va_end(args);
    if (!m->failed)
        diag_error(m->diag, loc, "%s", text.data);
    m->failed = true;
}

void emit_missing(struct emit *m, struct loc loc, const char *what, const char *way_out)
{
    if (m->failed)
        return;
    emit_error(m, loc, "%s is not compiled for GPUs in a kernel with %s", what,
               m->by_threads->heads);
    if (way_out)
        diag_note(m->diag, loc, "%s", way_out);
}

const char *emit_way_out(enum op op)
{
    switch (op) {
    case OP_ATOMIC_ADD: return "write it as a statement of its own";
    case OP_LOCK:
    case OP_UNLOCK: return "let a kernel without roles do what needs an order of blocks";
    case OP_PRINT: return "print on the CPU: `--device cpu`";
    default:
        return "keep the value in a shared tile or workspace, or compute it in a kernel without "
               "roles";
    }
}

/* --- parts of the tree --- */

void emit_list(struct emit *m, const struct stmt *first)
{
    m->tree->list(m, first);
}

struct scalar emit_scalar(struct emit *m, const struct expr *e)
{
    return m->tree->scalar(m, e);
}

struct scalar *emit_elements(struct emit *m, const struct expr *e)
{
    return m->tree->elements(m, e);
}

/* --- variables and objects --- */

struct variable *emit_variable(struct emit *m, const struct sym *s)
{
    const struct number_entry *found = number_map_find(&m->variables, (uintptr_t)s);
    return found ? (struct variable *)(uintptr_t)found->value : NULL;
}

struct variable *emit_declare(struct emit *m, const struct sym *s, int count)
{
    bool added;
    struct number_entry *entry = number_map_entry(m->arena, &m->variables, (uintptr_t)s, &added);
    struct variable *v =
        added ? arena_new(m->arena, struct variable) : (struct variable *)(uintptr_t)entry->value;
    entry->value = (uintptr_t)v;
    *v = (struct variable){.sym = s, .count = count};
    v->slots = arena_array(m->arena, struct slot, count + 1);
    if (added)
        vec_push(m->arena, &m->live, v);
    return v;
}

void emit_list_objects(struct emit *m)
{
    for (const struct sym *s = m->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_SHARED && s->storage != ST_MBARRIER)
            continue;
        enum dtype t = s->storage == ST_MBARRIER ? DT_NONE : s->type.dtype;
        bool added;
        struct thread_object *o = thread_new_object(
            &m->b, s->name, t, (uint32_t)type_elements(&s->type), (uint32_t)s->offset);
        number_map_entry(m->arena, &m->objects, (uintptr_t)s, &added)->value = (uintptr_t)o;
    }
}

struct thread_object *emit_object(struct emit *m, const struct sym *s)
{
    return (struct thread_object *)(uintptr_t)number_map_find(&m->objects, (uintptr_t)s)->value;
}

/* --- facts --- */

/* Returns whether the facts have learned the conditions of all loops in whose bodies the statement is. *count: the number of
 * these loops. */
static bool knows_loops(const struct emit *m, const struct flow_loop *loop, size_t *count)
{
    *count = 0;
    if (!loop)
        return true;
    const bool outer = knows_loops(m, loop->outer, count);
    if (!loop->in_body)
        return outer;
    return outer && (*count)++ < m->learned.count && m->learned.data[*count - 1] == loop->s;
}

static void enter_loops(struct emit *m, const struct flow_loop *loop)
{
    if (!loop)
        return;
    enter_loops(m, loop->outer);
    if (!loop->in_body)
        return;
    tile_facts_enter(m->facts, loop->s);
    vec_push(m->arena, &m->learned, loop->s);
}

struct facts emit_facts_of(struct emit *m, const struct expr *e)
{
    size_t loops;
    const bool known = knows_loops(m, m->loop, &loops) && loops == m->learned.count;
    if (!known || m->facts->undo.count != m->learned_facts) {
        tile_facts_forget(m->facts, 0);
        m->learned.count = 0;
        enter_loops(m, m->loop);
        m->learned_facts = m->facts->undo.count;
    }
    return tile_facts_of(m->facts, e);
}

/* --- places and barriers --- */

struct scalar emit_place(struct emit *m, enum thread_opcode op)
{
    return (struct scalar){thread_use(thread_add_counted(&m->b, op, DT_NONE, DT_NONE, 0, NULL, 0)),
                           DT_U32};
}

void emit_sync(struct emit *m)
{
    const struct position *p = &m->place;
    bool block = p->barrier == 0;
    if (m->loop && m->loop->start == LOOP_NOTHING &&
        m->b.region == m->loop->operation->regions.data[0])
        m->loop->start = LOOP_BARRIER;
    m->place.touched = false;
    m->room.barriers++;
    if (p->barrier == EMIT_OF_WARP) {
        thread_add_counted(&m->b, THREAD_WARP_SYNC, DT_NONE, DT_NONE, 0, NULL, 0);
        return;
    }
    struct scalar which = emit_by(m, THREAD_ADD, p->replica, p->barrier);
    THREAD_ADD_OP(&m->b, THREAD_BARRIER, DT_NONE, DT_NONE, block ? thread_integer(0) : which.o,
                  thread_integer(block ? 0 : p->warps * WARP_LANES));
}

void emit_settle(struct emit *m)
{
    if (plan_room_is_read(&m->room) && !m->failed && !m->ended)
        emit_sync(m);
}

/* Returns whether the next iteration may use memory that threads are reading before its first barrier. */
static bool is_used_at_once(const struct emit *m)
{
    const struct flow_loop *loop = m->loop;
    if (!loop || (loop->start == LOOP_BARRIER && !loop->outer))
        return false;
    return loop->outer || loop->start == LOOP_NOTHING || loop->barriers == m->room.barriers ||
           plan_room_meets(&m->room, loop->stretches, loop->barriers);
}

void emit_settle_later(struct emit *m)
{
    if (is_used_at_once(m)) {
        emit_settle(m);
        return;
    }
    m->place.touched |= plan_room_is_read(&m->room);
    plan_room_bury(&m->room);
}

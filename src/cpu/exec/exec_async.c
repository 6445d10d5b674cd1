/* Asynchronous copies: they are queued when issued, and executed by the wait that needs them,
 * not earlier. A program that forgets to wait therefore reads the old contents. Until then the
 * destination belongs to the copy: touching it is a fault. */
#include "cpu/program.h"

static void copy_release(struct frame *f, struct copy_under_way *copy)
{
    if (copy->gathered)
        workers_realloc(f->launch, copy->gathered, copy->gathered_bytes, 0);
}

void exec_async_drop(struct frame *f)
{
    for (size_t i = 0; i < f->copy_count; i++)
        copy_release(f, &f->copies[i]);
    f->copy_count = 0;
}

static bool queue_room(struct frame *f)
{
    if (f->copy_count < f->copy_capacity)
        return true;
    size_t capacity = f->copy_capacity ? 2 * f->copy_capacity : 16, size = sizeof *f->copies;
    void *larger = workers_realloc(f->launch, f->copies, f->copy_capacity * size, capacity * size);
    if (!larger)
        return false;
    f->copies = larger;
    f->copy_capacity = capacity;
    return true;
}

/* Copies the index tiles of gathers, because they may change before the copy is executed. */
static bool keep_indices(struct frame *f, struct copy_under_way *copy)
{
    const struct access *from = copy->detail->from;
    size_t bytes = 0;
    for (int i = 0; i < from->rank; i++)
        if (copy->from.gather[i])
            bytes += (size_t)from->axis[i].extent * (from->axis[i].wide ? 8 : 4);
    if (bytes == 0)
        return true;
    unsigned char *to = workers_realloc(f->launch, NULL, 0, bytes);
    if (!to)
        return false;
    copy->gathered = (void *)to;
    copy->gathered_bytes = bytes;
    for (int i = 0; i < from->rank; i++)
        if (copy->from.gather[i] && from->axis[i].wide) { /* the wide ones first, so that they
                                                           * are aligned */
            size_t size = (size_t)from->axis[i].extent * 8;
            copy->from.gather[i] = memcpy(to, copy->from.gather[i], size);
            to += size;
        }
    for (int i = 0; i < from->rank; i++)
        if (copy->from.gather[i] && !from->axis[i].wide) {
            size_t size = (size_t)from->axis[i].extent * 4;
            copy->from.gather[i] = memcpy(to, copy->from.gather[i], size);
            to += size;
        }
    return true;
}

struct copy_under_way *exec_async_begin(struct frame *f, struct frame *to, const struct instr *in)
{
    const struct async_detail *d = in->detail;
    struct copy_under_way copy = {.detail = d, .loc = in->loc, .group = f->group, .role = f->role};
    if (!exec_access_box(f, d->from, in->loc, &copy.from) ||
        !exec_access_box(f, d->to, in->loc, &copy.to) ||
        !exec_async_leaves_box(to, d->to, &copy.to, in->loc)) {
        if (to->state == FRAME_FAULT) { /* of a peer: the worker looks at the frame that runs */
            f->state = FRAME_FAULT;
            f->fault = to->fault;
        }
        return NULL;
    }
    if (d->from->otherwise != NO_SLOT)
        memcpy(&copy.otherwise, frame_at(f, d->from->otherwise), d->from->size);
    if (!queue_room(to) || !keep_indices(f, &copy)) {
        frame_fault(f, CPU_NO_MEMORY, in->loc, -1, "out of memory for copies under way");
        return NULL;
    }
    to->copies[to->copy_count] = copy;
    return &to->copies[to->copy_count++];
}

void step_async_copy(struct frame *f, const struct instr *in)
{
    exec_async_begin(f, f, in);
}

void step_async_commit(struct frame *f, const struct instr *in)
{
    (void)in;
    f->group++;
}

static void copy_perform(struct frame *f, const struct copy_under_way *copy)
{
    const struct async_detail *d = copy->detail;
    if (d->packed) {
        packed_note(packed_stage(f, d->packed->tile, d->to, &copy->to), d->packed, &copy->from);
        return;
    }
    void *buffer = frame_at(f, d->buffer);
    exec_box_load(f, d->from, &copy->from, buffer, &copy->otherwise);
    exec_box_store(f, d->to, &copy->to, buffer, NULL);
}

static void copy_finish(struct frame *f, struct copy_under_way *copy)
{
    copy_perform(f, copy);
    copy_release(f, copy);
}

void exec_async_complete(struct frame *f, size_t index)
{
    copy_finish(f, &f->copies[index]);
    f->copy_count--;
    memmove(&f->copies[index], &f->copies[index + 1],
            (f->copy_count - index) * sizeof f->copies[index]);
}

/* Executes copies of the role that waits, without tensor copies. in->n: number of the latest groups
 * that may stay under way; 0: executes all copies, committed or not. */
void step_async_wait(struct frame *f, const struct instr *in)
{
    int64_t before = in->n == 0 ? INT64_MAX : f->group - (int64_t)in->n;
    size_t kept = 0;
    for (size_t i = 0; i < f->copy_count; i++) {
        if (f->copies[i].group >= before || f->copies[i].role != f->role) {
            f->copies[kept++] = f->copies[i];
            continue;
        }
        copy_finish(f, &f->copies[i]);
    }
    f->copy_count = kept;
}

void step_scope_leave(struct frame *f, const struct instr *in)
{
    const struct scope_detail *d = in->detail;
    for (size_t i = 0; i < f->copy_count; i++)
        for (int t = 0; t < d->count; t++)
            if (f->copies[i].detail->to->sym == d->tile[t]) {
                frame_fault(f, CPU_ASYNC, f->copies[i].loc, -1,
                            "%s goes out of scope while this copy into it is under way; "
                            "%s must come first",
                            d->tile[t]->name, exec_async_wait_of(&f->copies[i]));
                return;
            }
}

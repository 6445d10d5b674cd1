#include "sim/sim_assembled.h"
#include "base/shown.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The fate of an access in machine code, the worst last. */
enum fate { SAME, MERGES, WIDER, NARROWER, GONE, OUT_OF_LOOP, INTO_LOOP, ADDED };
static const char *const fate_texts[] = {
    [SAME] = "as written",
    [MERGES] = "may be merged",
    [WIDER] = "merged",
    [NARROWER] = "split",
    [GONE] = "left out",
    [OUT_OF_LOOP] = "moved out of a loop",
    [INTO_LOOP] = "repeated more",
    [ADDED] = "added by the assembler",
};

struct finder {
    struct arena *arena;
    const struct ptx_module *module;
    const struct sass *sass;
    const struct sim_counted *all;
    size_t count;
    struct ptx_access *accesses; /* the accesses of all functions that ran, by instruction */
    size_t access_count;
    struct coded_access *by_line; /* the same accesses */
    VEC(struct sim_assembled_line) lines;
    VEC(enum fate) fates; /* of those */
};

/* --- bounds --- */

static int64_t add(int64_t a, int64_t b)
{
    return a == SIM_UNBOUNDED || b == SIM_UNBOUNDED ? SIM_UNBOUNDED : a + b;
}

static void add_bounds(struct sim_bounds *to, const struct sim_bounds *b)
{
#define X(name)                                                                                    \
    to->low.name = add(to->low.name, b->low.name);                                                 \
    to->high.name = add(to->high.name, b->high.name);
    SIM_MEMORY_COUNTERS(X)
#undef X
}

static struct sim_bounds between(const struct sim_counts *a, const struct sim_counts *b)
{
    struct sim_bounds out = {{0}, {0}};
#define X(name)                                                                                    \
    out.low.name = a->name < b->name ? a->name : b->name;                                          \
    out.high.name = a->name < b->name ? b->name : a->name;
    SIM_MEMORY_COUNTERS(X)
#undef X
    return out;
}

static bool has_any(const struct sim_bounds *b)
{
    bool any = false;
#define X(name) any |= b->high.name != 0;
    SIM_MEMORY_COUNTERS(X)
#undef X
    return any;
}

/* Multiplies the low bounds by low_of / low_in and the high bounds by high_times. */
static void scale(struct sim_bounds *b, unsigned low_of, unsigned low_in, unsigned high_times)
{
#define X(name)                                                                                    \
    b->low.name = b->low.name * low_of / low_in;                                                   \
    b->high.name *= high_times;
    SIM_MEMORY_COUNTERS(X)
#undef X
}

/* Derives the bounds of bank conflicts, the wavefronts above the ideal number. Merging removes
 * conflicts, so the high bound is the count of the PTX. The parts of a split access may have
 * conflicts that the whole does not have: then the high bound follows from the wavefronts. */
static void bound_conflicts(struct sim_bounds *b, bool splits)
{
    int64_t least = b->low.shared_wavefronts - b->high.shared_wavefronts_ideal;
    b->low.bank_conflicts = least > 0 ? least : 0;
    if (splits && b->high.shared_wavefronts != SIM_UNBOUNDED)
        b->high.bank_conflicts = b->high.shared_wavefronts - b->low.shared_wavefronts_ideal;
}

static void unbound_shared(struct sim_counts *n)
{
    n->shared_wavefronts = n->shared_wavefronts_ideal = n->bank_conflicts = SIM_UNBOUNDED;
}

static void unbound_global(struct sim_counts *n)
{
    n->global_requests = n->global_sectors = SIM_UNBOUNDED;
}

static void unbound_atomic(struct sim_counts *n, const struct coded_access *access)
{
    if (access->space != ACCESS_GLOBAL)
        n->shared_atomics = SIM_UNBOUNDED;
    if (access->space != ACCESS_SHARED)
        n->global_atomics = SIM_UNBOUNDED;
}

/* Sets the counters that the access changes to unbounded, because the number of its executions
 * is not known. */
static void unbound(struct sim_counts *n, const struct coded_access *access)
{
    bool stores = access->kind == ACCESS_STORE || access->kind == ACCESS_STORE_MATRIX;
    bool generic = access->space == ACCESS_GENERIC;
    if (access->kind == ACCESS_ATOMIC) {
        unbound_atomic(n, access);
        return;
    }
    if (access->kind == ACCESS_COPY) {
        n->async_copies = n->async_bytes = SIM_UNBOUNDED;
        unbound_shared(n);
        unbound_global(n);
        return;
    }
    if (generic || access->space == ACCESS_SHARED) {
        *(stores ? &n->shared_stores : &n->shared_loads) = SIM_UNBOUNDED;
        unbound_shared(n);
    }
    if (generic || access->space == ACCESS_GLOBAL) {
        *(stores ? &n->global_stores : &n->global_loads) = SIM_UNBOUNDED;
        unbound_global(n);
    }
    if (generic || access->space == ACCESS_LOCAL)
        n->local_accesses = SIM_UNBOUNDED;
}

/* --- comparing --- */

/* Returns the index of a line's first access in a list sorted by line. */
static size_t first_of(const struct coded_access *list, size_t count, uint32_t line)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns true if two accesses are alike. An access that is generic in PTX may have a space in
 * machine code. */
static bool alike(const struct coded_access *written, const struct coded_access *made)
{
    return written->kind == made->kind &&
           (written->space == made->space || written->space == ACCESS_GENERIC);
}

/* The accesses of a line that are like a given one: the number with its width, the narrowest and
 * the widest. */
struct tally {
    unsigned count, same, narrowest, widest, most_loops, bytes; /* bytes: of all */
};

static void tally_one(struct tally *t, const struct coded_access *one, unsigned bytes)
{
    if (t->count == 0 || one->bytes < t->narrowest)
        t->narrowest = one->bytes;
    t->widest = one->bytes > t->widest ? one->bytes : t->widest;
    t->most_loops = one->loops > t->most_loops ? one->loops : t->most_loops;
    t->same += one->bytes == bytes;
    t->bytes += one->bytes;
    t->count++;
}

static struct tally tally_of(const struct coded_access *list, size_t count,
                             const struct coded_access *like)
{
    struct tally t = {0};
    for (size_t i = first_of(list, count, like->line); i < count && list[i].line == like->line; i++)
        if (alike(like, &list[i]))
            tally_one(&t, &list[i], like->bytes);
    return t;
}

static const struct sim_counted *counted_of(const struct finder *f,
                                            const struct ptx_instruction *ins)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->all[i].ins == ins)
            return &f->all[i];
    return NULL;
}

/* Returns true if the innermost loop is unrolled in machine code: the access is in one loop
 * less, and the bytes of the machine code are the written bytes times the trips. */
static bool is_unrolled(const struct finder *f, const struct ptx_access *access,
                        unsigned most_loops, int64_t written_bytes, int64_t made_bytes)
{
    const struct sim_counted *inside = counted_of(f, access->ins);
    const struct sim_counted *entry = access->entry ? counted_of(f, access->entry) : NULL;
    if (most_loops + 1 != access->is.loops || !inside || !entry)
        return false;
    int64_t times = inside->counts.warp_instructions, entries = entry->counts.warp_instructions;
    return entries > 0 && times % entries == 0 && times / entries * written_bytes == made_bytes;
}

static enum fate fate_of(const struct finder *f, const struct ptx_access *access,
                         struct tally *made)
{
    const struct coded_access *one = &access->is;
    struct tally written = tally_of(f->by_line, f->access_count, one);
    *made = tally_of(f->sass->list, f->sass->count, one);
    if (made->count == 0)
        return GONE;
    if (one->loops != ACCESS_LOOPS_UNKNOWN && made->most_loops > one->loops)
        return INTO_LOOP;
    bool fewer = one->loops != ACCESS_LOOPS_UNKNOWN && made->most_loops < one->loops;
    bool unrolled = fewer && is_unrolled(f, access, made->most_loops, written.bytes, made->bytes);
    if (fewer && !unrolled)
        return OUT_OF_LOOP;
    if (made->widest > written.widest)
        return WIDER;
    if (made->narrowest < written.narrowest)
        return NARROWER;
    return !unrolled && made->same < written.same ? GONE : SAME;
}

/* Returns the ratio of an access's width to that of its narrowest part; 1: it is not split. */
static unsigned split_of(const struct coded_access *one, const struct tally *made)
{
    return made->narrowest && made->narrowest < one->bytes ? one->bytes / made->narrowest : 1;
}

/* Returns the bounds of one access by itself. If it is merged, no part alone needs more than the
 * whole. If it is split, no part needs more than the whole did. */
static struct sim_bounds bounds_of(const struct sim_counts *counts, const struct coded_access *one,
                                   enum fate fate, const struct tally *made)
{
    struct sim_bounds b = between(counts, counts);
    bool plain = one->kind == ACCESS_LOAD || one->kind == ACCESS_STORE;
    if (fate == SAME)
        return b;
    if (plain && (fate == WIDER || fate == NARROWER))
        scale(&b, one->bytes, made->widest > one->bytes ? made->widest : one->bytes,
              split_of(one, made));
    else if (one->kind != ACCESS_ATOMIC || fate != INTO_LOOP) /* tried until it succeeds */
        scale(&b, 0, 1, 1);
    if (fate == INTO_LOOP)
        unbound(&b.high, one);
    bound_conflicts(&b, split_of(one, made) > 1);
    return b;
}

/* --- what was counted --- */

static int by_instruction(const void *left, const void *right)
{
    const struct ptx_access *a = left, *b = right;
    return ((uintptr_t)a->ins > (uintptr_t)b->ins) - ((uintptr_t)a->ins < (uintptr_t)b->ins);
}

static const struct ptx_access *access_of(const struct finder *f, const struct ptx_instruction *ins)
{
    struct ptx_access key = {.ins = ins};
    return f->access_count ? bsearch(&key, f->accesses, f->access_count, sizeof key, by_instruction)
                           : NULL;
}

static void note(struct finder *f, const struct sim_counted *at, enum fate fate,
                 const struct sim_bounds *bounds)
{
    struct sim_assembled_line new = {.bounds = *bounds};
    new.line = sim_counted_line(at, f->module, &new.file);
    for (size_t i = 0; i < f->lines.count; i++) {
        struct sim_assembled_line *have = &f->lines.data[i];
        if (have->line != new.line || strcmp(have->file, new.file) != 0)
            continue;
        add_bounds(&have->bounds, bounds);
        f->fates.data[i] = fate > f->fates.data[i] ? fate : f->fates.data[i];
        return;
    }
    vec_push(f->arena, &f->lines, new);
    vec_push(f->arena, &f->fates, fate);
}

static void bound_alone(struct finder *f, const struct sim_counted *at)
{
    const struct ptx_access *access = access_of(f, at->ins);
    struct sim_bounds bounds = between(&at->counts, &at->counts);
    struct tally made = {0};
    enum fate fate = SAME;
    if (access && f->sass) {
        fate = fate_of(f, access, &made);
        bounds = bounds_of(&at->counts, &access->is, fate, &made);
    }
    if (has_any(&bounds))
        note(f, at, fate, &bounds);
}

/* --- what may be merged --- */

/* Returns the bytes that all of them ask for; each distance counts once. */
static int64_t bytes_of(const struct sim_merge *m)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->count; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= m->list[k].distance == m->list[i].distance;
        sum += again ? 0 : m->list[i].bytes;
    }
    return sum;
}

/* Returns the bytes that the machine code accesses on the lines of all of them; each line counts
 * once. */
static int64_t made_of(const struct finder *f, const struct sim_merge *m)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct coded_access *one = &access_of(f, m->list[i].ins)->is;
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= access_of(f, m->list[k].ins)->is.line == one->line;
        for (size_t k = first_of(f->sass->list, f->sass->count, one->line);
             !again && k < f->sass->count && f->sass->list[k].line == one->line; k++)
            sum += alike(one, &f->sass->list[k]) ? f->sass->list[k].bytes : 0;
    }
    return sum;
}

/* The joint fate of accesses that may be merged. */
struct joint_fate {
    enum fate
        fate;      /* SAME: none is merged; WIDER: some are, none is missing; otherwise the worst */
    bool unrolled; /* their loop is unrolled: accesses of different trips may be merged */
    unsigned split, narrowest,
        widest; /* greatest split_of; bytes as written; bytes in machine code */
};

static struct joint_fate fate_of_all(const struct finder *f, const struct sim_merge *m)
{
    struct joint_fate all = {.fate = SAME, .split = 1, .narrowest = UINT_MAX};
    unsigned most_loops = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct tally made;
        const struct ptx_access *access = access_of(f, m->list[i].ins);
        enum fate fate = fate_of(f, access, &made);
        unsigned split = split_of(&access->is, &made), bytes = access->is.bytes;
        all.fate = fate > all.fate ? fate : all.fate;
        all.split = split > all.split ? split : all.split;
        all.narrowest = bytes < all.narrowest ? bytes : all.narrowest;
        all.widest = made.widest > all.widest ? made.widest : all.widest;
        most_loops = made.most_loops > most_loops ? made.most_loops : most_loops;
    }
    /* The machine code may have all the accesses on the lines of some of them. */
    all.unrolled = all.fate == OUT_OF_LOOP && is_unrolled(f, access_of(f, m->list[0].ins),
                                                          most_loops, bytes_of(m), made_of(f, m));
    if (all.unrolled || (all.fate == GONE && made_of(f, m) >= bytes_of(m)))
        all.fate = WIDER;
    return all;
}

static struct sim_bounds sum_of(const struct finder *f, const struct sim_merge *m)
{
    struct sim_bounds sum = {{0}, {0}};
    for (size_t i = 0; i < m->count; i++) {
        const struct sim_counted *one = counted_of(f, m->list[i].ins);
        if (!one)
            continue;
        struct sim_bounds more = between(&one->counts, &one->counts);
        add_bounds(&sum, &more);
    }
    return sum;
}

static void bound_merge(struct finder *f, const struct sim_counted *first)
{
    struct joint_fate all = {.fate = MERGES, .split = 1};
    struct sim_bounds b = sum_of(f, first->merge);
    if (f->sass)
        all = fate_of_all(f, first->merge);
    if (all.unrolled) {
        scale(&b, all.narrowest, all.widest > all.narrowest ? all.widest : all.narrowest,
              all.split);
    } else if (all.fate != SAME) {
        b = between(&b.high, &first->merged);
        scale(&b, all.fate < GONE, 1, all.split);
        if (all.fate == INTO_LOOP)
            unbound(&b.high, &access_of(f, first->ins)->is);
    }
    if (all.fate != SAME)
        bound_conflicts(&b, all.split > 1);
    note(f, first, all.fate, &b);
}

/* --- what the assembler adds --- */

struct placed {
    const struct sim_counted *at;
    uint32_t line; /* of the PTX */
};

static int by_offset(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    uint32_t x = a->at->where.offset, y = b->at->where.offset;
    return (x > y) - (x < y);
}

/* Returns all counted accesses with their lines. */
static struct placed *place_all(const struct finder *f)
{
    struct placed *all = arena_array(f->arena, struct placed, f->count + 1);
    uint32_t line = 1, from = 0;
    for (size_t i = 0; i < f->count; i++)
        all[i].at = &f->all[i];
    qsort(all, f->count, sizeof *all, by_offset);
    for (size_t i = 0; i < f->count; i++) {
        struct loc to = all[i].at->where;
        for (; to.source && from < to.offset; from++)
            line += to.source->text[from] == '\n';
        all[i].line = to.source ? line : 0;
    }
    return all;
}

static bool is_written(const struct finder *f, const struct coded_access *made)
{
    for (size_t i = first_of(f->by_line, f->access_count, made->line);
         i < f->access_count && f->by_line[i].line == made->line; i++)
        if (alike(&f->by_line[i], made))
            return true;
    return false;
}

/* Finds accesses that the assembler adds: for atomic operations that the target lacks, or for
 * spilled registers. */
static void find_added(struct finder *f)
{
    const struct placed *all = NULL;
    for (size_t i = 0; f->sass && i < f->sass->count; i++) {
        const struct coded_access *made = &f->sass->list[i];
        if (is_written(f, made))
            continue;
        if (!all)
            all = place_all(f);
        size_t n = 0;
        while (n < f->count && (all[n].line != made->line || !all[n].at->counts.warp_instructions))
            n++;
        if (n == f->count)
            continue;
        struct sim_bounds b = {{0}, {0}};
        unbound(&b.high, made);
        note(f, all[n].at, ADDED, &b);
    }
}

/* --- all of it --- */

static bool ran(const struct finder *f, const struct ptx_function *function)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->all[i].function == function)
            return true;
    return false;
}

/* Lists the accesses of all functions that ran. The assembler may inline a function in the loops
 * of the kernel that calls it. */
static void list_accesses(struct finder *f)
{
    VEC(struct ptx_access) all = {0};
    for (size_t i = 0; i < f->module->items.count; i++) {
        const struct ptx_item *item = &f->module->items.data[i];
        struct ptx_access *list;
        if (item->kind != PTX_ITEM_FUNCTION || !ran(f, item->function))
            continue;
        size_t count = ptx_accesses(f->arena, item->function, &list);
        for (size_t k = 0; k < count; k++) {
            if (!item->function->entry)
                list[k].is.loops = ACCESS_LOOPS_UNKNOWN;
            vec_push(f->arena, &all, list[k]);
        }
    }
    f->accesses = all.data;
    f->access_count = all.count;
    f->by_line = arena_array(f->arena, struct coded_access, all.count + 1);
    for (size_t i = 0; i < all.count; i++)
        f->by_line[i] = all.data[i].is;
    if (all.count == 0)
        return;
    qsort(f->accesses, all.count, sizeof *f->accesses, by_instruction);
    qsort(f->by_line, all.count, sizeof *f->by_line, ptx_access_by_line);
}

static bool is_exact(const struct sim_bounds *b)
{
    bool exact = true;
#define X(name) exact &= b->low.name == b->high.name;
    SIM_MEMORY_COUNTERS(X)
#undef X
    return exact;
}

static int by_place(const void *left, const void *right)
{
    const struct sim_assembled_line *a = left, *b = right;
    int order = strcmp(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void write_result(struct finder *f, struct sim_assembled *out)
{
    out->exact = true;
    out->lines = arena_array(f->arena, struct sim_assembled_line, f->lines.count + 1);
    for (size_t i = 0; i < f->lines.count; i++) {
        struct sim_assembled_line *line = &f->lines.data[i];
        line->why = fate_texts[f->fates.data[i]];
        add_bounds(&out->total, &line->bounds);
        if (is_exact(&line->bounds))
            continue;
        out->exact = false;
        out->lines[out->line_count++] = *line;
    }
    qsort(out->lines, out->line_count, sizeof *out->lines, by_place);
}

void sim_assembled_find(struct arena *a, const struct sim_counters *c,
                        const struct ptx_module *module, const struct sass *sass,
                        struct sim_assembled *out)
{
    struct finder f = {.arena = a, .module = module, .sass = sass};
    *out = (struct sim_assembled){0};
    f.all = sim_counters_all(c, &f.count);
    list_accesses(&f);
    for (size_t i = 0; i < f.count; i++) {
        const struct sim_counted *one = &f.all[i];
        if (!one->merge)
            bound_alone(&f, one);
        else if (one->merge->list[0].ins == one->ins)
            bound_merge(&f, one);
    }
    find_added(&f);
    write_result(&f, out);
    if (sass)
        out->assembler = arena_printf(a, "ptxas%s%s for sm_%d", *sass->assembler ? " " : "",
                                      sass->assembler, sass->target);
}

/* --- texts --- */

static void json_bounds(struct text *out, const struct sim_bounds *b, bool all)
{
#define X(name)                                                                                    \
    if (b->high.name == SIM_UNBOUNDED)                                                             \
        text_printf(out, ", \"" #name "\": [%lld, null]", (long long)b->low.name);                 \
    else if (all || b->low.name != b->high.name)                                                   \
        text_printf(out, ", \"" #name "\": [%lld, %lld]", (long long)b->low.name,                  \
                    (long long)b->high.name);
    SIM_MEMORY_COUNTERS(X)
#undef X
}

void sim_assembled_json(struct text *out, const struct sim_assembled *s)
{
    text_add(out, "{\"assembler\": ");
    if (s->assembler)
        text_add_json(out, s->assembler);
    else
        text_add(out, "null");
    text_printf(out, ", \"exact\": %s", s->exact ? "true" : "false");
    json_bounds(out, &s->total, true);
    text_add(out, ", \"lines\": [");
    for (size_t i = 0; i < s->line_count; i++) {
        const struct sim_assembled_line *line = &s->lines[i];
        text_add(out, i ? ", {\"file\": " : "{\"file\": ");
        text_add_json(out, line->file);
        text_printf(out, ", \"line\": %u, \"why\": \"%s\"", line->line, line->why);
        json_bounds(out, &line->bounds, false);
        text_add(out, "}");
    }
    text_add(out, "]}");
}

enum { PLACES_SHOWN = 3 };

static void text_places(struct text *out, const struct sim_assembled *s)
{
    for (size_t i = 0; i < s->line_count && i < PLACES_SHOWN; i++) {
        const struct sim_assembled_line *line = &s->lines[i];
        text_printf(out, "%s%s:%u %s", i ? ", " : "",
                    text_shown(out->arena, text_base_name(line->file), SHOWN_LINE), line->line,
                    line->why);
    }
    if (s->line_count > PLACES_SHOWN)
        text_printf(out, ", and %zu lines more", s->line_count - PLACES_SHOWN);
}

void sim_assembled_text(struct text *out, const struct sim_assembled *s)
{
    const char *comma = "";
    if (s->exact)
        return;
    text_printf(out, "as assembled (%s): ",
                s->assembler ? s->assembler : "by what may be merged; no ptxas is here");
#define X(name)                                                                                    \
    if (s->total.low.name != s->total.high.name) {                                                 \
        text_printf(out, "%s%s %lld to ", comma, #name, (long long)s->total.low.name);             \
        if (s->total.high.name == SIM_UNBOUNDED)                                                   \
            text_add(out, "?");                                                                    \
        else                                                                                       \
            text_printf(out, "%lld", (long long)s->total.high.name);                               \
        comma = ", ";                                                                              \
    }
    SIM_MEMORY_COUNTERS(X)
#undef X
    text_add(out, "; ");
    text_places(out, s);
    text_add(out, "\n");
}

/* Findings are distinguished by kind and by pair of lines. Checks meet the same fault millions
 * of times, so the first look-up, for a finding that is already known, is a hash of the two
 * instructions. Lines are compared once for each pair of instructions. */
#include "sim/sim_report.h"

#include "sim/sim_heap.h"

#include <string.h>

enum { KEPT = 200 };

void sim_report_init(struct sim_report *r, struct arena *arena, const struct ptx_module *module)
{
    *r = (struct sim_report){.arena = arena, .module = module};
}

void sim_report_add_source(struct sim_report *r, const struct source *source)
{
    vec_push(r->arena, &r->sources, source);
}

void sim_report_launch(struct sim_report *r, const unsigned grid[3], const unsigned block[3])
{
    for (int i = 0; i < 3; i++) {
        r->grid[i] = grid[i];
        r->block[i] = block[i];
    }
}

/* --- have we had this? --- */

/* A pair of instructions that was reported; finding NULL: it is above the limit. */
struct sim_report_seen {
    bool used;
    enum sim_found kind;
    const struct ptx_instruction *a, *b;
    uint32_t a_offset, b_offset; /* distinguish instructions without ins */
    struct sim_finding *finding;
};

static struct sim_report_seen seen_of(enum sim_found kind, const struct sim_place *a,
                                      const struct sim_place *b)
{
    struct sim_report_seen key = {true, kind, a->ins, NULL, a->where.offset, 0, NULL};
    if (!b)
        return key;
    key.b = b->ins;
    key.b_offset = b->where.offset;
    bool swap = key.a != key.b ? (uintptr_t)key.a > (uintptr_t)key.b : key.a_offset > key.b_offset;
    if (swap)
        return (struct sim_report_seen){true, kind, key.b, key.a, key.b_offset, key.a_offset, NULL};
    return key;
}

static bool same_key(const struct sim_report_seen *x, const struct sim_report_seen *y)
{
    return x->kind == y->kind && x->a == y->a && x->b == y->b && x->a_offset == y->a_offset &&
           x->b_offset == y->b_offset;
}

static struct sim_report_seen *slot_of(struct sim_report_seen *table, size_t capacity,
                                       const struct sim_report_seen *key)
{
    uint64_t h = sim_hash((uint64_t)(uintptr_t)key->a ^ key->a_offset);
    h = sim_hash(h ^ (uint64_t)(uintptr_t)key->b ^ (uint64_t)key->b_offset << 32 ^ key->kind);
    for (size_t i = h & (capacity - 1);; i = (i + 1) & (capacity - 1))
        if (!table[i].used || same_key(&table[i], key))
            return &table[i];
}

static struct sim_report_seen *remember(struct sim_report *r, const struct sim_report_seen *key)
{
    if (2 * r->seen_count >= r->seen_capacity) {
        size_t capacity = r->seen_capacity ? 2 * r->seen_capacity : 64;
        struct sim_report_seen *table = arena_array(r->arena, struct sim_report_seen, capacity);
        for (size_t i = 0; i < r->seen_capacity; i++)
            if (r->seen[i].used)
                *slot_of(table, capacity, &r->seen[i]) = r->seen[i];
        r->seen = table;
        r->seen_capacity = capacity;
    }
    struct sim_report_seen *slot = slot_of(r->seen, r->seen_capacity, key);
    r->seen_count += !slot->used;
    *slot = *key;
    return slot;
}

/* A line of a file, or of the PTX if there is no .loc. For an inlined function, also the line
 * that calls it. */
struct line_key {
    bool of_loc, called;
    uint32_t file, call_file;
    uint32_t line, call_line; /* numbers; for the PTX: where the line begins */
};

/* Returns the offset of the line's first byte. Does not count lines: the text may be long, and
 * this is called for each pair of instructions. */
static uint32_t line_start(struct loc at)
{
    uint32_t start = at.offset;
    while (at.source && start && at.source->text[start - 1] != '\n')
        start--;
    return start;
}

static struct line_key line_of(const struct sim_place *at)
{
    const struct ptx_line *l = at->ins ? at->ins->line : NULL;
    if (l)
        return (struct line_key){.of_loc = true,
                                 .called = l->has_call,
                                 .file = l->file,
                                 .line = l->line,
                                 .call_file = l->has_call ? l->call_file : 0,
                                 .call_line = l->has_call ? l->call_line : 0};
    return (struct line_key){.line = line_start(at->where)};
}

static bool same_line(const struct sim_place *a, const struct sim_place *b)
{
    struct line_key x = line_of(a), y = line_of(b);
    return x.of_loc == y.of_loc && x.file == y.file && x.line == y.line && x.called == y.called &&
           x.call_file == y.call_file && x.call_line == y.call_line;
}

static struct sim_finding *find_lines(const struct sim_report *r, enum sim_found kind,
                                      const struct sim_place *a, const struct sim_place *b)
{
    for (struct sim_finding *f = r->first; f; f = f->next) {
        if (f->kind != kind || f->access_count != (b ? 2 : 1))
            continue;
        const struct sim_place *x = &f->access[0].at, *y = &f->access[1].at;
        if (b ? (same_line(a, x) && same_line(b, y)) || (same_line(a, y) && same_line(b, x))
              : same_line(a, x))
            return f;
    }
    return NULL;
}

struct sim_finding *sim_report_again(struct sim_report *r, enum sim_found kind,
                                     const struct sim_place *a, const struct sim_place *b)
{
    sim_settle(r->machine);
    struct sim_report_seen key = seen_of(kind, a, b);
    if (r->severity[kind] == SIM_IGNORED)
        return &r->not_kept;
    if (r->seen_capacity) {
        struct sim_report_seen *slot = slot_of(r->seen, r->seen_capacity, &key);
        if (slot->used && !slot->finding)
            return &r->not_kept;
        if (slot->used) {
            slot->finding->count++;
            return slot->finding;
        }
    }
    key.finding = find_lines(r, kind, a, b);
    if (key.finding) {
        key.finding->count++;
        remember(r, &key);
        return key.finding;
    }
    if (r->limited[sim_report_fails(r, kind)] < (r->limit > 0 ? r->limit : KEPT))
        return NULL;
    r->dropped++;
    remember(r, &key);
    return &r->not_kept;
}

void sim_report_threads(struct sim_finding *f, int threads, int count)
{
    f->threads += threads;
    f->count += f->count ? count : 0; /* 0: it is not kept */
}

/* --- suppressions --- */

bool sim_pattern_matches(const char *pattern, const char *text)
{
    if (*pattern == '*') {
        for (; *text; text++)
            if (sim_pattern_matches(pattern + 1, text))
                return true;
        return sim_pattern_matches(pattern + 1, text);
    }
    return *pattern == *text && (!*pattern || sim_pattern_matches(pattern + 1, text + 1));
}

bool sim_place_matches(struct arena *arena, const char *place, const char *pattern)
{
    const char *end = place ? strrchr(place, ':') : NULL;
    if (!end)
        return false;
    const char *line = arena_string(arena, place, (size_t)(end - place));
    const char *p = line;
    do {
        if (sim_pattern_matches(pattern, p))
            return true;
        p = strchr(p, '/');
    } while (p++);
    return false;
}

/* Matches an access by its line, by the line that calls its function, by a line of a header that
 * was inlined there, or by its function. */
static bool access_matches(const struct sim_report *r, const struct sim_finding_access *access,
                           const char *pattern)
{
    const char *name = access->at.function ? access->at.function->name : NULL;
    if (name && (sim_pattern_matches(pattern, name) ||
                 sim_pattern_matches(pattern, ptx_plain_name(r->arena, name))))
        return true;
    return sim_place_matches(r->arena, sim_place_text(r, access->at.ins, access->at.where),
                             pattern) ||
           sim_place_matches(r->arena, sim_call_text(r, access->at.ins), pattern) ||
           sim_place_matches(r->arena, sim_header_text(r, access->at.ins), pattern);
}

static bool is_suppressed(struct sim_report *r, const struct sim_finding *f)
{
    for (size_t i = 0; i < r->suppressions.count; i++) {
        struct sim_suppression *s = &r->suppressions.data[i];
        if (!sim_pattern_matches(s->kind, sim_found_name(f->kind)))
            continue;
        bool hit[2][2] = {{false}};
        for (int p = 0; p < 2; p++)
            for (int k = 0; k < 2; k++)
                hit[p][k] = !s->patterns[p] || (k < f->access_count &&
                                                access_matches(r, &f->access[k], s->patterns[p]));
        if ((hit[0][0] && hit[1][1]) || (hit[0][1] && hit[1][0])) {
            s->used++;
            return true;
        }
    }
    return false;
}

static bool known_kind(const char *name)
{
    for (int k = 0; k < SIM_FOUND_COUNT; k++)
        if (sim_pattern_matches(name, sim_found_name((enum sim_found)k)))
            return true;
    return false;
}

static struct loc loc_of_word(const struct source *file, const char *word, size_t length)
{
    return (struct loc){file, (uint32_t)(word - file->text), (uint32_t)length};
}

static void suppress_line(struct sim_report *r, const struct source *file, const char *p,
                          const char *end, struct diag *diag)
{
    struct sim_suppression s = {0};
    for (int word = 0;; word++) {
        while (p < end && (unsigned char)*p <= ' ')
            p++;
        if (p == end || *p == '#')
            break;
        const char *start = p;
        while (p < end && (unsigned char)*p > ' ')
            p++;
        size_t length = (size_t)(p - start);
        const char *text = arena_string(r->arena, start, length);
        if (word == 0) {
            if (!known_kind(text))
                diag_error(diag, loc_of_word(file, start, length), "no finding is called '%s'",
                           text);
            s.kind = text;
        } else if (word <= 2) {
            s.patterns[word - 1] = text;
        } else {
            diag_error(diag, loc_of_word(file, start, length),
                       "expected the end of the line: a kind and at most two places, saw '%s'",
                       text);
            return;
        }
    }
    if (s.kind)
        vec_push(r->arena, &r->suppressions, s);
}

bool sim_report_suppress(struct sim_report *r, const struct source *file, struct diag *diag)
{
    int before = diag->errors;
    const char *end = file->text + file->length;
    for (const char *p = file->text; p < end;) {
        const char *line = p;
        while (p < end && *p != '\n')
            p++;
        suppress_line(r, file, line, p, diag);
        p += p < end;
    }
    return diag->errors == before;
}

/* --- adding, asking --- */

struct sim_finding *sim_report_add(struct sim_report *r, const struct sim_finding *finding)
{
    struct sim_finding *f = arena_copy(r->arena, finding, sizeof *finding);
    f->count = 1;
    f->next = NULL;
    f->suppressed = is_suppressed(r, f);
    if (r->last)
        r->last->next = f;
    else
        r->first = f;
    r->last = f;
    r->kept++;
    r->limited[sim_report_fails(r, f->kind)] += !f->suppressed;
    struct sim_report_seen key =
        seen_of(f->kind, &f->access[0].at, f->access_count > 1 ? &f->access[1].at : NULL);
    key.finding = f;
    remember(r, &key);
    return f;
}

int64_t sim_report_failures(const struct sim_report *r)
{
    int64_t count = 0;
    for (const struct sim_finding *f = r->first; f; f = f->next)
        count += sim_report_fails(r, f->kind) && !f->suppressed;
    return count;
}

const struct sim_finding *sim_report_find(const struct sim_report *r, enum sim_found kind)
{
    for (const struct sim_finding *f = r->first; f; f = f->next)
        if (f->kind == kind)
            return f;
    return NULL;
}

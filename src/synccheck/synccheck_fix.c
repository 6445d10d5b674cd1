/* Fixes of findings: finds the place in the text for a missing barrier or wait.
 *
 * The statement of the earlier access and that of the later one have an innermost list of
 * statements in common. All paths from the first to the second pass the place before the later
 * statement in that list. If only the next iteration of a loop connects them, they pass the end
 * of the loop's body instead. A barrier needs all threads, so there is no fix if a condition
 * around that list differs between threads, in a pipeline, and in a body without braces. */
#include "synccheck/synccheck_core.h"

#include <string.h>

/* A statement on the way from the kernel's body down to another statement. */
struct level {
    const struct stmt *list, *at; /* the first statement of its list, and the statement itself */
    const struct stmt *owner;     /* NULL: the kernel */
    struct loc block;             /* the braces of the list */
};
enum { MOST_LEVELS = 300 };
struct way {
    struct level level[MOST_LEVELS];
    int count;
};

/* --- ways --- */

struct wanted {
    const struct stmt *stmt;
    struct loc loc; /* of the statement, if `stmt` is NULL */
};

static bool is_wanted(const struct stmt *s, const struct wanted *w)
{
    if (w->stmt)
        return s == w->stmt;
    return s->loc.source == w->loc.source && s->loc.offset == w->loc.offset &&
           s->kind != STMT_FOR && s->kind != STMT_BLOCK;
}

static bool find_in(struct way *way, const struct stmt *list, const struct stmt *owner,
                    struct loc block, const struct wanted *w)
{
    if (way->count == MOST_LEVELS)
        return false;
    struct level *here = &way->level[way->count++];
    *here = (struct level){list, list, owner, block};
    for (; here->at; here->at = here->at->next)
        if (is_wanted(here->at, w) || find_in(way, here->at->body, here->at, here->at->block, w) ||
            find_in(way, here->at->otherwise, here->at, here->at->other_block, w))
            return true;
    way->count--;
    return false;
}

static const struct way *way_to(struct sync_check *k, struct wanted w)
{
    struct way *way = arena_new(k->arena, struct way);
    if (!w.stmt && !w.loc.source)
        return NULL;
    return find_in(way, k->kernel->body, NULL, k->kernel->block, &w) ? way : NULL;
}

static const struct way *way_to_site(struct sync_check *k, int site)
{
    return way_to(k, (struct wanted){.stmt = k->code.touches.data[site].stmt});
}

static const struct way *way_to_place(struct sync_check *k, struct loc at)
{
    return way_to(k, (struct wanted){.loc = at});
}

/* Returns the number of the innermost list that two ways have in common. */
static int common_level(const struct way *a, const struct way *b)
{
    int level = 0;
    while (level + 1 < a->count && level + 1 < b->count &&
           a->level[level + 1].list == b->level[level + 1].list)
        level++;
    return level;
}

/* Returns true if all threads of the block get to the list. */
static bool all_come(const struct way *way, int level)
{
    for (int i = 0; i <= level; i++) {
        const struct stmt *owner = way->level[i].owner;
        if (owner && (owner->stages > 0 || (owner->condition && owner->condition->type.varying)))
            return false;
    }
    return true;
}

static bool lies_in(struct loc at, struct loc block)
{
    return block.source && at.source == block.source && at.offset > block.offset &&
           at.offset < block.offset + block.length;
}

/* Returns true if a statement may be added before l->at. An inlined statement is in the text of
 * its fn, whose body has braces. */
static bool takes_statement(const struct level *l)
{
    if (!l->at->start.source || l->at->added)
        return false;
    return lies_in(l->at->start, l->block) || (l->at->inlined && !l->owner) ||
           (l->at->inlined && l->owner->inlined != l->at->inlined);
}

/* --- changes --- */

/* Returns the number of blanks between the start of the line and the place, or -1 if there is
 * other text. */
static int blanks_before(struct loc at)
{
    const char *text = at.source->text;
    size_t start = at.offset;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    for (size_t i = start; i < at.offset; i++)
        if (text[i] != ' ' && text[i] != '\t')
            return -1;
    return (int)(at.offset - start);
}

/* Adds a line with a statement before the line of `at`, indented like the text at `like`. If
 * `at` is not the first on its line, adds the statement directly before it. */
static void insert(struct sync_check *k, struct loc at, struct loc like, const char *statement)
{
    int blanks = blanks_before(at), indent = blanks_before(like);
    struct loc place = {at.source, at.offset, 0};
    if (blanks < 0) {
        diag_fix(k->diag, place, "%s ", statement);
        return;
    }
    place.offset -= (uint32_t)blanks;
    if (indent >= 0)
        diag_fix(k->diag, place, "%.*s%s\n", indent, like.source->text + like.offset - indent,
                 statement);
    else
        diag_fix(k->diag, place, "%.*s    %s\n", blanks, at.source->text + place.offset, statement);
}

static void insert_before(struct sync_check *k, const struct stmt *s, const char *statement)
{
    insert(k, s->start, s->start, statement);
}

/* Adds a statement at the end of the list, before its closing brace. */
static void insert_at_end(struct sync_check *k, const struct level *l, const char *statement)
{
    struct loc brace = l->block, like = LOC_NONE;
    if (!brace.source || brace.length < 2)
        return;
    brace.offset += brace.length - 1;
    brace.length = 0;
    if (brace.source->text[brace.offset] != '}')
        return;
    for (const struct stmt *s = l->list; s; s = s->next) {
        if (s->kind == STMT_ENSURES && s->start.source) { /* `ensures` come last */
            insert_before(k, s, statement);
            return;
        }
        if (lies_in(s->start, l->block) && blanks_before(s->start) >= 0)
            like = s->start;
    }
    insert(k, brace, like.source ? like : brace, statement);
}

/* --- a barrier --- */

/* Returns true if the list has a `continue` of the loop around it. */
static bool has_continue(const struct stmt *list)
{
    for (; list; list = list->next)
        if (list->kind == STMT_CONTINUE ||
            (list->kind != STMT_FOR && list->kind != STMT_WHILE &&
             (has_continue(list->body) || has_continue(list->otherwise))))
            return true;
    return false;
}

static bool is_loop(const struct stmt *s)
{
    return s && (s->kind == STMT_FOR || s->kind == STMT_WHILE);
}

void sync_fix_with_barrier(struct sync_check *k, int early, int late, struct loc wait)
{
    const struct way *b = way_to_site(k, late);
    const struct way *a = wait.source ? way_to_place(k, wait) : way_to_site(k, early);
    if (!a || !b)
        return;
    int level = common_level(a, b);
    bool round = !wait.source && late <= early;
    while (round && level > 0 && !is_loop(b->level[level].owner))
        level--;
    const struct level *l = &b->level[level];
    if (!all_come(b, level) || (round && !is_loop(l->owner)))
        return;
    if (round && !has_continue(l->list))
        insert_at_end(k, l, "sync();");
    else if ((round || l->at != a->level[level].at) && takes_statement(l))
        insert_before(k, l->at, "sync();");
}

/* --- waits --- */

static bool is_barrier(const struct stmt *s)
{
    return s->kind == STMT_EFFECT && s->value->op == OP_SYNC && !s->uncredited;
}

/* Returns the statement of the list before s. */
static const struct stmt *statement_before(const struct stmt *list, const struct stmt *s)
{
    while (list && list != s && list->next != s)
        list = list->next;
    return list == s ? NULL : list;
}

void sync_fix_with_wait(struct sync_check *k, int early, int late, int groups)
{
    const struct way *a = way_to_site(k, early), *b = way_to_site(k, late);
    if (!a || !b)
        return;
    int level = common_level(a, b);
    const struct level *l = &b->level[level];
    if (!all_come(b, level) || !takes_statement(l) || a->level[level].at == l->at)
        return;
    const char *wait = arena_printf(k->diag->arena, "async_wait(%d);", groups);
    const struct stmt *before = statement_before(l->list, l->at);
    bool has_barrier = before && is_barrier(before) && before != a->level[level].at;
    insert_before(k, has_barrier ? before : l->at, wait);
    if (!has_barrier)
        insert_before(k, l->at, "sync();");
}

void sync_fix_number(struct sync_check *k, const struct expr *number, int64_t value)
{
    if (number && number->loc.length)
        diag_fix(k->diag, number->loc, "%lld", (long long)value);
}

/* Finds the list that declares the tile. */
static const struct way *way_to_tile(struct sync_check *k, int tile)
{
    return way_to_place(k, k->code.tiles.data[tile]->loc);
}

void sync_fix_at_end(struct sync_check *k, const struct sync_finding *f)
{
    static const char wait[] = "async_wait(0);";
    const struct sync_instr *end = f->kind == FIND_END ? &k->code.code.data[f->late] : NULL;
    const struct way *way;
    if (f->kind == FIND_SCOPE || (end && !end->negate)) {
        way = end ? way_to_site(k, f->early) : way_to_tile(k, f->tile);
        int level = way && !end ? way->count - 1 : 0;
        if (way && all_come(way, level))
            insert_at_end(k, &way->level[level], wait);
        return;
    }
    way = way_to_place(k, end ? end->loc : k->code.frees.data[f->late]);
    if (way && all_come(way, way->count - 1) && takes_statement(&way->level[way->count - 1]))
        insert_before(k, way->level[way->count - 1].at, wait);
}

/* --- in roles --- */

void sync_fix_before(struct sync_check *k, const struct stmt *s, const char *statement)
{
    const struct way *way = way_to(k, (struct wanted){.stmt = s});
    if (way && takes_statement(&way->level[way->count - 1]))
        insert_before(k, s, statement);
}

void sync_fix_at_end_of_role(struct sync_check *k, const struct stmt *s, const char *statement)
{
    const struct way *way = way_to(k, (struct wanted){.stmt = s});
    int level = way ? way->count - 1 : 0;
    while (level > 0 && way->level[level].owner->kind != STMT_ROLE)
        level--;
    if (way)
        insert_at_end(k, &way->level[level], statement);
}

/* Groups findings of one cause: pairs of lines that the same missing barrier leaves unordered,
 * and the consequences of a race. */
#include "cli/findings.h"

#include <stdlib.h>
#include <string.h>

/* --- accesses --- */

/* Returns the n-th access of a simulator's finding, or NULL if it has none. */
static const tw_access *access_of(const struct finding *x, int n)
{
    return x->json && n < x->parts.access_count ? x->parts.accesses[n] : NULL;
}

/* Returns "k.cu:12:5", or "" for NULL. The caller frees. */
static char *place(const tw_access *a)
{
    return a && a->file ? need_text("%s:%d:%d", a->file, a->line, a->column) : need_text("%s", "");
}

static char *place_of_barrier(const tw_access *a)
{
    return a->barrier_line
               ? need_text("%s:%d:%d", a->barrier_file, a->barrier_line, a->barrier_column)
               : need_text("%s", "");
}

/* --- which belong together --- */

static bool is_kind(const struct finding *x, tw_code code)
{
    return x->json && x->parts.code == code;
}

static bool is_race(const struct finding *x)
{
    return is_kind(x, TW_CODE_RACE) || is_kind(x, TW_CODE_ASYNC_RACE) || is_kind(x, TW_CODE_SCOPE);
}

/* Returns the array that a finding is about, or "" if it names none. */
static const char *array_of(const struct finding *x)
{
    const tw_access *a = access_of(x, 0);
    return a && a->variable ? a->variable : "";
}

/* Returns a text that identifies the cause of a race, or NULL for other findings. If the threads
 * are of one block and last passed the same barriers, a barrier is missing there, whichever
 * lines conflict. If they are of two blocks, or a line conflicts with itself, the cause is
 * another one, identified by the array or the line. */
static char *cause_of(const struct finding *x)
{
    const tw_access *a = access_of(x, 0), *b = access_of(x, 1);
    if (!is_race(x) || !a || !b)
        return NULL;
    const char *kind = tw_code_name(x->parts.code), *array = array_of(x);
    char *here = place(a), *there = place(b);
    char *before = place_of_barrier(a), *after = place_of_barrier(b);
    bool in_order = strcmp(before, after) <= 0;
    char *cause;
    if (strcmp(here, there) == 0)
        cause = need_text("%s line %s %s", kind, here, array);
    else if (a->block != b->block)
        cause = need_text("%s blocks %s", kind, array);
    else
        cause = need_text("%s barrier %s %s", kind, in_order ? before : after,
                          in_order ? after : before);
    free(here);
    free(there);
    free(before);
    free(after);
    return cause;
}

/* Returns whether the finding reads, at a line of the race, memory that the race may leave
 * unwritten. */
static bool comes_of(const struct finding *x, const struct finding *race)
{
    if (!is_kind(x, TW_CODE_UNINITIALISED))
        return false;
    char *read = place(access_of(x, 0));
    bool meets = false;
    for (int i = 0; i < 2 && !meets; i++) {
        char *line = place(access_of(race, i));
        meets = strcmp(line, read) == 0 && strcmp(array_of(x), array_of(race)) == 0;
        free(line);
    }
    free(read);
    return meets;
}

static int rank(const struct finding *x)
{
    if (x->severity != TW_ERROR)
        return 2;
    bool first = is_race(x) || (!x->json && !x->what);
    return first ? 0 : 1;
}

/* Moves races to the front; keeps the order otherwise. */
static void sort(struct findings *f)
{
    for (int i = 1; i < f->count; i++) {
        struct finding x = f->list[i];
        int at = i;
        for (; at > 0 && f->list[at - 1].kernel == x.kernel && rank(&f->list[at - 1]) > rank(&x);
             at--)
            f->list[at] = f->list[at - 1];
        f->list[at] = x;
    }
}

static void fold(struct findings *f, int i, char *const *causes)
{
    struct finding *x = &f->list[i];
    for (int k = 0; k < f->count && !x->under; k++) {
        struct finding *race = &f->list[k];
        if (k == i || race->kernel != x->kernel || !causes[k])
            continue;
        if (causes[i] && k < i && !race->under && strcmp(causes[i], causes[k]) == 0)
            x->under = k + 1;
        x->follows = !causes[i] && comes_of(x, race);
        if (x->follows)
            x->under = race->under ? race->under : k + 1;
    }
}

/* Adds a note on the kinds of findings that may follow from a race: those of an address or a
 * condition computed from the value that it read. */
static void note_race(struct findings *f, struct finding *x)
{
    static const tw_code kinds[] = {TW_CODE_OUTSIDE, TW_CODE_MISALIGNED, TW_CODE_READ_ONLY,
                                    TW_CODE_TRAP,    TW_CODE_DEADLOCK,   TW_CODE_ENDLESS};
    const struct finding *race = NULL;
    bool may = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        may = may || is_kind(x, kinds[i]);
    for (int i = 0; i < f->count && may && !race; i++)
        if (is_race(&f->list[i]) && f->list[i].kernel == x->kernel && f->list[i].file)
            race = &f->list[i];
    if (!race)
        return;
    char *text = need_text("the race at %s:%d may cause this", race->file, race->line);
    finding_note(x, text);
    free(text);
}

void findings_group(struct findings *f)
{
    sort(f);
    char **causes = need_memory(((size_t)f->count + 1) * sizeof *causes);
    for (int i = 0; i < f->count; i++) {
        f->list[i].under = 0;
        causes[i] = cause_of(&f->list[i]);
    }
    for (int i = 0; i < f->count; i++)
        fold(f, i, causes);
    for (int i = 0; i < f->count; i++) {
        if (!f->list[i].under)
            note_race(f, &f->list[i]);
        free(causes[i]);
    }
    free(causes);
}

/* --- a group as text --- */

static void print_part(const struct finding *x, FILE *out)
{
    char *here = place(access_of(x, 0)), *there = place(access_of(x, 1));
    fprintf(out, "        %s%s%s: %s\n", here, *there ? " and " : "", there, x->text);
    free(here);
    free(there);
}

static void print_parts(const struct findings *f, int head, bool follows, FILE *out)
{
    enum { SHOWN = 8 };
    int count = 0;
    for (int i = 0; i < f->count; i++)
        count += f->list[i].under == head + 1 && f->list[i].follows == follows;
    if (!count)
        return;
    if (follows)
        fputs("    note: of this comes:\n", out);
    else
        fprintf(out, "    note: %d more pair%s of lines for the same reason:\n", count,
                count == 1 ? "" : "s");
    int shown = 0;
    for (int i = 0; i < f->count && shown < SHOWN; i++)
        if (f->list[i].under == head + 1 && f->list[i].follows == follows) {
            print_part(&f->list[i], out);
            shown++;
        }
    if (count > shown)
        fprintf(out, "        and %d more (--json has all)\n", count - shown);
}

void findings_print_group(const struct findings *f, int head, FILE *out)
{
    print_parts(f, head, false, out);
    print_parts(f, head, true, out);
}

void findings_json_group(const struct findings *f, int head, struct json *j)
{
    for (int follows = 0; follows < 2; follows++) {
        json_open_list(j, follows ? "consequences" : "also");
        for (int i = 0; i < f->count; i++) {
            const struct finding *x = &f->list[i];
            if (x->under != head + 1 || x->follows != follows)
                continue;
            json_open(j, '{');
            json_place(j, x->file, x->line, x->column, x->text);
            json_members(j, x->json);
            json_close(j, '}');
        }
        json_close(j, ']');
    }
}

/* Findings of one cause as one: pairs of lines that the same missing barrier leaves without order,
 * and what comes of a race. */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

/* --- reading what the library wrote as JSON --- */

static const char *behind_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : at;
}

static const char *behind_value(const char *at)
{
    int depth = 0;
    do {
        if (*at == '"') {
            at = behind_string(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
    } while (*at && (depth > 0 || !strchr(",}]", *at)));
    return at;
}

static const char *behind_space(const char *at)
{
    return at + strspn(at, " \n,");
}

/* The value of a member; NULL: there is none, or no object. */
static const char *member(const char *object, const char *key)
{
    if (!object || *object != '{')
        return NULL;
    for (const char *at = behind_space(object + 1); *at == '"';
         at = behind_space(behind_value(at))) {
        const char *end = behind_string(at), *value = behind_space(end + strspn(end, ":"));
        if ((size_t)(end - at) == strlen(key) + 2 && strncmp(at + 1, key, strlen(key)) == 0)
            return value;
        at = value;
    }
    return NULL;
}

/* The n-th access of a finding. */
static const char *access_of(const struct finding *x, int n)
{
    const char *list = x->json ? member(x->json, "accesses") : NULL;
    if (!list || *list != '[')
        return NULL;
    const char *at = behind_space(list + 1);
    for (int i = 0; i < n && *at == '{'; i++)
        at = behind_space(behind_value(at));
    return *at == '{' ? at : NULL;
}

static int64_t number(const char *object, const char *key)
{
    const char *value = member(object, key);
    return value ? strtoll(value, NULL, 10) : -1;
}

/* "k.cu:12:5" of an access or its barrier; "" of NULL. The caller frees. */
static char *place(const char *object)
{
    const char *file = member(object, "file");
    if (!file)
        return need_text("%s", "");
    int length = (int)(behind_string(file) - file) - 2;
    return need_text("%.*s:%lld:%lld", length, file + 1, (long long)number(object, "line"),
                     (long long)number(object, "column"));
}

/* --- which belong together --- */

static bool is_kind(const struct finding *x, const char *kind)
{
    size_t length = strlen(kind);
    return x->json && strncmp(x->text, kind, length) == 0 && x->text[length] == ':';
}

static bool is_race(const struct finding *x)
{
    return is_kind(x, "race") || is_kind(x, "async-race") || is_kind(x, "scope");
}

/* The array that a finding speaks of, as "element 3 of partial in", "partial[3][5] in"; "" if it
 * says none. The caller frees. */
static char *array_of(const struct finding *x)
{
    const char *end = strstr(x->text, " in shared memory"), *at;
    if (!end)
        end = strstr(x->text, " in global memory");
    if (!end)
        return need_text("%s", "");
    for (at = end; at > x->text && strncmp(at, " of ", 4) != 0; at--)
        ;
    at += at > x->text ? 4 : 0;
    size_t length = strcspn(at, "[");
    return need_text("%.*s", (int)(length < (size_t)(end - at) ? length : (size_t)(end - at)), at);
}

/* Threads of one block that passed the same barriers last: what lacks is a barrier there, whichever
 * lines meet. Of two blocks, or of one line with itself, what lacks is something else, and the array
 * and the line tell. NULL: of no race. */
static char *cause_of(const struct finding *x)
{
    const char *a = access_of(x, 0), *b = access_of(x, 1);
    if (!is_race(x) || !a || !b)
        return NULL;
    char *here = place(a), *there = place(b), *array = array_of(x);
    char *before = place(member(a, "barrier")), *after = place(member(b, "barrier"));
    bool in_order = strcmp(before, after) <= 0;
    int kind = (int)strcspn(x->text, ":");
    char *cause;
    if (strcmp(here, there) == 0)
        cause = need_text("%.*s line %s %s", kind, x->text, here, array);
    else if (number(a, "block") != number(b, "block"))
        cause = need_text("%.*s blocks %s", kind, x->text, array);
    else
        cause = need_text("%.*s barrier %s %s", kind, x->text, in_order ? before : after,
                          in_order ? after : before);
    free(here);
    free(there);
    free(array);
    free(before);
    free(after);
    return cause;
}

/* Does it read, at one of the lines of the race, what the race may leave unwritten? */
static bool comes_of(const struct finding *x, const struct finding *race)
{
    if (!is_kind(x, "uninitialised"))
        return false;
    char *read = place(access_of(x, 0)), *mine = array_of(x), *its = array_of(race);
    bool meets = false;
    for (int i = 0; i < 2 && !meets; i++) {
        char *line = place(access_of(race, i));
        meets = strcmp(line, read) == 0 && strcmp(mine, its) == 0;
        free(line);
    }
    free(read);
    free(mine);
    free(its);
    return meets;
}

static int rank(const struct finding *x)
{
    if (x->severity != TW_ERROR)
        return 2;
    bool first = is_race(x) || (!x->json && !x->what);
    return first ? 0 : 1;
}

/* Races first; else as they were found. */
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

/* Notes which kinds of findings may follow from a race: those of an address or a condition made of the
 * value that it read. */
static void note_race(struct findings *f, struct finding *x)
{
    static const char *const kinds[] = {"out-of-bounds", "misaligned", "read-only",
                                        "trap",          "deadlock",   "endless"};
    const struct finding *race = NULL;
    bool may = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        may = may || is_kind(x, kinds[i]);
    for (int i = 0; i < f->count && may && !race; i++)
        if (is_race(&f->list[i]) && f->list[i].kernel == x->kernel && f->list[i].file)
            race = &f->list[i];
    if (!race)
        return;
    char *text = need_text("this may come of the race at %s:%d", race->file, race->line);
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
        json_key(j, follows ? "consequences" : "also");
        json_open(j, '[');
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

#include "cli/findings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
    return text ? need_text("%s", text) : NULL;
}

/* Returns whether the texts differ only in digits: "f16[128][16]" of one configuration,
 * "f16[64][32]" of another. */
static bool same_but_numbers(const char *a, const char *b)
{
    for (;;) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

static struct finding *find_same(struct findings *f, const char *kernel, const tw_message *m)
{
    for (int i = 0; i < f->count; i++) {
        struct finding *x = &f->list[i];
        bool same_file = !x->file == !m->file && (!m->file || strcmp(x->file, m->file) == 0);
        if (same_file && x->kernel == kernel && x->severity == m->severity && x->line == m->line &&
            x->column == m->column && same_but_numbers(x->text, m->text))
            return x;
    }
    return NULL;
}

static struct finding *add_finding(struct findings *f)
{
    struct finding *x = ADD_NEW(f->list, f->count);
    *x = (struct finding){.seen = 1};
    return x;
}

static struct finding *add_message(struct findings *f, const tw_message *m)
{
    struct finding *x = add_finding(f);
    x->severity = m->severity;
    x->file = copy_text(m->file);
    x->line = m->line;
    x->column = m->column;
    x->text = copy_text(m->text);
    x->parts = message_parts_copy(m);
    return x;
}

static void add_note(struct finding *x, const tw_message *m)
{
    ADD_TO(x->notes, x->note_count,
           (struct note){.file = copy_text(m->file),
                         .text = copy_text(m->text),
                         .line = m->line,
                         .column = m->column});
}

void findings_take(struct findings *f, const tw_context *ctx, const char *kernel, const char *what,
                   const char *where)
{
    struct finding *current = NULL;
    tw_message m = tw_message_init();
    for (int i = 0; tw_context_message(ctx, i, &m); i++) {
        if (m.severity == TW_NOTE) {
            if (current)
                add_note(current, &m);
            continue;
        }
        struct finding *same = find_same(f, kernel, &m);
        current = NULL;
        if (same) {
            same->seen++;
            continue;
        }
        current = add_message(f, &m);
        current->kernel = kernel;
        current->rendered = message_shown(&m);
        current->what = what;
        current->where = copy_text(where);
    }
}

static tw_message message_of_complaint(const struct complaint *x)
{
    tw_message m = message_of_parts(&x->parts);
    m.severity = x->severity;
    m.file = x->file;
    m.line = x->line;
    m.column = x->column;
    m.text = x->text;
    return m;
}

void findings_take_complaints(struct findings *f, const struct complaints *said, const char *path)
{
    struct finding *current = NULL;
    for (int i = 0; i < said->count; i++) {
        const struct complaint *x = &said->list[i];
        tw_message m = message_of_complaint(x);
        if (m.severity == TW_NOTE) {
            if (current)
                add_note(current, &m);
            continue;
        }
        if (!m.file)
            m.file = path;
        current = add_message(f, &m);
    }
}

void findings_add(struct findings *f, tw_code code, const char *kernel, const char *file,
                  char *text, const char *where)
{
    tw_message m = {
        .size = sizeof m, .severity = TW_ERROR, .code = code, .file = file, .text = text};
    struct finding *same = find_same(f, kernel, &m);
    if (same) {
        same->seen++;
        free(text);
        return;
    }
    struct finding *x = add_message(f, &m);
    x->kernel = kernel;
    x->rendered = need_text("%s: error: %s\n", file, text);
    x->where = copy_text(where);
    free(text);
}

/* Appends the known parts of "FILE:LINE:COLUMN: ". */
static void append_place(char **text, const tw_message *m)
{
    if (m->file && m->line)
        append_text(text, "%s:%d:%d: ", m->file, m->line, m->column);
    else if (m->file)
        append_text(text, "%s: ", m->file);
}

void findings_again(struct findings *f, const struct finding *error, tw_severity severity,
                    const char *before)
{
    char *text = need_text("%s%s", before, error->text);
    tw_message m = message_of_parts(&error->parts);
    m.severity = severity;
    m.file = error->file;
    m.line = error->line;
    m.column = error->column;
    m.text = text;
    struct finding *same = find_same(f, error->kernel, &m);
    if (same) {
        same->seen++;
        free(text);
        return;
    }
    struct finding *x = add_message(f, &m);
    x->kernel = error->kernel;
    x->where = copy_text(error->where);
    append_place(&x->rendered, &m);
    append_text(&x->rendered, "%s: %s%s", severity == TW_ERROR ? "error" : "warning", text,
                error->rendered + strcspn(error->rendered, "\n"));
    for (int i = 0; i < error->note_count; i++) {
        const struct note *n = &error->notes[i];
        add_note(x, &(tw_message){.size = sizeof(tw_message),
                                  .file = n->file,
                                  .line = n->line,
                                  .column = n->column,
                                  .text = n->text});
    }
    free(text);
}

/* Returns kind and places, the lesser place first, because the order of the accesses depends on
 * the order of warps. */
static char *key_of(const tw_sim_finding *x)
{
    char *a = need_text("%s:%d:%d", x->file ? x->file : "", x->line, x->column);
    char *b =
        need_text("%s:%d:%d", x->other_file ? x->other_file : "", x->other_line, x->other_column);
    bool in_order = strcmp(a, b) <= 0;
    char *key = need_text("%s %s %s", x->kind, in_order ? a : b, in_order ? b : a);
    free(a);
    free(b);
    return key;
}

bool finding_of_two_blocks(const tw_sim_finding *found)
{
    return found->access_count > 1 && found->accesses[0]->block >= 0 &&
           found->accesses[1]->block >= 0 && found->accesses[0]->block != found->accesses[1]->block;
}

bool findings_take_simulated(struct findings *f, const tw_sim_finding *found, const char *kernel,
                             const char *where)
{
    if (found->suppressed)
        return false;
    char *key = key_of(found);
    for (int i = 0; i < f->count; i++) {
        struct finding *x = &f->list[i];
        if (x->key && x->kernel == kernel && strcmp(x->key, key) == 0) {
            x->seen++;
            free(key);
            return false;
        }
    }
    struct finding *x = add_finding(f);
    x->kernel = kernel;
    x->severity = found->fails ? TW_ERROR : TW_WARNING;
    x->file = copy_text(found->file);
    x->line = found->line;
    x->column = found->column;
    x->text = need_text("%s: %s", found->kind, found->message);
    x->rendered = copy_text(found->text);
    x->json = copy_text(found->json);
    x->parts = message_parts_copy(&(tw_message){.size = sizeof(tw_message),
                                                .code = found->code,
                                                .accesses = found->accesses,
                                                .access_count = found->access_count});
    x->key = key;
    x->where = copy_text(where);
    return true;
}

void finding_note(struct finding *x, const char *text)
{
    for (int i = 0; i < x->note_count; i++)
        if (strcmp(x->notes[i].text, text) == 0)
            return;
    add_note(x, &(tw_message){.size = sizeof(tw_message), .severity = TW_NOTE, .text = text});
    size_t length = strlen(x->rendered);
    append_text(&x->rendered, "%s    note: %s\n",
                length && x->rendered[length - 1] != '\n' ? "\n" : "", text);
}

void findings_note(struct findings *f, const char *text)
{
    if (f->count)
        finding_note(&f->list[f->count - 1], text);
}

void findings_wrong(struct findings *f, struct wrong_values *w, bool unwritten_only)
{
    char *text = wrong_values_text(w, unwritten_only);
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
        findings_note(f, line);
    free(text);
    if (f->count) {
        char *matrices = wrong_values_matrices(w);
        append_text(&f->list[f->count - 1].rendered, "%s", matrices ? matrices : "");
        free(matrices);
        wrong_values_free(&f->list[f->count - 1].wrong);
        f->list[f->count - 1].wrong = *w;
        *w = (struct wrong_values){0};
    }
}

void findings_free(struct findings *f)
{
    for (int i = 0; i < f->count; i++) {
        struct finding *x = &f->list[i];
        for (int n = 0; n < x->note_count; n++) {
            free(x->notes[n].file);
            free(x->notes[n].text);
        }
        free(x->notes);
        free(x->file);
        free(x->text);
        free(x->rendered);
        free(x->json);
        free(x->key);
        free(x->where);
        wrong_values_free(&x->wrong);
        message_parts_free(&x->parts);
    }
    free(f->list);
    *f = (struct findings){0};
}

#include "cli/message_parts.h"
#include "cli/tool.h"

#include <stdlib.h>

static char *copy_text(const char *text)
{
    return text ? need_text("%s", text) : NULL;
}

static const tw_edit *copy_edit(const tw_edit *from)
{
    tw_edit *e = need_memory(sizeof *e);
    *e = *from;
    e->insert = copy_text(from->insert);
    return e;
}

static const tw_access *copy_access(const tw_access *from)
{
    tw_access *a = need_memory(sizeof *a);
    *a = *from;
    a->file = copy_text(from->file);
    a->what = copy_text(from->what);
    a->variable = copy_text(from->variable);
    a->space = copy_text(from->space);
    a->barrier_file = copy_text(from->barrier_file);
    return a;
}

struct message_parts message_parts_copy(const tw_message *m)
{
    struct message_parts p = {.code = m->code,
                              .length = m->length,
                              .edit_count = m->edit_count,
                              .access_count = m->access_count};
    if (p.edit_count)
        p.edits = need_memory((size_t)p.edit_count * sizeof *p.edits);
    for (int i = 0; i < p.edit_count; i++)
        p.edits[i] = copy_edit(m->edits[i]);
    if (p.access_count)
        p.accesses = need_memory((size_t)p.access_count * sizeof *p.accesses);
    for (int i = 0; i < p.access_count; i++)
        p.accesses[i] = copy_access(m->accesses[i]);
    return p;
}

tw_message message_of_parts(const struct message_parts *p)
{
    return (tw_message){.size = sizeof(tw_message),
                        .code = p->code,
                        .length = p->length,
                        .edits = p->edits,
                        .edit_count = p->edit_count,
                        .accesses = p->accesses,
                        .access_count = p->access_count};
}

void message_parts_free(struct message_parts *p)
{
    for (int i = 0; i < p->edit_count; i++) {
        free((char *)p->edits[i]->insert);
        free((tw_edit *)p->edits[i]);
    }
    for (int i = 0; i < p->access_count; i++) {
        const tw_access *a = p->accesses[i];
        free((char *)a->file);
        free((char *)a->what);
        free((char *)a->variable);
        free((char *)a->space);
        free((char *)a->barrier_file);
        free((tw_access *)a);
    }
    free(p->edits);
    free(p->accesses);
    *p = (struct message_parts){0};
}

void message_parts_json(const struct message_parts *p, struct json *j)
{
    json_put_integer(j, "length", p->length);
    json_put_text(j, "code", tw_code_name(p->code));
    json_open_list(j, "fix");
    for (int i = 0; i < p->edit_count; i++) {
        json_open(j, '{');
        json_put_integer(j, "line", p->edits[i]->line);
        json_put_integer(j, "column", p->edits[i]->column);
        json_put_integer(j, "delete", p->edits[i]->remove);
        json_put_text(j, "insert", p->edits[i]->insert);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void access_json(const tw_access *a, struct json *j)
{
    json_open(j, '{');
    json_put_text(j, "file", a->file);
    json_put_integer(j, "line", a->line);
    json_put_integer(j, "column", a->column);
    json_put_integer(j, "length", a->length);
    json_put_text(j, "what", a->what);
    json_put_text(j, "variable", a->variable);
    if (a->rank)
        json_put_integers(j, "index", a->rank, a->index);
    else
        json_put_text(j, "index", NULL);
    json_put_index(j, "thread", a->thread);
    json_put_index(j, "warp", a->warp);
    json_put_index(j, "block", a->block);
    json_close(j, '}');
}

void accesses_json(const tw_access *const *list, int count, struct json *j)
{
    json_open(j, '[');
    for (int i = 0; i < count; i++)
        access_json(list[i], j);
    json_close(j, ']');
}

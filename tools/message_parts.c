#include "message_parts.h"
#include "tool.h"

#include <stdlib.h>

static char *copy_text(const char *text)
{
    return text ? need_text("%s", text) : NULL;
}

struct message_parts message_parts_copy(const tw_message *m)
{
    struct message_parts p = {.code = m->code,
                              .length = m->length,
                              .edit_count = m->edit_count,
                              .access_count = m->access_count};
    if (p.edit_count)
        p.edits = need_memory((size_t)p.edit_count * sizeof *p.edits);
    for (int i = 0; i < p.edit_count; i++) {
        p.edits[i] = m->edits[i];
        p.edits[i].insert = copy_text(m->edits[i].insert);
    }
    if (p.access_count)
        p.accesses = need_memory((size_t)p.access_count * sizeof *p.accesses);
    for (int i = 0; i < p.access_count; i++) {
        p.accesses[i] = m->accesses[i];
        p.accesses[i].file = copy_text(m->accesses[i].file);
        p.accesses[i].what = copy_text(m->accesses[i].what);
        p.accesses[i].variable = copy_text(m->accesses[i].variable);
        p.accesses[i].space = copy_text(m->accesses[i].space);
        p.accesses[i].barrier_file = copy_text(m->accesses[i].barrier_file);
    }
    return p;
}

tw_message message_of_parts(const struct message_parts *p)
{
    return (tw_message){.code = p->code,
                        .length = p->length,
                        .edits = p->edits,
                        .edit_count = p->edit_count,
                        .accesses = p->accesses,
                        .access_count = p->access_count};
}

void message_parts_free(struct message_parts *p)
{
    for (int i = 0; i < p->edit_count; i++)
        free((char *)p->edits[i].insert);
    for (int i = 0; i < p->access_count; i++) {
        free((char *)p->accesses[i].file);
        free((char *)p->accesses[i].what);
        free((char *)p->accesses[i].variable);
        free((char *)p->accesses[i].space);
        free((char *)p->accesses[i].barrier_file);
    }
    free(p->edits);
    free(p->accesses);
    *p = (struct message_parts){0};
}

void message_parts_json(const struct message_parts *p, struct json *j)
{
    json_put_integer(j, "length", p->length);
    json_put_text(j, "code", tw_code_name(p->code));
    json_key(j, "fix");
    json_open(j, '[');
    for (int i = 0; i < p->edit_count; i++) {
        json_open(j, '{');
        json_put_integer(j, "line", p->edits[i].line);
        json_put_integer(j, "column", p->edits[i].column);
        json_put_integer(j, "delete", p->edits[i].remove);
        json_put_text(j, "insert", p->edits[i].insert);
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
    json_key(j, "index");
    if (a->rank) {
        json_open_row(j);
        for (int i = 0; i < a->rank; i++)
            json_integer(j, a->index[i]);
        json_close(j, ']');
    } else {
        json_string(j, NULL);
    }
    json_key(j, "thread");
    if (a->thread >= 0)
        json_integer(j, a->thread);
    else
        json_string(j, NULL);
    json_key(j, "warp");
    if (a->warp >= 0)
        json_integer(j, a->warp);
    else
        json_string(j, NULL);
    json_key(j, "block");
    if (a->block >= 0)
        json_integer(j, a->block);
    else
        json_string(j, NULL);
    json_close(j, '}');
}

void accesses_json(const tw_access *list, int count, struct json *j)
{
    json_open(j, '[');
    for (int i = 0; i < count; i++)
        access_json(&list[i], j);
    json_close(j, ']');
}

/* Writes a profile as JSON; docs/profile.md lists the keys. */
#include "run/profiled.h"

static void put_work(struct json *j, const tw_profile_part *part)
{
    json_put_integer(j, "runs", part->runs);
    json_put_real(j, "seconds", part->seconds);
    json_put_real(j, "share", part->share);
    json_put_real(j, "flops", part->flops);
    json_put_real(j, "read_bytes", part->read);
    json_put_real(j, "written_bytes", part->written);
}

static void put_place(struct json *j, const char *file, int line, int column)
{
    json_put_text(j, "file", file);
    json_put_integer(j, "line", line);
    if (column)
        json_put_integer(j, "column", column);
}

static void put_parts(struct json *j, const char *key, const tw_profile_part *parts, int count)
{
    json_open_list(j, key);
    for (int i = 0; i < count; i++) {
        const tw_profile_part *part = &parts[i];
        json_open(j, '{');
        if (part->kind) {
            json_put_text(j, "kind", part->kind);
            json_put_text(j, "title", part->title);
        }
        if (part->line) {
            put_place(j, part->file, part->line, part->column);
            json_put_text(j, "text", part->text);
        }
        if (part->kind && part->line)
            json_put_text(j, "operation", part->operation);
        put_work(j, part);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_paths(struct json *j, const char *key, const int64_t *by_path)
{
    static const char *const keys[TW_OPERAND_PATHS] = {"plain", "shared", "in_place", "own"};
    json_open_object(j, key);
    for (int path = 0; path < TW_OPERAND_PATHS; path++)
        json_put_integer(j, keys[path], by_path[path]);
    json_close(j, '}');
}

static void put_products(struct json *j, const tw_profile *p)
{
    json_open_list(j, "products");
    for (int i = 0; i < p->product_count; i++) {
        const tw_profile_product *x = &p->products[i];
        json_open(j, '{');
        put_place(j, x->file, x->line, x->column);
        json_put_text(j, "type", x->type);
        json_put_integer(j, "runs", x->runs);
        json_put_real(j, "seconds", x->seconds);
        json_put_real(j, "packing_seconds", x->packing_seconds);
        json_put_real(j, "flops", x->flops);
        put_paths(j, "left", x->left);
        put_paths(j, "right", x->right);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void slow_paths_json(const tw_slow_path *slow, int count, struct json *j)
{
    json_open_list(j, "slow");
    for (int i = 0; i < count; i++) {
        json_open(j, '{');
        json_put_text(j, "code", slow[i].code);
        put_place(j, slow[i].file, slow[i].line, slow[i].column);
        json_put_integer(j, "cause_line", slow[i].cause_line);
        json_put_text(j, "reason", slow[i].reason);
        json_put_text(j, "way_out", slow[i].way_out);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_threads(struct json *j, const tw_profile *p)
{
    json_open_list(j, "threads");
    for (int i = 0; i < p->thread_count; i++) {
        json_open(j, '{');
        json_put_real(j, "busy_seconds", p->threads[i].busy);
        json_put_integer(j, "blocks", p->threads[i].blocks);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void profile_json(const struct profile *p, struct json *j)
{
    const tw_profile *r = &p->result;
    if (!r->kernel)
        return;
    json_open_object(j, "profile");
    json_put_text(j, "instructions", r->instructions);
    json_put_integer(j, "launches", r->launches);
    json_put_integer(j, "blocks", r->blocks);
    json_put_integer(j, "bound_blocks", r->bound_blocks);
    json_put_real(j, "seconds", r->seconds);
    json_put_real(j, "plain_seconds", p->plain);
    json_put_real(j, "thread_seconds", r->thread_seconds);
    json_put_real(j, "profiler_seconds", r->profiler);
    json_put_real(j, "flops", r->flops);
    json_put_real(j, "read_bytes", r->read);
    json_put_real(j, "written_bytes", r->written);
    json_put_real(j, "array_bytes", r->array_bytes);
    put_threads(j, r);
    put_parts(j, "lines", r->lines, r->line_count);
    put_parts(j, "kinds", r->kinds, r->kind_count);
    put_parts(j, "steps", r->steps, r->step_count);
    put_products(j, r);
    slow_paths_json(r->reasons, r->reason_count, j);
    profile_json_roofs(p, j);
    json_close(j, '}');
}

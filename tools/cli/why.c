#include "cli/why.h"

#include "cli/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 4000000 }; /* of a block; a path needs all of them */
enum { SHOWN = 6 };             /* elements of a step in the text; three if there are more */

int why_read(struct why *w, const struct options *o)
{
    static const char *const fewer[] = {"trace-events", "trace-from", NULL};
    const char *text = options_value(o, "why");
    *w = (struct why){0};
    if (!text)
        return STATUS_OK;
    if (options_any(o, fewer))
        return usage_error(o->complaints, o->command,
                           "--why needs all events of the block: --%s leaves some out",
                           options_any(o, fewer));
    size_t length = strcspn(text, "[");
    const char *at = text + length;
    while (*at == '[' && w->rank < TW_MAX_RANK) {
        char *end;
        errno = 0;
        w->index[w->rank++] = strtoll(at + 1, &end, 10);
        if (end == at + 1 || errno || *end != ']')
            break;
        at = end + 1;
    }
    if (!length || *at || !w->rank)
        return usage_error(o->complaints, o->command,
                           "--why %s: expected an element of an array, ARRAY[I] or ARRAY[I][J]",
                           text);
    w->array = need_text("%.*s", (int)length, text);
    return STATUS_OK;
}

void why_free(struct why *w)
{
    free(w->array);
    free(w->report);
    *w = (struct why){0};
}

int why_ask(const struct why *w, const char *name, const tw_array *array, const char *names,
            const struct options *o, tw_trace_options *to)
{
    int64_t element = 0;
    bool inside = array && array->rank == w->rank;
    for (int i = 0; i < w->rank && inside; i++) {
        inside = w->index[i] >= 0 && w->index[i] < array->shape[i];
        element = element * array->shape[i] + w->index[i];
    }
    if (!array)
        return usage_error(o->complaints, o->command,
                           "--why %s: the kernel has no array `%s`; it has %s",
                           options_value(o, "why"), w->array, names ? names : "none");
    if (!inside)
        return usage_error(o->complaints, o->command, "--why %s: `%s` has no such element",
                           options_value(o, "why"), w->array);
    to->why = name;
    to->why_bytes = (int64_t)tw_dtype_size(array->dtype);
    to->why_offset = element * to->why_bytes;
    if (!to->events)
        to->events = MOST_EVENTS;
    return STATUS_OK;
}

bool why_elsewhere(const tw_why *found, tw_trace_options *to)
{
    if (!found || found->block[0] < 0 || memcmp(found->block, to->block, sizeof to->block) == 0)
        return false;
    memcpy(to->block, found->block, sizeof to->block);
    return true;
}

/* --- what was found --- */

static void put_writer(struct json *j, const tw_why_writer *w)
{
    json_open(j, '{');
    json_put_integers(j, "block", 3, w->block);
    json_put_integer(j, "warp", w->warp);
    json_put_integer(j, "lane", w->lane);
    json_put_integer(j, "line", w->line);
    json_put_integer(j, "column", w->column);
    json_put_text(j, "text", w->text);
    json_put_integer(j, "write", w->write);
    json_close(j, '}');
}

static void put_step(struct json *j, const tw_why_step *s)
{
    json_open(j, '{');
    json_put_text(j, "kind", s->kind);
    json_put_integer(j, "time", s->time);
    json_put_integer(j, "warp", s->warp);
    json_put_integer(j, "lanes", s->lanes);
    json_put_integer(j, "line", s->line);
    json_put_integer(j, "column", s->column);
    json_put_text(j, "text", s->text);
    json_put_index(j, "event", s->event);
    json_put_integer(j, "products", s->products);
    json_open_numbers(j, "elements");
    for (int i = 0; i < s->element_count; i++)
        json_string(j, s->elements[i]);
    json_close(j, ']');
    json_put_index(j, "races", s->races);
    json_open_numbers(j, "writers");
    for (int i = 0; i < s->writer_count; i++)
        put_writer(j, &s->writers[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void put_why(struct json *j, const struct why *w, const tw_why *found,
                    const tw_trace_options *asked)
{
    json_open(j, '{');
    json_put_text(j, "array", w->array);
    json_put_integers(j, "index", w->rank, w->index);
    json_put_integers(j, "block", 3, asked->block);
    json_put_integer(j, "thread", found->thread);
    json_put_integer(j, "products", found->products);
    json_put_integer(j, "global_reads", found->global_reads);
    json_put_integer(j, "global_writes", found->global_writes);
    json_put_integer(j, "shared_reads", found->shared_reads);
    json_put_integer(j, "shared_writes", found->shared_writes);
    json_put_bool(j, "complete", found->complete);
    json_open_list(j, "path");
    for (int i = 0; i < found->step_count; i++)
        put_step(j, &found->steps[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void print_step(FILE *out, const tw_why_step *s)
{
    char place[32] = "";
    if (s->line)
        snprintf(place, sizeof place, "%d:%d", s->line, s->column);
    print_text(out, "%7lld %5d  %-8s %-8s %s", (long long)s->time, s->warp, place, s->kind,
               s->text ? s->text : "");
    bool long_list = s->element_count > SHOWN;
    for (int i = 0; i < (long_list ? 2 : s->element_count); i++)
        print_text(out, "%s%s", i ? ", " : "  ", s->elements[i]);
    if (long_list)
        print_text(out, ", … %s (%d)", s->elements[s->element_count - 1], s->element_count);
    if (s->products)
        fprintf(out, "  %lld product%s", (long long)s->products, s->products == 1 ? "" : "s");
    if (s->races >= 0)
        fprintf(out, "  races with another warp's write");
    for (int i = 0; i < s->writer_count && i < SHOWN; i++) {
        const tw_why_writer *w = &s->writers[i];
        fprintf(out, "%s block %lld,%lld,%lld", i ? "," : "  written by", (long long)w->block[0],
                (long long)w->block[1], (long long)w->block[2]);
        if (w->line)
            fprintf(out, " at %d:%d", w->line, w->column);
    }
    if (s->writer_count > SHOWN)
        print_text(out, ", … (%d writes)", s->writer_count);
    fputc('\n', out);
}

static void print_why(FILE *out, const struct why *w, const tw_why *found,
                      const tw_trace_options *asked)
{
    print_text(out, "%s", w->array);
    for (int i = 0; i < w->rank; i++)
        fprintf(out, "[%lld]", (long long)w->index[i]);
    const int64_t *by = found->thread < 0 ? found->block : asked->block;
    const long long b[3] = {by[0], by[1], by[2]};
    if (found->thread < 0 && b[0] >= 0)
        fprintf(out, ": block %lld,%lld,%lld wrote it, not the one of --in-block\n", b[0], b[1],
                b[2]);
    else if (found->thread < 0)
        fprintf(out, ": no block wrote it\n");
    if (found->thread < 0)
        return;
    fprintf(out,
            ", by thread %d of block %lld,%lld,%lld: %lld product%s, %lld element%s read of "
            "shared memory and %lld of global memory%s\n",
            found->thread, b[0], b[1], b[2], (long long)found->products,
            found->products == 1 ? "" : "s", (long long)found->shared_reads,
            found->shared_reads == 1 ? "" : "s", (long long)found->global_reads,
            found->complete ? "" : " (not all: the block has more events)");
    fprintf(out, "   time  warp  line     kind     expression  elements\n");
    for (int i = 0; i < found->step_count; i++)
        print_step(out, &found->steps[i]);
}

void why_keep(struct why *w, const tw_why *found, const tw_trace_options *asked, bool json)
{
    size_t size = 0;
    if (!found)
        return;
    free(w->report);
    w->report = NULL;
    FILE *out = open_memstream(&w->report, &size);
    if (!out)
        return;
    struct json j = {.out = out};
    if (json)
        put_why(&j, w, found, asked);
    else
        print_why(out, w, found, asked);
    fclose(out);
}

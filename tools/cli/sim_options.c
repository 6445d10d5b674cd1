#include "cli/sim_options.h"
#include "cli/files_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads a WHAT of --same-value or --volatile. */
static bool read_counts(const struct options *o, const char *name, tw_counts *counts)
{
    static const char *const words[] = {"warning", "error", "ignore"};
    const char *value = options_value(o, name);
    for (int i = 0; value && i < 3; i++)
        if (strcmp(value, words[i]) == 0) {
            *counts = (tw_counts)i;
            return true;
        }
    if (value)
        usage_error(o->complaints, o->command, "--%s %s: expected warning, error or ignore", name,
                    value);
    return !value;
}

bool sim_order_read(struct sim_options *s, const char *text)
{
    int count = 0;
    free(s->order);
    s->order = need_memory(MOST_TURNS * sizeof *s->order);
    do {
        char *end;
        if (count == MOST_TURNS || !isdigit((unsigned char)*text))
            return false;
        long warp = strtol(text, &end, 10);
        tw_sim_turn turn = {.warp = warp > 31 ? -1 : (int)warp};
        if (*end == ':' && isdigit((unsigned char)end[1]))
            turn.steps = strtoll(end + 1, &end, 10);
        if ((*end && *end != ',') || turn.warp < 0)
            return false;
        s->order[count++] = turn;
        text = end + (*end == ',' && end[1]);
    } while (*text && *text != ',');
    s->options.order = s->order;
    s->options.order_count = count;
    return !*text;
}

char *sim_order_text(const tw_sim_options *o)
{
    char *text = need_text("%s", "");
    for (int i = 0; i < o->order_count; i++) {
        append_text(&text, "%s%d", i ? "," : "", o->order[i].warp);
        if (o->order[i].steps)
            append_text(&text, ":%lld", (long long)o->order[i].steps);
    }
    return text;
}

static bool read_late_by(struct sim_options *s, const char *text)
{
    char *end;
    errno = 0;
    s->options.late_by = strtoll(text, &end, 10);
    return errno == 0 && end != text && !*end && s->options.late_by > 0;
}

int sim_options_read(struct sim_options *s, const struct options *o)
{
    const char *copies = options_value(o, "copies"), *path = options_value(o, "suppress");
    *s = (struct sim_options){.options.size = sizeof s->options,
                              .options.late = copies && strcmp(copies, "early") != 0};
    if (s->options.late && strcmp(copies, "late") != 0 && !read_late_by(s, copies))
        return usage_error(o->complaints, o->command,
                           "--copies %s: expected early, late, or a number of instructions of the "
                           "warp, from 1 on, after which a copy lands",
                           copies);
    if (!options_integer(o, "step-limit", 1, INT64_MAX / 2, &s->options.step_limit))
        return STATUS_USAGE;
    if (!read_counts(o, "same-value", &s->options.same_value) ||
        !read_counts(o, "volatile", &s->options.volatiles))
        return STATUS_USAGE;
    const char *order = options_value(o, "order");
    if (order && strcmp(order, "worst") != 0 && !sim_order_read(s, order))
        return usage_error(o->complaints, o->command,
                           "--order %s: expected warps, 0 to 31, like 1,0 or 1:20,0", order);
    if (order && options_has(o, "seed"))
        return usage_error(o->complaints, o->command, "--order and --seed are two orders");
    if (path)
        file_is_read(path);
    if (path && !(s->suppressions = read_whole_file(path, NULL))) {
        complain(o->complaints, "cannot read `%s`: %s", path, strerror(errno));
        return STATUS_USAGE;
    }
    s->options.suppressions = s->suppressions;
    s->options.suppressions_name = path;
    return STATUS_OK;
}

void sim_options_free(struct sim_options *s)
{
    free(s->suppressions);
    free(s->order);
    *s = (struct sim_options){0};
}

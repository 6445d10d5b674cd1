#include "sim_options.h"

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

int sim_options_read(struct sim_options *s, const struct options *o)
{
    const char *copies = options_value(o, "copies"), *path = options_value(o, "suppress");
    *s = (struct sim_options){.options.late = copies && strcmp(copies, "late") == 0};
    if (copies && !s->options.late && strcmp(copies, "early") != 0)
        return usage_error(o->complaints, o->command, "--copies %s: expected early or late",
                           copies);
    if (!options_integer(o, "step-limit", 1, INT64_MAX / 2, &s->options.step_limit))
        return STATUS_USAGE;
    if (!read_counts(o, "same-value", &s->options.same_value) ||
        !read_counts(o, "volatile", &s->options.volatiles))
        return STATUS_USAGE;
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
    *s = (struct sim_options){0};
}

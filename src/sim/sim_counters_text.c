/* Counters as a table and as JSON. */
#include "base/shown.h"
#include "sim/sim_assembled.h"
#include "sim/sim_counters.h"

#include <string.h>

/* The names of the counters, one after the other. */
static const char words[] =
#define X(name) #name "\0"
    SIM_COUNTERS(X)
#undef X
    ;

static const char *next_word(const char *word)
{
    return word + strlen(word) + 1;
}

static void json_counts(struct text *out, const struct sim_counts *n, bool zeros)
{
    const char *comma = "", *name = words;
    for (int i = 0; i < SIM_COUNTER_COUNT; i++, name = next_word(name)) {
        if (!zeros && sim_counts_row(n)[i] == 0)
            continue;
        text_printf(out, "%s\"%s\": %lld", comma, name, (long long)sim_counts_row(n)[i]);
        comma = ", ";
    }
}

void sim_counters_json(struct text *out, const struct sim_counters *c,
                       const struct ptx_module *module, const struct sim_assembled *assembled)
{
    struct sim_counts total;
    struct sim_line_counts *lines;
    int64_t kinds[SIM_KIND_COUNT];
    const char *comma = "";
    sim_counters_total(c, &total);
    sim_counters_kinds(c, kinds);
    size_t count = sim_counters_lines(c, module, out->arena, &lines);
    text_add(out, "{");
    json_counts(out, &total, true);
    text_add(out, ", \"instructions\": {");
    for (int i = 0; i < SIM_KIND_COUNT; i++) {
        if (kinds[i] == 0)
            continue;
        text_printf(out, "%s\"%s\": %lld", comma, sim_instruction_kinds[i], (long long)kinds[i]);
        comma = ", ";
    }
    text_add(out, "}, \"lines\": [");
    for (size_t i = 0; i < count; i++) {
        text_add(out, i ? ", {\"file\": " : "{\"file\": ");
        text_add_json(out, lines[i].file);
        text_printf(out, ", \"line\": %u, ", lines[i].line);
        json_counts(out, &lines[i].counts, false);
        text_add(out, "}");
    }
    text_add(out, "]");
    if (assembled) {
        text_add(out, ", \"as_assembled\": ");
        sim_assembled_json(out, assembled);
    }
    text_add(out, "}");
}

void sim_counters_table(struct text *out, const struct sim_counters *c,
                        const struct ptx_module *module, const char *const *what)
{
    struct sim_counts total;
    struct sim_line_counts *lines;
    int64_t kinds[SIM_KIND_COUNT];
    sim_counters_total(c, &total);
    sim_counters_kinds(c, kinds);
    size_t count = sim_counters_lines(c, module, out->arena, &lines);
    const char *name = words;
    for (int i = 0; i < SIM_COUNTER_COUNT; i++, name = next_word(name))
        if (sim_counts_row(&total)[i] != 0)
            text_printf(out, "%-24s %14lld  %s\n", name, (long long)sim_counts_row(&total)[i],
                        what[i]);
    text_add(out, "\nwarp instructions by kind\n");
    for (int i = 0; i < SIM_KIND_COUNT; i++)
        if (kinds[i])
            text_printf(out, "  %-22s %14lld\n", sim_instruction_kinds[i], (long long)kinds[i]);
    text_printf(out, "\n%-24s %12s %11s %9s %10s %9s %9s\n", "line", "instructions", "wavefronts",
                "ideal", "sectors", "requests", "async B");
    for (size_t i = 0; i < count; i++) {
        const struct sim_counts *n = &lines[i].counts;
        const char *place = arena_printf(
            out->arena, "%s:%u", text_shown(out->arena, text_base_name(lines[i].file), SHOWN_LINE),
            lines[i].line);
        text_printf(out, "%-24s %12lld %11lld %9lld %10lld %9lld %9lld\n", place,
                    (long long)n->warp_instructions, (long long)n->shared_wavefronts,
                    (long long)n->shared_wavefronts_ideal, (long long)n->global_sectors,
                    (long long)n->global_requests, (long long)n->async_bytes);
    }
}

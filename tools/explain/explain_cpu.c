/* Explains kernels on the CPU of this machine: a run with a profile, compared with the roofs. */
#include "explain/explain_cpu.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* Reports the roofs without a kernel. */
static int roofs_alone(const struct options *given)
{
    struct complaints complaints = {0};
    struct profile p = {.roofs = tw_cpu_roofs_init()};
    struct json j = {.out = stdout};
    int64_t threads = 0;
    tw_context *ctx = NULL;
    if (!options_threads(given, &threads))
        return STATUS_USAGE;
    struct program_config config = {
        .threads = (int)threads, .colour = on_terminal(stderr), .complaints = &complaints};
    int status = context_open(&ctx, &config);
    if (status == STATUS_OK) {
        tw_status s = tw_context_roofs(ctx, options_has(given, "measure"), &p.roofs);
        status = s == TW_OK ? STATUS_OK : STATUS_FAILED;
        if (s != TW_OK)
            complain_library(&complaints, ctx, s);
    }
    if (status == STATUS_OK && options_has(given, "json")) {
        json_open(&j, '{');
        profile_json_roofs(&p, &j);
        json_close(&j, '}');
        json_end(&j);
    } else if (status == STATUS_OK) {
        profile_report_roofs(&p);
    }
    tw_context_free(ctx);
    complaints_free(&complaints);
    return status;
}

int explain_cpu(const struct command *self, const struct options *given)
{
    static const char *const of_gpus[] = {"compare",   "sweep",      "by",     "chart", "registers",
                                          "intensity", "ridge",      "kernel", "grid",  "block",
                                          "arg",       "step-limit", NULL};
    const char *other = options_any(given, of_gpus);
    if (other)
        return usage_error(NULL, self, "--%s is for GPUs, not for --device cpu", other);
    return given->word_count ? run_to_explain(self, given) : roofs_alone(given);
}

/* Implements `explain` of a PTX or CUDA C kernel; --grid, --block and --arg give the launch. */
#include "explain/explained.h"
#include "ptx/ptx_file.h"
#include "ptx/ptx_launch.h"

#include <stdlib.h>

static int check_options(struct explain *x)
{
    static const char *const of_tile[] = {"set",   "tune",    "type",      "compare",
                                          "sweep", "measure", "same-bits", NULL};
    static const char compare[] =
        ". To compare with a .tile kernel, explain each by itself, with the same --device: "
        "`Predicted` and `Roofs` of the pages, or `seconds` of --json";
    const char *other = options_any(x->given, of_tile);
    bool alone = x->given->word_count == 1;
    if (other)
        return usage_error(
            &x->complaints, x->command,
            "--%s is for .tile files; PTX and CUDA C take --grid, --block and --arg%s", other,
            alone ? "" : compare);
    return alone ? STATUS_OK
                 : usage_error(&x->complaints, x->command, "one FILE of PTX or CUDA C at a time%s",
                               compare);
}

static int find_row(struct explain *x, struct ptx_file *f, const struct ptx_given *g)
{
    tw_explain_options o = {.size = sizeof o, .gpu = x->gpu.name};
    int64_t registers = 0;
    if (!options_integer(x->given, "registers", 16, 255, &registers) ||
        !options_integer(x->given, "step-limit", 1, INT64_MAX / 2, &o.step_limit))
        return STATUS_USAGE;
    o.registers = (int)registers;
    x->rows = need_memory(sizeof *x->rows);
    x->row_count = 1;
    struct explain_row *r = &x->rows[0];
    r->name = need_text("%s", f->shown ? f->shown : f->kernel);
    r->e = tw_explanation_init();
    tw_status s = tw_ptx_explain(f->ptx, &g->launch, &o, &r->e);
    if (s == TW_OK) {
        r->program.path = f->path;
        return STATUS_OK;
    }
    complain_library(&x->complaints, f->ctx, s);
    if (s == TW_FAULT)
        complain_more(&x->complaints,
                      "`tilewright check` with the same launch shows the place and the reason");
    return s == TW_FAULT || s == TW_CANCELLED ? STATUS_FAILED : STATUS_USAGE;
}

int explain_ptx(struct explain *x, const struct program_config *config,
                int (*report)(struct explain *))
{
    struct ptx_file f = {0};
    struct ptx_given g = {0};
    struct program_config own = *config;
    own.complaints = &x->complaints;
    int status = check_options(x);
    if (status != STATUS_OK)
        return status;
    status = ptx_file_open(&f, x->given->words[0], x->given, &own);
    if (status == STATUS_OK)
        status = ptx_given_read(&g, &f, x->given, 1);
    if (status == STATUS_OK)
        status = find_row(x, &f, &g);
    if (status == STATUS_OK)
        status = report(x);
    if (x->row_count)
        x->rows[0].program.path = NULL; /* the file's */
    ptx_given_free(&g);
    ptx_file_close(&f);
    return status;
}

/* Suggests values for a variant that takes more shared memory or registers than its GPU has: the
 * listed tuned values that fit, those with the fewest changes first. A combination that compiles
 * but is estimated to take more registers than a thread has would spill: it is named only if
 * nothing else fits. */
#include "api/objects.h"
#include "api/pass_order.h"
#include "emit/emit.h"

enum { COMBINATIONS_TRIED = 256, COMBINATIONS_SEEN = 1 << 20, SHOWN = 3 };

/* A combination that compiles. */
struct fitting {
    int64_t takes; /* bytes of a block, or registers of a thread */
    struct literal *tunes;
};

struct fit {
    const tw_kernel *kernel;
    const struct choice *wanted; /* the choice that does not fit */
    const bool *known;
    enum lowered_excess excess; /* the resource it takes too much of */
    struct choice tried;
    int *row; /* by tune: index in its list */
    struct fitting best[SHOWN];
    int found;
    struct fitting spilling; /* the first that takes more registers than `there`; 0: none */
    int there;
    int tries, looks; /* combinations compiled, and looked at */
};

/* Goes to the next combination; the names of a group step together, and the last group is the
 * fastest. Returns false after the last combination. */
static bool next_combination(struct fit *f)
{
    const struct lang_kernel *info = f->kernel->info;
    for (int t = info->tune_count - 1; t >= 0; t--) {
        int group = info->tunes[t].group;
        bool leads = true; /* the last name of its group steps it */
        for (int u = t + 1; u < info->tune_count; u++)
            leads = leads && info->tunes[u].group != group;
        if (!leads)
            continue;
        bool more = f->row[t] + 1 < info->tunes[t].count;
        for (int u = 0; u < info->tune_count; u++)
            if (info->tunes[u].group == group)
                f->row[u] = more ? f->row[u] + 1 : 0;
        if (more)
            return true;
    }
    return false;
}

static int take_combination(struct fit *f)
{
    const struct lang_kernel *info = f->kernel->info;
    int changed = 0;
    for (int t = 0; t < info->tune_count; t++) {
        f->tried.tunes[t] = info->tunes[t].values[f->row[t]];
        changed += !literal_same(f->tried.tunes[t], f->wanted->tunes[t]);
    }
    return changed;
}

/* Returns true if the combination compiles, and gives the result in `out`. */
static bool compiles(const struct fit *f, struct lowered *out)
{
    const tw_kernel *k = f->kernel;
    struct arena *a = &k->module->ctx->probe;
    struct diag quiet;
    bool compiled = false;
    diag_init(&quiet, a);
    if (lang_tunes_allowed(a, k->module->parsed, k->index, k->target, f->tried.tunes, NULL)) {
        struct kernel *ir = choice_check(a, &quiet, k, &f->tried, f->known);
        struct launch_facts facts = {
            .values = f->tried.values, .known = f->known, .divisor = f->tried.divisor};
        struct pass_context passes = {
            .kernel = ir, .diag = &quiet, .facts = &facts, .sm = k->device->ptx.number};
        struct lowered_options options = {.target = k->device};
        compiled = ir && pass_order_run(&passes, NULL) && emit_kernel(a, ir, &options, &quiet, out);
    }
    arena_free(a); /* the numbers in `out` stay */
    return compiled;
}

static void remember(struct fit *f, struct fitting *in, int64_t takes)
{
    size_t size = (size_t)f->kernel->info->tune_count * sizeof *f->tried.tunes;
    in->takes = takes;
    in->tunes = arena_copy(&f->kernel->module->ctx->scratch, f->tried.tunes, size);
}

/* Returns the registers per thread if the block has a multiprocessor to itself. */
static int registers_there(const struct fit *f, const struct lowered *got)
{
    const struct target *t = f->kernel->device;
    int threads = got->block[0] * got->block[1] * got->block[2];
    int share = threads > 0 ? t->registers / threads : t->register_limit;
    return share < t->register_limit ? share : t->register_limit;
}

static void try_combination(struct fit *f)
{
    struct lowered got;
    if (!compiles(f, &got))
        return;
    int there = registers_there(f, &got);
    if (got.registers <= there) {
        remember(f, &f->best[f->found++],
                 f->excess == LOWERED_MANY_BYTES ? got.shared_bytes : got.registers);
    } else if (!f->spilling.takes) {
        remember(f, &f->spilling, got.registers);
        f->there = there;
    }
}

/* Tries the combinations that change `count` values. */
static void try_changing(struct fit *f, int count)
{
    for (int t = 0; t < f->kernel->info->tune_count; t++)
        f->row[t] = 0;
    do {
        if (take_combination(f) != count)
            continue;
        f->tries++;
        try_combination(f);
    } while (f->found < SHOWN && f->tries < COMBINATIONS_TRIED && ++f->looks < COMBINATIONS_SEEN &&
             next_combination(f));
}

/* Lists the values that differ from the wanted ones: "BM = 64, BN = 32". */
static void add_changes(struct text *out, const struct fit *f, const struct fitting *x)
{
    const struct lang_kernel *info = f->kernel->info;
    const char *between = "";
    for (int t = 0; t < info->tune_count; t++) {
        if (literal_same(x->tunes[t], f->wanted->tunes[t]))
            continue;
        text_printf(out, "%s%s = ", between, info->tunes[t].name);
        between = ", ";
        resolve_add_literal(out, x->tunes[t]);
    }
}

/* ", each with BK = 16, WARPS = 4": the values that no combination changes. */
static void add_kept(struct text *out, const struct fit *f)
{
    const struct lang_kernel *info = f->kernel->info;
    const char *between = f->found > 1 ? ", each with " : ", with ";
    for (int t = 0; t < info->tune_count; t++) {
        bool kept = true;
        for (int i = 0; i < f->found; i++)
            kept = kept && literal_same(f->best[i].tunes[t], f->wanted->tunes[t]);
        if (!kept)
            continue;
        text_printf(out, "%s%s = ", between, info->tunes[t].name);
        between = ", ";
        resolve_add_literal(out, f->wanted->tunes[t]);
    }
}

static void say_fitting(const struct fit *f)
{
    struct text out;
    text_init(&out, &f->kernel->module->ctx->scratch);
    for (int i = 0; i < f->found; i++) {
        long long takes = (long long)f->best[i].takes;
        text_printf(&out, "%s", i ? "; " : "");
        add_changes(&out, f, &f->best[i]);
        if (f->excess == LOWERED_MANY_BYTES)
            text_printf(&out, " (%lld bytes of shared memory)", takes);
        else if (f->excess == LOWERED_MANY_REGISTERS)
            text_printf(&out, " (about %lld registers a thread)", takes);
    }
    add_kept(&out, f);
    diag_note(&f->kernel->module->ctx->diag, LOC_NONE, "with these tuned values it fits: %s",
              out.data);
}

static void say_spilling(const struct fit *f)
{
    struct text out;
    text_init(&out, &f->kernel->module->ctx->scratch);
    add_changes(&out, f, &f->spilling);
    diag_note(
        &f->kernel->module->ctx->diag, LOC_NONE,
        "with %s it compiles, but takes about %lld registers a thread, of which there are %d: "
        "the rest would be kept in memory, which is slow",
        out.data, (long long)f->spilling.takes, f->there);
}

void fit_note(const tw_kernel *k, const struct choice *wanted, const bool *known,
              enum lowered_excess excess)
{
    tw_context *ctx = k->module->ctx;
    const struct lang_kernel *info = k->info;
    if (info->tune_count == 0)
        return;
    struct fit f = {
        .kernel = k, .wanted = wanted, .known = known, .excess = excess, .tried = *wanted};
    f.tried.tunes = arena_array(&ctx->scratch, struct literal, info->tune_count);
    f.row = arena_array(&ctx->scratch, int, info->tune_count);
    for (int count = 1; count <= info->tune_count && f.found < SHOWN; count++)
        try_changing(&f, count);
    if (f.found)
        say_fitting(&f);
    else if (f.spilling.takes)
        say_spilling(&f);
    else if (f.tries < COMBINATIONS_TRIED && f.looks < COMBINATIONS_SEEN) /* all were tried */
        diag_note(&ctx->diag, LOC_NONE, "none of the listed tuned values fit; take smaller ones");
}

#include "bench/bench_cpu.h"
#include "bench/bench_launch.h"
#include "cli/tensor.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

enum { LONGER = 10 /* times --timeout: the proposal */ };
static const double ensures_most = 1024.0 * 1024 * 1024; /* multiply-adds */

/* --- a job --- */

/* Repeats the run on the simulator, which reports where the kernel is when its step limit is
 * reached. */
static void explain_endless(struct cpu_job *j)
{
    struct bench_row *r = &j->row;
    const struct options *rest = j->bench->rest;
    bool one_type = tw_kernel_type_count(j->kernel) == 1;
    char *sets = set_options(j->launch, j->kernel);
    char *more =
        need_text("%s%s", one_type ? " --type " : "", one_type ? tw_dtype_name(r->dtype) : "");
    for (const struct option_use *u = rest->uses; u < rest->uses + rest->use_count; u++)
        if (strcmp(u->spec->name, "tune") == 0 || (!one_type && strcmp(u->spec->name, "type") == 0))
            append_text(&more, " --%s %s", u->spec->name, u->values[0]);
    snprintf(r->why, sizeof r->why,
             "one run took more than %g s: --timeout %gs gives it longer; where it hangs, "
             "`tilewright run %s:%s%s%s --fill rand --device sim --step-limit "
             "1000000` says",
             j->bench->timeout, LONGER * j->bench->timeout, r->file, r->kernel, sets, more);
    free(more);
    free(sets);
}

/* Classifies a failure: a fault in the run is one, but a size or type that the kernel does not
 * accept is not. */
static void judge_failure(struct cpu_job *j, tw_status s)
{
    struct bench_row *r = &j->row;
    bench_explain(r, j->entry->program->ctx, s);
    if (s == TW_CANCELLED)
        explain_endless(j);
    bool refused = s == TW_BAD_ARGUMENT || s == TW_UNSUPPORTED || s == TW_BAD_PROGRAM ||
                   s == TW_NO_MEMORY || s == TW_NOT_ASSUMED;
    r->result = refused ? BENCH_SKIPPED : BENCH_FAIL;
}

/* Writes the sizes into the row of a kernel that is not a product. */
static void describe_sizes(struct cpu_job *j)
{
    struct bench_row *row = &j->row;
    tw_param p = tw_param_init();
    tw_value v;
    size_t at = 0;
    for (int i = 0; tw_kernel_param(j->kernel, i, &p) == TW_OK; i++) {
        char value[32];
        if (p.is_pointer || at >= sizeof row->sizes ||
            tw_launch_value(j->launch, p.name, &v) != TW_OK)
            continue;
        format_scalar(value, sizeof value, v, p.dtype);
        at += (size_t)snprintf(row->sizes + at, sizeof row->sizes - at, "%s%s = %s", at ? ", " : "",
                               p.name, value);
    }
}

static void describe(struct cpu_job *j)
{
    struct bench_row *r = &j->row;
    r->m = bench_size_of(j->launch, "m", 0);
    r->n = bench_size_of(j->launch, "n", 0);
    r->k = bench_size_of(j->launch, "k", 0);
    r->batch = bench_size_of(j->launch, "batch", 1);
    bench_write_config(r->config, sizeof r->config, j->launch, j->kernel);
    describe_sizes(j);
}

static void find_operands(struct cpu_job *j)
{
    const struct product_of *p = &j->entry->product;
    const struct bench_row *r = &j->row;
    j->a = &j->arrays.list[p->a];
    j->b = &j->arrays.list[p->b];
    j->c = &j->arrays.list[p->c];
    j->gemm = (struct gemm){.a = j->a->array.dtype,
                            .b = j->b->array.dtype,
                            .c = j->c->array.dtype,
                            .m = r->m,
                            .n = r->n,
                            .k = r->k,
                            .batch = r->batch,
                            .a_turned = p->a_turned,
                            .b_turned = p->b_turned};
    tw_launch_unit_terms(j->launch, &j->gemm.unit_terms); /* it has compiled */
}

/* Creates the arrays for the launch. */
static tw_status fill(struct cpu_job *j)
{
    struct bench_row *r = &j->row;
    tw_status s = tw_launch_prepare(j->launch);
    if (s != TW_OK)
        return s;
    r->dtype = bench_type_read(j->launch, j->kernel);
    s = operands_make(&j->arrays, j->launch, j->kernel, 1,
                      product_scale(j->entry->takes_sizes ? r->k : 0, r->dtype));
    if (s == TW_OK && j->entry->is_product)
        find_operands(j);
    return s;
}

static void give_up(struct cpu_job *j)
{
    tw_launch_free(j->launch);
    j->launch = NULL;
}

int cpu_job_open(struct cpu_job *j, struct cpu_bench *b, const struct bench_entry *e,
                 const struct shape *shape, tw_dtype dtype)
{
    *j = (struct cpu_job){.bench = b, .entry = e};
    j->row =
        (struct bench_row){.is_product = e->is_product, .dtype = dtype, .batch = 1, .best = -1};
    int status;
    tw_status s = bench_launch(e, b->rest, shape, dtype, &j->row, &j->kernel, &j->launch, &status);
    progress_clear(&b->progress);
    if (status != STATUS_OK)
        return status;
    if (s == TW_OK)
        describe(j);
    char *missing = s == TW_OK ? missing_scalars(j->launch, j->kernel) : NULL;
    if (missing) {
        snprintf(j->row.why, sizeof j->row.why, "needs --set %s", missing);
        j->row.result = BENCH_SKIPPED;
    } else {
        s = s == TW_OK ? fill(j) : s;
        if (s != TW_OK)
            judge_failure(j, s);
    }
    if (missing || s != TW_OK)
        give_up(j);
    free(missing);
    return STATUS_OK;
}

void cpu_job_close(struct cpu_job *j)
{
    for (int i = 0; i < PEERS; i++) {
        if (j->peers[i].plan.peer)
            peer_plan_close(&j->peers[i].plan);
        free(j->peers[i].c);
    }
    copier_close(j->copier);
    values_samples_free(j->samples);
    values_norms_free(&j->norms);
    operands_free(&j->arrays);
    give_up(j);
}

/* --- rounds --- */

static bool run_ours(struct cpu_contender *t)
{
    struct cpu_job *j = t->user;
    struct cpu_bench *b = j->bench;
    b->deadline.at = seconds_now() + b->timeout;
    j->status = tw_launch_run(j->launch);
    b->deadline.at = 0;
    return j->status == TW_OK;
}

static bool run_peer(struct cpu_contender *t)
{
    struct cpu_peer *p = t->user;
    bool ok = peer_plan_run(&p->plan);
    if (!ok)
        snprintf(p->why, sizeof p->why, "%s", p->plan.peer->why);
    return ok;
}

static bool run_copy(struct cpu_contender *t)
{
    copier_run(t->user);
    return true;
}

static bool open_peer(struct cpu_job *j, int i)
{
    struct peer *peer = &j->bench->peers.list[i];
    struct cpu_peer *p = &j->peers[i];
    if (!peer->handle)
        return false;
    p->c = array_memory(tensor_bytes(&j->c->array));
    if (!p->c)
        snprintf(p->why, sizeof p->why, "no memory");
    else if (!peer_plan_open(&p->plan, peer, &j->gemm, j->a->array.data, j->b->array.data, p->c))
        snprintf(p->why, sizeof p->why, "%s", peer->why);
    p->contender = (struct cpu_contender){.run = run_peer, .user = p, .name = peer->name};
    return !*p->why;
}

static bool same_bytes(const struct operand *x, const struct operand *y)
{
    size_t bytes = tensor_bytes(&x->array);
    return bytes == tensor_bytes(&y->array) && memcmp(x->array.data, y->array.data, bytes) == 0;
}

/* Returns an earlier job with the same product, whose peers this job can share, or NULL. */
static struct cpu_job *same_product(struct cpu_job *jobs, struct cpu_job *j)
{
    for (struct cpu_job *other = jobs; other < j; other++)
        if (other->launch && other->entry->is_product && !other->beside &&
            memcmp(&other->gemm, &j->gemm, sizeof j->gemm) == 0 && same_bytes(other->a, j->a) &&
            same_bytes(other->b, j->b))
            return other;
    return NULL;
}

static void add(struct cpu_rounds *x, struct cpu_contender *t)
{
    ADD_TO(x->list, x->count, t);
}

static void add_turns(struct cpu_rounds *x, struct cpu_job *jobs, struct cpu_job *j)
{
    struct cpu_bench *b = j->bench;
    j->ours = (struct cpu_contender){
        .run = run_ours, .user = j, .name = j->row.kernel, .is_kernel = true};
    add(x, &j->ours);
    if (!j->entry->is_product) {
        j->copier = copier_open((size_t)operands_bytes(&j->arrays), b->threads);
        j->copy = (struct cpu_contender){.run = run_copy, .user = j->copier, .name = "copy"};
        if (j->copier)
            add(x, &j->copy);
        return;
    }
    j->beside = same_product(jobs, j);
    for (int i = 0; i < b->peers.count && !j->beside; i++)
        if (open_peer(j, i))
            add(x, &j->peers[i].contender);
}

/* --- values --- */

/* Makes one more run, on unwritten outputs. The verdict on a kernel that adds to its outputs
 * needs exactly one run. */
static bool run_clean(struct cpu_job *j)
{
    operands_start(&j->arrays, j->bench->rest);
    if (run_ours(&j->ours))
        return true;
    judge_failure(j, j->status);
    return false;
}

static struct factor factor_of(const struct operand *o)
{
    return (struct factor){o->array.dtype, o->array.data, tensor_elements(&o->array)};
}

/* Compares with the samples. ours: the kernel's values, not a library's. */
static struct value_check check_samples(struct cpu_job *j, const void *c, bool ours)
{
    struct gemm g = j->gemm;
    struct factor a = factor_of(j->a), b = factor_of(j->b);
    if (!j->samples)
        j->samples = values_samples(&j->gemm, &a, &b);
    g.unit_terms = ours ? g.unit_terms : 0;
    return values_check(&g, j->samples, c, false);
}

static struct value_check compare_with(struct cpu_job *j, const void *theirs)
{
    struct factor a = factor_of(j->a), b = factor_of(j->b);
    if (!j->norms.rows)
        j->norms = values_norms(&j->gemm, &a, &b);
    return values_compare(&j->gemm, &j->norms, NULL, j->c->array.data, theirs);
}

static void check_ours(struct cpu_job *j)
{
    struct bench_row *r = &j->row;
    const struct gemm *g = &j->gemm;
    bool alone = j->entry->is_product && j->entry->product.alone;
    double work = (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    tw_verdict v = tw_verdict_init();
    r->result = BENCH_UNCHECKED;
    if (!tw_kernel_has_ensures(j->kernel))
        return;
    if (!alone || work <= ensures_most || j->bench->all_ensures) {
        tw_status s = tw_launch_verify(j->launch, &v);
        bench_take_verdict(r, j->entry->program->ctx, s, &v);
        if (s == TW_WRONG_VALUES)
            operands_right_on_zeros(&j->arrays, j->launch, j->bench->rest, r->why, sizeof r->why);
        return;
    }
    struct value_check c = check_samples(j, j->c->array.data, true);
    r->result = BENCH_PASS;
    bench_take_samples(r, &c);
}

static void say_wrong(struct library_row *l, const struct value_check *v)
{
    l->wrong = true;
    snprintf(l->note, sizeof l->note,
             "its values are wrong: element %lld of C is off by %.3g, %.3g is allowed",
             (long long)v->at, v->worst_error, v->tolerance);
}

/* Checks a library's values against the reference. If the kernel computes only the product, also
 * compares them with the kernel's values, element by element. The reference is sampled, so if
 * both seemed right and they differ, the kernel's values are wrong. */
static void check_peer(struct cpu_job *j, const void *theirs, struct library_row *l)
{
    char with[160];
    struct value_check v = check_samples(j, theirs, false);
    if (!v.ok) {
        say_wrong(l, &v);
        return;
    }
    if (!j->entry->product.alone || j->row.result == BENCH_FAIL)
        return;
    v = compare_with(j, theirs);
    snprintf(with, sizeof with, "all elements compared with %s's", l->name);
    if (!v.ok && j->row.all_ensured)
        say_wrong(l, &v);
    else
        bench_take_check(&j->row, &v, with);
}

/* --- the rows --- */

static void take_peers(struct cpu_job *j, const struct cpu_rounds *x)
{
    const struct cpu_job *from = j->beside ? j->beside : j;
    struct bench_row *r = &j->row;
    for (int i = 0; i < j->bench->peers.count; i++) {
        const struct cpu_peer *p = &from->peers[i];
        const struct peer *peer = &j->bench->peers.list[i];
        struct library_row *l = &r->peers[i];
        snprintf(l->name, sizeof l->name, "%s", peer->name);
        snprintf(l->note, sizeof l->note, "%s", *p->why || peer->handle ? p->why : peer->why);
        l->tried = p->contender.run && (!*p->why || p->contender.failed);
        if (*l->note || p->contender.failed)
            continue;
        l->ms = cpu_contender_ms(x, &p->contender);
        l->least_ms = cpu_contender_least_ms(x, &p->contender);
        l->ratio = cpu_contender_ratio(x, &j->ours, &p->contender);
        check_peer(j, p->c, l);
        if (!l->wrong && (r->best < 0 || l->ratio < r->peers[r->best].ratio))
            r->best = i;
    }
}

static void take_copy(struct cpu_job *j, const struct cpu_rounds *x)
{
    struct library_row *l = &j->row.peers[0];
    if (!j->copier)
        return;
    snprintf(l->name, sizeof l->name, "copy");
    l->ms = cpu_contender_ms(x, &j->copy);
    l->least_ms = cpu_contender_least_ms(x, &j->copy);
    l->ratio = cpu_contender_ratio(x, &j->ours, &j->copy);
    j->row.best = 0;
}

static void take_job(struct cpu_job *j, const struct cpu_rounds *x)
{
    struct bench_row *r = &j->row;
    const struct gemm *g = &j->gemm;
    if (j->ours.failed) {
        judge_failure(j, j->status);
        return;
    }
    r->runs = x->rounds;
    r->ms = cpu_contender_ms(x, &j->ours);
    r->least_ms = cpu_contender_least_ms(x, &j->ours);
    r->gbytes = operands_bytes(&j->arrays) / r->ms * 1e-6;
    if (j->entry->is_product)
        r->gflops =
            2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch / r->ms * 1e-6;
    progress_step(&j->bench->progress, "%s: comparing values", r->kernel);
    if (!run_clean(j))
        return;
    check_ours(j);
    if (j->entry->is_product)
        take_peers(j, x);
    else
        take_copy(j, x);
}

void cpu_jobs_run(struct cpu_bench *b, struct cpu_job *jobs, int count)
{
    struct cpu_rounds x = {.warmup = b->warmup,
                           .repeat = b->repeat,
                           .pause = b->threads > 1,
                           .progress = &b->progress};
    for (struct cpu_job *j = jobs; j < jobs + count; j++)
        if (j->launch) {
            add_turns(&x, jobs, j);
            x.time_limit += b->time_limit;
        }
    cpu_rounds_time(&x);
    for (struct cpu_job *j = jobs; j < jobs + count; j++)
        if (j->launch)
            take_job(j, &x);
    cpu_rounds_close(&x);
}

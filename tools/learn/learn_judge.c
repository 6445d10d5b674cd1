#include "learn/learn_judge.h"
#include "learn/learn_allowance.h"
#include "learn/learn_judged.h"
#include "learn/learn_limits.h"
#include "learn/learn_text.h"
#include "cli/target.h"
#include "cli/tensor.h"
#include "cli/doing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that fill unwritten memory. As f32 they are 0, 195.3, -391.5 and NaN; as integers they
 * are large. A sum, a maximum or a minimum that starts from them is wrong with at least one of
 * them. */
enum { CLEAN = 0, ABOVE = 0x43, BELOW = 0xc3, NANS = 0xff };
/* Instructions that a run may take for each of the solution's, and at least. */
enum { STEPS_EACH = 100, STEPS_LEAST = 200000 };
/* Steps of one long attempt by the static check; the simulator finds what remains undecided. */
enum { CHECK_STEPS = 200000 };

struct judge {
    const struct judge_options *given;
    struct judgement *out;
    struct cases cases;
    tw_context *ctx;
    struct answer reference; /* solution.tile: sizes, and expected values */
    struct answer solution;  /* in the answer's language: counters */
    struct answer answer;
    struct case_at_hand at;
    struct limits limits;
    int64_t step_limit;
    struct allowance allowance;
    int beyond;    /* first default limit that some case exceeds; -1: none */
    int beyond_in; /* the first such case */
    bool printing;
    char *wrong_shown;       /* wrong element of the shown run; NULL: none */
    const char *read_output; /* unwritten output that affects values; NULL: none */
    unsigned char **first;   /* outputs after the first simulated run with that fill */
};

static void take_printed(void *user, const char *text, size_t length)
{
    enum { MOST = 4000 };
    struct judge *j = user;
    j->out->prints = true;
    if (j->printing && (!j->out->printed || strlen(j->out->printed) < MOST))
        append_text(&j->out->printed, "%.*s", (int)length, text);
}

/* --- the answer before it runs --- */

static void look_at_ensures(struct judge *j)
{
    const char *starter = j->given->puzzle->starter[LANGUAGE_TILE];
    j->out->own_ensures = answer_text_ensures_differ(j->answer.text, starter ? starter : "");
}

static void keep_warnings(struct judge *j)
{
    const char *text =
        j->answer.language == LANGUAGE_CUDA ? j->answer.said : tw_context_messages(j->ctx);
    if (text && *text && !j->out->warnings)
        j->out->warnings = need_text("%s", text);
}

/* Reports a problem in the puzzle's own programs, which is a mistake of this project. */
static int our_mistake(struct judge *j, const char *what, const struct problems *p)
{
    const struct problem *first = p ? problems_first(p) : NULL;
    if (allowance_broken_off()) /* no mistake then */
        return STATUS_USAGE;
    complain(NULL, "puzzle %d is broken: %s%s%s", j->given->puzzle->number, what, first ? ": " : "",
             first ? first->text : "");
    return STATUS_USAGE;
}

/* Returns the text's hash (FNV-1a), so that the same answer always gets the same random cases. */
static uint64_t seed_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static int open_ours(struct judge *j)
{
    const struct puzzle *p = j->given->puzzle;
    struct problems problems = {0};
    if (!p->answer[LANGUAGE_TILE] || !p->cases)
        return our_mistake(j, "it has no solution.tile, or no cases", NULL);
    char *wrong = cases_read(&j->cases, p->cases, seed_of(j->given->text));
    int status = wrong ? our_mistake(j, wrong, NULL) : STATUS_OK;
    free(wrong);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        struct answer *a = i ? &j->solution : &j->reference;
        enum language language = i ? j->given->language : LANGUAGE_TILE;
        answer_begin(a, language, NULL, need_text("%s", p->answer[language]), j->ctx);
        a->compiler = j->given->compiler;
        if (language != LANGUAGE_TILE)
            continue;
        if (!answer_open(a, NULL, &problems))
            status = our_mistake(j, "its solution", &problems);
    }
    j->solution.simulated_only = true;
    problems_free(&problems);
    return status;
}

static void open_answer(struct judge *j)
{
    struct answer *a = &j->answer;
    struct problems *problems = &j->out->problems;
    answer_begin(a, j->given->language, j->given->path, need_text("%s", j->given->text), j->ctx);
    a->compiler = j->given->compiler;
    if (answer_text_is_blank(a->text, a->language))
        problems_add(problems, REASON_SIGNATURE,
                     need_text("error: %s is empty%s\n", a->path,
                               *a->text ? ": it has blanks and comments alone" : ""));
    else
        answer_text_check(a, &j->cases, problems);
    if (a->language == LANGUAGE_CUDA || problems->count)
        return;
    if (!answer_open(a, tw_kernel_name(j->reference.kernel), problems))
        return;
    keep_warnings(j);
    look_at_ensures(j);
    answer_fits(a, j->reference.kernel, &j->cases, problems);
}

/* --- a case --- */

/* Gives the case's values to the solution's launch. Returns NULL, or a message; the caller
 * frees. */
static char *set_sizes(struct judge *j, tw_launch *l)
{
    const struct puzzle_case *c = j->at.at;
    for (int i = 0; i < c->count; i++) {
        const struct binding *b = &c->list[i];
        tw_value v;
        bool is_pointer = false;
        tw_param p = tw_param_init();
        for (int k = 0; tw_kernel_param(j->reference.kernel, k, &p) == TW_OK; k++)
            is_pointer = is_pointer || (p.is_pointer && strcmp(p.name, b->name) == 0);
        if (is_pointer)
            continue;
        tw_dtype t = tw_dtype_from_name(b->text);
        tw_status s;
        if (t != TW_DTYPE_NONE)
            s = tw_launch_type(l, b->name, t);
        else if (!parse_scalar(b->text, &v))
            return need_text("%s=%s: expected a number, or a type", b->name, b->text);
        else if ((s = tw_launch_set(l, b->name, v)) != TW_OK)
            s = tw_launch_tune(l, b->name, v);
        if (s != TW_OK)
            return need_text("%s=%s: %s", b->name, b->text, tw_context_messages(j->ctx));
    }
    if (tw_launch_prepare(l) != TW_OK)
        return need_text("%s", tw_context_messages(j->ctx));
    return NULL;
}

/* Runs the solution to find the expected outputs. */
static char *run_reference(struct judge *j)
{
    case_arrays_start(&j->at.arrays, CLEAN);
    if (case_arrays_give(&j->at.arrays, j->at.launch) != TW_OK ||
        tw_launch_run(j->at.launch) != TW_OK || tw_launch_verify(j->at.launch, NULL) != TW_OK)
        return need_text("%s", tw_context_messages(j->ctx));
    case_arrays_expect(&j->at.arrays);
    return NULL;
}

/* Counts the solution's work. */
static int run_solution(struct judge *j)
{
    struct problems problems = {0};
    tw_sim_result result = tw_sim_result_init();
    int status = answer_take(&j->solution, &j->at, &problems);
    case_arrays_start(&j->at.arrays, CLEAN);
    if (status == STATUS_OK && !problems.count)
        answer_run(&j->solution, &(struct answer_run){.watch = TW_WATCH_COUNTERS}, &result,
                   &problems);
    if (status == STATUS_OK && problems_have(&problems, REASON_COMPILE) &&
        j->solution.language == LANGUAGE_CUDA) {
        complain(NULL, "%s does not compile CUDA C here: %s",
                 j->given->compiler ? j->given->compiler : "the compiler",
                 problems_first(&problems)->text);
        status = STATUS_USAGE;
    } else if (status == STATUS_OK && problems.count) {
        status = our_mistake(j, "its solution", &problems);
    }
    limits_take(&j->limits.of_solution, result.counted);
    j->step_limit = STEPS_LEAST + STEPS_EACH * result.warp_instructions;
    problems_free(&problems);
    return status;
}

/* Prepares a case: its sizes, and with `data` also its arrays and expected outputs. Returns
 * NULL, or a message. */
static char *lay_out_case(struct judge *j, int index, bool data)
{
    struct case_at_hand *c = &j->at;
    struct judged_case *judged = &j->out->judged[index];
    tw_launch_free(c->launch);
    case_arrays_free(&c->arrays);
    *c = (struct case_at_hand){
        .cases = &j->cases, .at = &j->cases.list[index], .kernel = j->reference.kernel};
    if (tw_launch_new(c->kernel, &c->launch) != TW_OK)
        return need_text("%s", tw_context_messages(j->ctx));
    char *wrong = set_sizes(j, c->launch);
    judged_case_free(judged);
    judged->shown = c->at->shown;
    if (!wrong)
        case_list_sizes(c, judged);
    if (!wrong && data)
        wrong = case_arrays_make(&c->arrays, c->kernel, c->launch, c->at, 1 + 16 * (uint64_t)index);
    if (!wrong && data)
        wrong = run_reference(j);
    return wrong;
}

static int begin_case(struct judge *j, int index)
{
    char *wrong = lay_out_case(j, index, true);
    int status = wrong ? our_mistake(j, wrong, NULL) : run_solution(j);
    free(wrong);
    free(j->out->sizes);
    j->out->sizes = case_sizes(&j->at, &j->out->judged[index]);
    j->out->shown = j->at.at->shown;
    j->out->tried = index + 1;
    return status;
}

/* --- values --- */

static char *place_in(const tw_verdict *v)
{
    char *text = need_text("%s", v->view);
    for (int i = 0; i < v->rank; i++)
        append_text(&text, "[%lld]", (long long)v->at[i]);
    return text;
}

/* Returns "Out[3] is 0, and should be 2.5". */
static char *wrong_text(const tw_verdict *v)
{
    char *place = place_in(v);
    char *text = need_text("%s is %.9g, and should be %.9g", place,
                           isnan(v->got) ? fabs(v->got) : v->got, v->want);
    free(place);
    return text;
}

/* Returns the output without data that the answer reads nevertheless, or NULL if there is none.
 * `how` is a run that differs from the first, whose arrays are shown, only in its unwritten
 * memory. */
static const char *read_output(const struct judge *j, const struct answer_run *how, int byte)
{
    if (how->seed || how->on_cpu != (j->answer.language == LANGUAGE_TILE))
        return NULL;
    const struct judged_case *c = judgement_case(j->out);
    for (int i = 0; i < c->array_count; i++)
        if (case_array_remembers(&j->at.arrays.list[i], byte, c->arrays[i].array.data))
            return c->arrays[i].name;
    return NULL;
}

/* Notes unwritten elements, else a wrong element, preferably of the run whose arrays are shown. */
static void note_wrong(struct judge *j, const tw_verdict *v, const struct answer_run *how, int byte)
{
    struct judgement *out = j->out;
    if (out->wrong_values)
        return;
    j->read_output = read_output(j, how, byte);
    for (int i = 0; i < j->at.arrays.count && !j->read_output; i++) {
        const struct case_array *a = &j->at.arrays.list[i];
        if (a->param.is_const)
            continue;
        bool *marks = judgement_case(out)->arrays[i].unwritten;
        int64_t n = tensor_elements(&a->array), unwritten = case_array_unwritten(a, byte, marks);
        if (!unwritten)
            continue;
        append_text(&out->wrong_values, "%s%lld of the %lld elements of %s %s never written",
                    out->wrong_values ? "; " : "", (long long)unwritten, (long long)n,
                    a->param.name, unwritten == 1 ? "is" : "are");
    }
    if (out->wrong_values)
        return;
    out->wrong_values = j->wrong_shown ? need_text("%s", j->wrong_shown) : wrong_text(v);
    if (out->right)
        append_text(&out->wrong_values, "; it was right only where the output held zeros before");
}

/* Compares the outputs by the solution's `ensures`. */
static bool compare(struct judge *j, const struct answer_run *how, int byte)
{
    tw_verdict v = tw_verdict_init();
    const struct case_array *input = case_arrays_overwritten(&j->at.arrays);
    if (input) {
        if (!problems_have(&j->out->problems, REASON_INPUT))
            problems_add(
                &j->out->problems, REASON_INPUT,
                need_text("error: `%s` is not what it was before the run\n", input->param.name));
        return false;
    }
    tw_status s = tw_launch_verify(j->at.launch, &v);
    if (s == TW_WRONG_VALUES && byte != CLEAN)
        note_wrong(j, &v, how, byte);
    else if (s == TW_WRONG_VALUES && !j->out->ran)
        j->wrong_shown = wrong_text(&v);
    return s == TW_OK;
}

/* Keeps the arrays of the present case; with `known`, also the outputs of the answer. */
static void show_arrays(struct judge *j, int index, bool known, bool right)
{
    judged_case_arrays(&j->out->judged[index], &j->at.arrays, known);
    if (known && !right)
        tw_launch_each_wrong(j->at.launch, judged_case_wrong, &j->out->judged[index]);
}

/* --- runs --- */

/* Returns whether the outputs are bitwise equal to those of the first run that came here. */
static bool same_as_first(struct judge *j)
{
    struct case_arrays *x = &j->at.arrays;
    bool same = true, is_first = !j->first;
    if (is_first)
        j->first = need_memory((size_t)x->count * sizeof *j->first);
    for (int i = 0; i < x->count; i++) {
        size_t bytes = tensor_bytes(&x->list[i].array);
        if (is_first) {
            j->first[i] = need_memory(bytes);
            memcpy(j->first[i], x->list[i].array.data, bytes);
        }
        same = same && memcmp(j->first[i], x->list[i].array.data, bytes) == 0;
    }
    return same;
}

static void forget_first(struct judge *j)
{
    for (int i = 0; j->first && i < j->at.arrays.count; i++)
        free(j->first[i]);
    free(j->first);
    j->first = NULL;
}

/* Makes one run. Returns whether another run is useful. */
static bool run_once(struct judge *j, const struct answer_run *how, int byte)
{
    struct judgement *out = j->out;
    tw_sim_result result = tw_sim_result_init();
    case_arrays_start(&j->at.arrays, byte);
    allowance_begin_run(&j->allowance);
    bool ended = answer_run(&j->answer, how, &result, &out->problems);
    allowance_end_run(&j->allowance);
    if (how->watch & TW_WATCH_COUNTERS)
        limits_take(&j->limits.of_answer, result.counted);
    if (!ended)
        return false;
    bool right = compare(j, how, byte);
    if (!out->ran)
        show_arrays(j, out->tried - 1, true, right);
    out->right = right && (!out->ran || out->right);
    out->ran = true;
    if (j->cases.same && !how->on_cpu && byte != CLEAN && !same_as_first(j) && right &&
        !problems_have(&out->problems, REASON_ORDER))
        problems_add(&out->problems, REASON_ORDER,
                     need_text("error: in another order of blocks and warps the values are others, "
                               "if only in their last digits\n"));
    return true;
}

/* Runs a case: first on zeroed memory, for the shown arrays; then on memory with other contents,
 * in turn, and in random orders with asynchronous copies at once and late. */
static void run_case(struct judge *j)
{
    static const int bytes[] = {ABOVE, NANS, BELOW, ABOVE};
    enum { SIMULATED = sizeof bytes / sizeof *bytes };
    bool tile = j->answer.language == LANGUAGE_TILE;
    unsigned by_thread = answer_by_thread(&j->answer) ? TW_WATCH_EXITS : 0;
    j->printing = j->out->tried == 1;
    bool more = run_once(j,
                         &(struct answer_run){.on_cpu = tile,
                                              .watch = TW_WATCH_CHECKS | by_thread,
                                              .step_limit = j->step_limit},
                         CLEAN);
    j->printing = false;
    if (!more && tile && problems_have(&j->out->problems, REASON_ENDLESS)) /* for the line */
        run_once(
            j,
            &(struct answer_run){.watch = TW_WATCH_CHECKS | by_thread, .step_limit = j->step_limit},
            CLEAN);
    if (more && tile)
        more = run_once(j, &(struct answer_run){.on_cpu = true}, ABOVE);
    for (int i = 0; i < SIMULATED && more; i++) {
        struct answer_run how = {.watch = (i ? TW_WATCH_CHECKS : TW_WATCH_ALL) | by_thread,
                                 .seed = (uint64_t)i,
                                 .late = i >= SIMULATED / 2,
                                 .step_limit = j->step_limit};
        more = run_once(j, &how, bytes[i]);
    }
    if (j->read_output && !problems_have(&j->out->problems, REASON_UNINITIALISED))
        append_text(&j->out->wrong_values, "; %s is read before it is given a value",
                    j->read_output);
    if (j->out->wrong_values)
        problems_add(&j->out->problems, REASON_VALUES,
                     need_text("error: %s\n", j->out->wrong_values));
    forget_first(j);
    free(j->wrong_shown);
    j->wrong_shown = NULL;
    j->read_output = NULL;
}

/* --- limits --- */

static int check_limits(struct judge *j, int index, bool defaults)
{
    struct judgement *out = j->out;
    int beyond;
    if (out->prints) {
        limits_count_silently(&j->limits, &j->answer, &j->at, j->step_limit);
        out->prints_count = !j->limits.is_silent;
    }
    if (cases_have_limit(&j->cases, "resident_warps"))
        limits_count_warps(&j->limits, &j->answer, &j->solution);
    char *wrong = limits_check(&j->limits, &j->answer, &j->at, defaults, &beyond, out);
    if (beyond >= 0 && (j->beyond < 0 || beyond < j->beyond)) {
        j->beyond = beyond;
        j->beyond_in = index;
    }
    int status = wrong ? our_mistake(j, wrong, NULL) : STATUS_OK;
    free(wrong);
    return status;
}

static void check_launch(struct judge *j)
{
    int64_t mine, theirs;
    int threads, of_solution;
    if (j->cases.launch_free || j->answer.language == LANGUAGE_CUDA ||
        !answer_launch(&j->answer, &mine, &threads) ||
        !answer_launch(&j->solution, &theirs, &of_solution))
        return;
    if (mine != theirs || threads != of_solution)
        problems_add(&j->out->problems, REASON_LAUNCH,
                     need_text("error: it has %lld block%s of %d threads; the puzzle has %lld of "
                               "%d\n",
                               (long long)mine, mine == 1 ? "" : "s", threads, (long long)theirs,
                               of_solution));
}

/* --- all cases --- */

static int run_and_check(struct judge *j, int index, bool defaults)
{
    struct judgement *out = j->out;
    int status = answer_take(&j->answer, &j->at, &out->problems);
    if (status != STATUS_OK || out->problems.count)
        return status;
    keep_warnings(j);
    check_launch(j);
    if (out->problems.count)
        return STATUS_OK;
    run_case(j);
    return out->problems.count ? STATUS_OK : check_limits(j, index, defaults);
}

static int judge_case(struct judge *j, int index, bool defaults)
{
    struct judgement *out = j->out;
    struct judged_case *judged = &out->judged[index];
    out->ran = out->right = false;
    int status = begin_case(j, index);
    if (status == STATUS_OK)
        status = run_and_check(j, index, defaults);
    if (status != STATUS_OK)
        return status;
    judged->state = out->problems.count ? CASE_FAILED : CASE_PASSED;
    if (judged->shown && !judged->array_count)
        show_arrays(j, index, false, false);
    if (!judged->shown && judged->state == CASE_PASSED)
        judged_case_forget(judged);
    return STATUS_OK;
}

/* Prepares the cases after the failed one: sizes, and for shown cases inputs and expected
 * outputs. */
static void lay_out_rest(struct judge *j)
{
    for (int i = 0; i < j->out->cases; i++) {
        struct judged_case *judged = &j->out->judged[i];
        if (judged->state != CASE_NOT_TRIED)
            continue;
        bool shown = j->cases.list[i].shown;
        char *wrong = lay_out_case(j, i, shown);
        if (!wrong && shown)
            show_arrays(j, i, false, false);
        bool stopped = wrong;
        free(wrong);
        if (stopped)
            return;
    }
}

static void begin_judged(struct judge *j)
{
    struct judgement *out = j->out;
    out->cases = j->cases.count;
    out->judged = need_memory((size_t)out->cases * sizeof *out->judged);
    memset(out->judged, 0, (size_t)out->cases * sizeof *out->judged);
}

static int judge_all(struct judge *j)
{
    struct judgement *out = j->out;
    int status = open_ours(j);
    if (status != STATUS_OK)
        return status;
    out->counter_count = j->cases.limit_count;
    out->counters = need_memory((size_t)out->counter_count * sizeof *out->counters);
    for (int i = 0; i < out->counter_count; i++) {
        const struct counter_limit *l = &j->cases.limits[i];
        out->counters[i] = (struct counted){.counter = need_text("%s", l->counter),
                                            .why = need_text("%s", l->why),
                                            .at_least = l->at_least,
                                            .by_default = l->by_default};
    }
    begin_judged(j);
    const char *starter = j->given->puzzle->starter[j->given->language];
    out->is_starter = starter && strcmp(starter, j->given->text) == 0;
    open_answer(j);
    for (int i = 0; i < out->cases && status == STATUS_OK; i++) {
        if (out->problems.count || allowance_broken_off())
            break;
        status = judge_case(j, i, false);
    }
    /* The puzzle's own limits come first, in all cases; then the amount of work. */
    if (status == STATUS_OK && !out->problems.count && j->beyond >= 0 && !allowance_broken_off()) {
        if (j->beyond_in == 0) { /* which prints once more */
            free(out->printed);
            out->printed = NULL;
        }
        status = judge_case(j, j->beyond_in, true);
    }
    allowance_explain(&j->allowance, &out->problems);
    if (status == STATUS_OK && j->given->all_cases && !allowance_is_over(&j->allowance))
        lay_out_rest(j);
    out->passed = status == STATUS_OK && !out->problems.count;
    return status;
}

/* Begins a judgement. Returns STATUS_OK, or another status after printing a message. The caller
 * calls end_judge in either case. */
static int begin_judge(struct judge *j, const struct judge_options *o, struct judgement *out)
{
    *j = (struct judge){.given = o, .out = out, .beyond = -1};
    tw_config config = {.size = sizeof config,
                        .resize = allowance_resize,
                        .resize_user = &j->allowance,
                        .threads = 1, /* so that processor time is run time */
                        .print = take_printed,
                        .print_user = j,
                        .cancelled = allowance_is_over,
                        .cancelled_user = &j->allowance,
                        .progress = doing_told,
                        .colour = o->colour,
                        .check_steps = CHECK_STEPS};
    *out = (struct judgement){.sizes = need_text("%s", "")};
    allowance_begin(&j->allowance);
    j->allowance.shows_work = on_terminal(stderr);
    if (tw_context_new(&config, &j->ctx) == TW_OK)
        return STATUS_OK;
    complain(NULL, "%s", tw_status_text(TW_NO_MEMORY));
    return STATUS_FAILED;
}

static void end_judge(struct judge *j)
{
    tw_launch_free(j->at.launch);
    case_arrays_free(&j->at.arrays);
    answer_end(&j->reference);
    answer_end(&j->solution);
    answer_end(&j->answer);
    cases_free(&j->cases);
    limits_free(&j->limits);
    tw_context_free(j->ctx);
    allowance_end(&j->allowance);
}

int judge(const struct judge_options *o, struct judgement *out)
{
    struct judge j;
    int status = begin_judge(&j, o, out);
    doing("judging the answer", NULL);
    if (status == STATUS_OK)
        status = judge_all(&j);
    end_judge(&j);
    doing(NULL, NULL);
    return status;
}

/* --- one case alone --- */

static int lay_out_alone(struct judge *j, int number, const struct puzzle_case *sizes)
{
    int status = open_ours(j), index = number - 1;
    if (status != STATUS_OK)
        return status;
    if (index < 0 || index >= j->cases.count) {
        complain(NULL, "--case %d: puzzle %d has cases 1 to %d", number, j->given->puzzle->number,
                 j->cases.count);
        return STATUS_USAGE;
    }
    begin_judged(j);
    for (int i = 0; i < sizes->count; i++)
        case_bind(&j->cases.list[index], sizes->list[i].name, sizes->list[i].text);
    char *wrong = lay_out_case(j, index, true);
    if (!wrong) {
        case_arrays_start(&j->at.arrays, CLEAN);
        show_arrays(j, index, true, true);
    } else if (sizes->count) {
        complain(NULL, "--set: %s", wrong);
        status = STATUS_USAGE;
    } else {
        status = our_mistake(j, wrong, NULL);
    }
    free(wrong);
    return status;
}

int judge_lay_out(const struct judge_options *o, int number, const struct puzzle_case *sizes,
                  struct judged_case *out, int *cases)
{
    struct judge j;
    struct judgement all;
    *out = (struct judged_case){0};
    int status = begin_judge(&j, o, &all);
    if (status == STATUS_OK)
        status = lay_out_alone(&j, number, sizes);
    *cases = all.cases;
    if (status == STATUS_OK) {
        *out = all.judged[number - 1];
        all.judged[number - 1] = (struct judged_case){0};
    }
    judgement_free(&all);
    end_judge(&j);
    return status;
}

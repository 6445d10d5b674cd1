#include "learn/learn_problems.h"
#include "cli/findings.h"

#include <stdlib.h>
#include <string.h>

static struct problem *add(struct problems *all, enum reason reason)
{
    struct problem *p = ADD_NEW(all->list, all->count);
    *p = (struct problem){.reason = reason};
    return p;
}

void problems_add(struct problems *all, enum reason reason, char *text)
{
    add(all, reason)->text = text;
}

void problems_add_at(struct problems *all, enum reason reason, const char *file, int line,
                     char *text)
{
    struct problem *p = add(all, reason);
    p->text = text;
    p->file = need_text("%s", file);
    p->line = line;
}

/* --- by message --- */

/* Returns the reason of a code if it differs from `other`, the reason of the call's status. */
static enum reason reason_of_code(tw_code code, enum reason other)
{
    static const struct {
        tw_code code;
        enum reason reason;
    } known[] = {
        {TW_CODE_TARGET, REASON_COMPILE},        {TW_CODE_RACE, REASON_RACE},
        {TW_CODE_VOLATILE_RACE, REASON_RACE},    {TW_CODE_SCOPE, REASON_RACE},
        {TW_CODE_SAME_VALUE, REASON_RACE},       {TW_CODE_ASYNC_RACE, REASON_ASYNC},
        {TW_CODE_ASYNC_PENDING, REASON_ASYNC},   {TW_CODE_DIVERGENT, REASON_BARRIER},
        {TW_CODE_BARRIER_COUNT, REASON_BARRIER}, {TW_CODE_MIXED, REASON_BARRIER},
        {TW_CODE_BARRIER_ID, REASON_BARRIER},    {TW_CODE_WARP_SYNC, REASON_BARRIER},
        {TW_CODE_EXITED, REASON_BARRIER},        {TW_CODE_DEADLOCK, REASON_BARRIER},
        {TW_CODE_MBARRIER, REASON_BARRIER},      {TW_CODE_OUTSIDE, REASON_BOUNDS},
        {TW_CODE_INSIDE, REASON_BOUNDS},         {TW_CODE_MISALIGNED, REASON_BOUNDS},
        {TW_CODE_READ_ONLY, REASON_BOUNDS},      {TW_CODE_UNINITIALISED, REASON_UNINITIALISED},
        {TW_CODE_ENDLESS, REASON_ENDLESS},       {TW_CODE_CUT_OFF, REASON_ENDLESS},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (code == known[i].code)
            return known[i].reason;
    return other;
}

static enum reason reason_of_status(tw_status status)
{
    switch (status) {
    case TW_BAD_PROGRAM: return REASON_COMPILE;
    case TW_UNSYNCHRONISED: return REASON_RACE;
    case TW_BAD_ARGUMENT:
    case TW_NOT_FOUND: return REASON_SIGNATURE;
    case TW_CANCELLED: return REASON_ENDLESS;
    default: return REASON_FAULT;
    }
}

static bool in_global(const struct message_parts *p)
{
    bool global = false;
    for (int i = 0; i < p->access_count; i++)
        global = global || (p->accesses[i]->space && strcmp(p->accesses[i]->space, "global") == 0);
    return global;
}

void problems_take_messages(struct problems *all, const tw_context *ctx, tw_status status)
{
    tw_message m = tw_message_init();
    int error = 0;
    while (tw_context_message(ctx, error, &m) && m.severity != TW_ERROR)
        error++;
    if (!tw_context_message(ctx, error, &m)) {
        problems_add(all, reason_of_status(status),
                     need_text("error: %s\n", tw_status_text(status)));
        return;
    }
    struct problem *p = add(all, reason_of_code(m.code, reason_of_status(status)));
    p->text = need_text("%s", tw_context_messages(ctx));
    p->file = m.file ? need_text("%s", m.file) : NULL;
    p->line = m.line;
    p->column = m.column;
    p->parts = message_parts_copy(&m);
    if (m.access_count > 1)
        p->other_line = m.accesses[1]->line;
    p->in_global = in_global(&p->parts);
}

/* --- of the simulator --- */

/* Text that compilers of CUDA C generate for it. */
static const char cut_off[] =
    "error: the compiler has left out the rest of the kernel: what it does there is undefined, as "
    "a loop\nwithout an end that changes nothing, a division by zero or an access to a null "
    "pointer\n";

/* Returns the finding's reason. A deadlock of loops that poll memory ends like one of barriers,
 * but has another reason. */
static enum reason reason_of_finding(const tw_sim_finding *x)
{
    if (x->code == TW_CODE_DEADLOCK && x->access_count && x->accesses[0]->space)
        return REASON_ENDLESS;
    return reason_of_code(x->code, REASON_FAULT);
}

static bool is_known(const struct problems *all, enum reason reason, const tw_sim_finding *x)
{
    for (int i = 0; i < all->count; i++)
        if (all->list[i].reason == reason && all->list[i].line == x->line &&
            all->list[i].other_line == x->other_line)
            return true;
    return false;
}

void problems_take_simulated(struct problems *all, const tw_sim_result *result, bool same_value)
{
    for (int i = 0; i < result->finding_count; i++) {
        const tw_sim_finding *x = &result->findings[i];
        enum reason reason = reason_of_finding(x);
        bool counts = x->fails || (same_value && x->code == TW_CODE_SAME_VALUE);
        if (!counts || is_known(all, reason, x))
            continue;
        struct problem *p = add(all, reason);
        p->text = need_text("%s", x->code == TW_CODE_CUT_OFF ? cut_off : x->text);
        p->file = x->file ? need_text("%s", x->file) : NULL;
        p->line = x->line;
        p->column = x->column;
        p->other_line = x->other_line;
        p->parts = message_parts_copy(&(tw_message){.size = sizeof(tw_message),
                                                    .code = x->code,
                                                    .accesses = x->accesses,
                                                    .access_count = x->access_count});
        p->in_global = in_global(&p->parts);
        p->same_value = x->code == TW_CODE_SAME_VALUE;
        p->two_blocks = finding_of_two_blocks(x);
    }
}

/* --- all --- */

const struct problem *problems_first(const struct problems *all)
{
    const struct problem *first = NULL;
    for (int i = 0; i < all->count; i++)
        if (!first || all->list[i].reason < first->reason ||
            (all->list[i].reason == first->reason && first->reason == REASON_ENDLESS &&
             !first->file)) /* cancelled; the simulator knows the place */
            first = &all->list[i];
    return first;
}

bool problems_have(const struct problems *all, enum reason reason)
{
    for (int i = 0; i < all->count; i++)
        if (all->list[i].reason == reason)
            return true;
    return false;
}

void problems_free(struct problems *all)
{
    for (int i = 0; i < all->count; i++) {
        free(all->list[i].counter);
        free(all->list[i].file);
        free(all->list[i].text);
        message_parts_free(&all->list[i].parts);
    }
    free(all->list);
    *all = (struct problems){0};
}

const char *problem_reason(const struct problem *p)
{
    static const char *const names[] = {
#define REASON_NAME(name, text, lamp) text,
        REASONS(REASON_NAME)
#undef REASON_NAME
    };
    return p->counter ? p->counter : names[p->reason];
}

const char *const lamp_names[LAMPS] = {
#define LAMP_NAME(name, text) text,
    LAMPS_OF(LAMP_NAME)
#undef LAMP_NAME
};

enum lamp problem_lamp(const struct problem *p)
{
    static const enum lamp lamps[] = {
#define REASON_LAMP(name, text, lamp) LAMP_##lamp,
        REASONS(REASON_LAMP)
#undef REASON_LAMP
    };
    return lamps[p->reason];
}

/* Returns the advice for a race; a barrier does not order blocks. */
static const char *race_words(const struct problem *p)
{
    if (p->same_value && p->two_blocks)
        return "a race: two blocks write the same element, and nothing says which comes last. "
               "Here both write the same value, and more often than not the index is wrong: which "
               "elements are this block's?";
    if (p->two_blocks)
        return "a race: two blocks use the same element of an array, one of them writes, and "
               "nothing "
               "says which comes first; a barrier is for the threads of one block. Give each block "
               "elements of its own, or let the blocks take turns, as in puzzle 26 with `lock`.";
    if (p->same_value)
        return "a race: several threads write the same element, and nothing says which comes last. "
               "Here all write the same value; let one of them write it.";
    if (p->in_global)
        return "a race: two threads use the same element of an array, one of them writes, and "
               "nothing says which comes first. Give each thread elements of its own.";
    return "a race: two threads use the same memory, one of them writes, and nothing says which "
           "comes first. A barrier between the two would.";
}

const char *problem_words(const struct problem *p)
{
    switch (p->reason) {
    case REASON_COMPILE: return "it does not compile.";
    case REASON_SIGNATURE:
        return "the judge cannot run it. The kernel's name, its parameters, its views and its "
               "tuned values have to stay as they were in the starter.";
    case REASON_WORD: return "it goes around what the puzzle is about.";
    case REASON_BARRIER:
        if (p->parts.code == TW_CODE_EXITED)
            return "not all threads come to a barrier. It is for all threads of the block: it must "
                   "not be where only some of them go, nor after a `return` of others.";
        return "threads wait for each other for ever. A barrier waits for all threads of the "
               "block, "
               "so all must come to it: it must not be where only some of them go.";
    case REASON_LAUNCH: return "how many blocks and threads there are belongs to the puzzle.";
    case REASON_BOUNDS:
        return "it uses memory that is outside of an array. Threads without an element of their "
               "own need a guard, and an index must not run past the end.";
    case REASON_ASYNC:
        if (p->parts.code == TW_CODE_ASYNC_PENDING)
            return "nothing waits for a copy that it has started. Each copy has to be waited for "
                   "before the kernel ends, on every way through it: if a loop runs zero times, "
                   "too.";
        return "it uses what a copy may still be bringing. The thread that started a copy has to "
               "wait for it, and then a barrier tells the others.";
    case REASON_RACE: return race_words(p);
    case REASON_UNINITIALISED: return "it reads memory that was never written.";
    case REASON_INPUT: return "it writes to its inputs.";
    case REASON_ENDLESS:
        return "it does not come to an end, or not before far more steps than the solution needs.";
    case REASON_FAULT: return "the run was broken off: the operation above has no result.";
    case REASON_VALUES: return "wrong values.";
    case REASON_ORDER:
        return "its values depend on the order in which blocks and warps happen to run.";
    default: return "the values are right, and the way to them is not the one that is asked for.";
    }
}

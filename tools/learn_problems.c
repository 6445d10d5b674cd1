#include "learn_problems.h"
#include "findings.h"

#include <stdlib.h>
#include <string.h>

static struct problem *add(struct problems *all, enum reason reason)
{
    all->list = need_more_memory(all->list, (size_t)(all->count + 1) * sizeof *all->list);
    struct problem *p = &all->list[all->count++];
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

/* The library's messages have no kinds; these words stand in those of one kind alone. */
static enum reason reason_of_text(const char *text, enum reason other)
{
    static const struct {
        const char *words;
        enum reason reason;
    } known[] = {
        {"only some of the threads come here", REASON_BARRIER},
        {"lock waits for", REASON_BARRIER},
        {"waits for memory to change", REASON_ENDLESS},
        {"of static shared memory", REASON_COMPILE},
        {"may still be under way", REASON_ASYNC},
        {"async_wait must come first", REASON_ASYNC},
        {"other threads may still be", REASON_RACE},
        {"several threads write the same element", REASON_RACE},
        {"is outside axis", REASON_BOUNDS},
        {"reaches outside axis", REASON_BOUNDS},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(text, known[i].words))
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

/* The line of the other access, which a note of the synchronisation check behind the error has;
 * 0: none has. */
static int other_access(const tw_context *ctx, int error)
{
    static const char *const others[] = {"read here", "written here", "updated here",
                                         "the copy begins here"};
    tw_message m;
    for (int i = error + 1; tw_context_message(ctx, i, &m) && m.severity == TW_NOTE; i++)
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            if (strncmp(m.text, others[k], strlen(others[k])) == 0)
                return m.line;
    return 0;
}

void problems_take_messages(struct problems *all, const tw_context *ctx, tw_status status)
{
    tw_message m;
    int error = 0;
    while (tw_context_message(ctx, error, &m) && m.severity != TW_ERROR)
        error++;
    if (!tw_context_message(ctx, error, &m)) {
        problems_add(all, reason_of_status(status),
                     need_text("error: %s\n", tw_status_text(status)));
        return;
    }
    struct problem *p = add(all, reason_of_text(m.text, reason_of_status(status)));
    p->text = need_text("%s", tw_context_messages(ctx));
    p->file = m.file ? need_text("%s", m.file) : NULL;
    p->line = m.line;
    p->column = m.column;
    if (p->reason == REASON_RACE || p->reason == REASON_ASYNC)
        p->other_line = other_access(ctx, error);
    if (p->reason == REASON_RACE && !p->other_line) /* the statement races with itself */
        p->other_line = p->line;
    p->in_global = strstr(m.text, "global memory");
}

/* --- of the simulator --- */

/* What compilers of CUDA C make of it. */
static const char cut_off[] =
    "error: the compiler has left out the rest of the kernel: what it does there is undefined, as "
    "a loop\nwithout an end that changes nothing, a division by zero or an access to a null "
    "pointer\n";

static bool is_cut_off(const tw_sim_finding *x)
{
    return strstr(x->message, "ends without ret or exit");
}

static enum reason reason_of_finding(const tw_sim_finding *x)
{
    static const struct {
        const char *kind;
        enum reason reason;
    } known[] = {
        {"race", REASON_RACE},
        {"volatile-race", REASON_RACE},
        {"scope", REASON_RACE},
        {"same-value", REASON_RACE},
        {"async-race", REASON_ASYNC},
        {"async-pending", REASON_ASYNC},
        {"divergent-barrier", REASON_BARRIER},
        {"barrier-count", REASON_BARRIER},
        {"barrier-mixed", REASON_BARRIER},
        {"barrier-id", REASON_BARRIER},
        {"warp-sync", REASON_BARRIER},
        {"exited-thread", REASON_BARRIER},
        {"deadlock", REASON_BARRIER},
        {"mbarrier", REASON_BARRIER},
        {"out-of-bounds", REASON_BOUNDS},
        {"inside", REASON_BOUNDS},
        {"misaligned", REASON_BOUNDS},
        {"read-only", REASON_BOUNDS},
        {"uninitialised", REASON_UNINITIALISED},
        {"endless", REASON_ENDLESS},
    };
    if (strstr(x->message, "nobody will change it") || /* a deadlock of loops */
        is_cut_off(x))
        return REASON_ENDLESS;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(x->kind, known[i].kind) == 0)
            return known[i].reason;
    return REASON_FAULT;
}

static bool is_known(const struct problems *all, enum reason reason, const tw_sim_finding *x)
{
    for (int i = 0; i < all->count; i++)
        if (all->list[i].reason == reason && all->list[i].line == x->line &&
            all->list[i].other_line == x->other_line)
            return true;
    return false;
}

/* Without the lines of the PTX, which stand behind those of the program: a note and two lines. */
static char *without_ptx(const char *text)
{
    enum { LINES = 3 };
    char *kept = need_text("%s", "");
    for (int skip = 0; *text;) {
        size_t length = strcspn(text, "\n");
        char *line = need_text("%.*s", (int)length, text);
        if (strstr(line, "note: ") && strstr(line, "in the PTX")) /* colours may lie between */
            skip = LINES;
        if (skip)
            skip--;
        else
            append_text(&kept, "%s\n", line);
        free(line);
        text += length + (text[length] == '\n');
    }
    return kept;
}

void problems_take_simulated(struct problems *all, const tw_sim_result *result, bool same_value)
{
    for (int i = 0; i < result->finding_count; i++) {
        const tw_sim_finding *x = &result->findings[i];
        enum reason reason = reason_of_finding(x);
        bool counts = x->fails || (same_value && strcmp(x->kind, "same-value") == 0);
        if (!counts || is_known(all, reason, x))
            continue;
        struct problem *p = add(all, reason);
        p->text = is_cut_off(x) ? need_text("%s", cut_off) : without_ptx(x->text);
        p->file = x->file ? need_text("%s", x->file) : NULL;
        p->line = x->line;
        p->column = x->column;
        p->other_line = x->other_line;
        p->in_global = strstr(x->json, "\"space\": \"global\"") != NULL;
        p->same_value = strcmp(x->kind, "same-value") == 0;
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

/* A barrier does not order blocks. */
static const char *race_words(const struct problem *p)
{
    if (p->same_value && p->two_blocks)
        return "a race: two blocks write the same element, and nothing says who comes last. Here "
               "both write the same value, and more often than not the index is wrong: which "
               "elements are this block's?";
    if (p->two_blocks)
        return "a race: two blocks use the same element of an array, one of them writes, and "
               "nothing "
               "says which comes first; a barrier is for the threads of one block. Give each block "
               "elements of its own, or let the blocks take turns, as in puzzle 26 with `lock`.";
    if (p->same_value)
        return "a race: several threads write the same element, and nothing says who comes last. "
               "Here all write the same value; let one of them write it.";
    if (p->in_global)
        return "a race: two threads use the same element of an array, one of them writes, and "
               "nothing says who comes first. Give each thread elements of its own.";
    return "a race: two threads use the same memory, one of them writes, and nothing says who "
           "comes first. A barrier between the two would.";
}

/* Tells whether the finding is about a copy that is never waited for, but not used too early. */
static bool is_left_under_way(const char *text)
{
    static const char *const words[] = {"when the kernel ends", "when its scope ends",
                                        "with an asynchronous copy under way"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
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
        if (p->text && strstr(p->text, "have left the kernel"))
            return "not all threads come to a barrier. It is for all threads of the block: it must "
                   "not stand where only some of them go, nor behind a `return` of others.";
        return "threads wait for each other in vain. A barrier waits for all threads of the block, "
               "so all must come to it: it must not stand where only some of them go.";
    case REASON_LAUNCH: return "how many blocks and threads there are belongs to the puzzle.";
    case REASON_BOUNDS:
        return "it uses memory that is outside of an array. Threads without an element of their "
               "own need a guard, and an index must not run past the end.";
    case REASON_ASYNC:
        if (p->text && is_left_under_way(p->text))
            return "nothing waits for a copy that it has started. Each copy has to be waited for "
                   "before the kernel ends, on every way through it: if a loop runs zero times, "
                   "too.";
        return "it uses what a copy may still be bringing. The thread that started a copy has to "
               "wait for it, and then a barrier tells the others.";
    case REASON_RACE: return race_words(p);
    case REASON_UNINITIALISED: return "it reads memory that nobody has written.";
    case REASON_INPUT: return "it writes to its inputs.";
    case REASON_ENDLESS:
        return "it does not come to an end, or not before far more steps than the solution needs.";
    case REASON_FAULT: return "the run was broken off at what stands above, which nobody can do.";
    case REASON_VALUES: return "wrong values.";
    case REASON_ORDER:
        return "its values depend on the order in which blocks and warps happen to run.";
    default: return "the values are right, and the way to them is not the one that is asked for.";
    }
}

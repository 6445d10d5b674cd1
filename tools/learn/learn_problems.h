/* Problems of an answer to a puzzle, found by the compiler, the engine, the simulator or a
 * comparison. */
#ifndef TW_LEARN_PROBLEMS_H
#define TW_LEARN_PROBLEMS_H

#include "cli/message_parts.h"
#include "cli/tool.h"
#include "tilewright_sim.h"

/* Stages that an answer reaches, in the order in which the judge checks them. */
#define LAMPS_OF(X)                                                                                \
    X(COMPILES, "compiles")                                                                        \
    X(MEMORY, "memory")                                                                            \
    X(ORDER, "order")                                                                              \
    X(VALUES, "values")                                                                            \
    X(COST, "cost")

enum lamp {
#define LAMP_ENUM(name, text) LAMP_##name,
    LAMPS_OF(LAMP_ENUM)
#undef LAMP_ENUM
        LAMPS
};
extern const char *const lamp_names[LAMPS];

/* Reasons (docs/learn.md, "Wrong answers"), and the lamp that each turns off. Those that cause
 * others come first; the report shows the first one that occurs. A limit's reason is the name of
 * its counter. */
#define REASONS(X)                                                                                 \
    X(COMPILE, "compile", COMPILES)                                                                \
    X(SIGNATURE, "signature", COMPILES)                                                            \
    X(WORD, "word", COMPILES)                                                                      \
    X(BARRIER, "barrier", ORDER)                                                                   \
    X(LAUNCH, "launch", COMPILES)                                                                  \
    X(BOUNDS, "bounds", MEMORY)                                                                    \
    X(ASYNC, "async", ORDER)                                                                       \
    X(RACE, "race", ORDER)                                                                         \
    X(UNINITIALISED, "uninitialised", MEMORY)                                                      \
    X(INPUT, "input", MEMORY)                                                                      \
    X(ENDLESS, "endless", ORDER)                                                                   \
    X(FAULT, "fault", MEMORY)                                                                      \
    X(VALUES, "values", VALUES)                                                                    \
    X(ORDER, "order", ORDER)                                                                       \
    X(LIMIT, "limit", COST)

enum reason {
#define REASON_ENUM(name, text, lamp) REASON_##name,
    REASONS(REASON_ENUM)
#undef REASON_ENUM
};

struct problem {
    enum reason reason;
    char *counter;                /* of a limit */
    char *file;                   /* NULL: no place */
    int line, column, other_line; /* other_line: of the second access; 0: none */
    bool in_global;               /* a race there */
    bool same_value;              /* a race with the same outcome in any order */
    bool two_blocks;              /* a race between threads of different blocks */
    char *text;                   /* lines as the library shows them, with the source */
    struct message_parts parts;   /* its code, accesses and fix */
};

struct problems {
    struct problem *list;
    int count;
};

/* Adds the messages of the context's latest call, which failed. */
void problems_take_messages(struct problems *all, const tw_context *ctx, tw_status status);
/* Adds the findings of a simulated run, and the one that ended it. With `same_value`, also adds
 * races in which threads write the same value to the same place. */
void problems_take_simulated(struct problems *all, const tw_sim_result *result, bool same_value);
/* Adds a problem with a place in the file; takes ownership of the text. */
void problems_add_at(struct problems *all, enum reason reason, const char *file, int line,
                     char *text);
/* Adds a problem without a place; takes ownership of the text. */
void problems_add(struct problems *all, enum reason reason, char *text);
/* Returns the problem that explains the others, or NULL if there is none. */
const struct problem *problems_first(const struct problems *all);
bool problems_have(const struct problems *all, enum reason reason);
void problems_free(struct problems *all);

const char *problem_reason(const struct problem *p); /* its name in tests and JSON */
enum lamp problem_lamp(const struct problem *p);
/* Returns a sentence or two for learners. */
const char *problem_words(const struct problem *p);

#endif

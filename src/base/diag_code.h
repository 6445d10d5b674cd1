/* Codes of diagnostics. The public header has the same list with names and texts (TW_CODE_LIST);
 * api/status.c holds the two together. */
#ifndef TW_DIAG_CODE_H
#define TW_DIAG_CODE_H

/* The codes from RACE on are those of SIM_FINDINGS, in its order. */
#define DIAG_CODES(X)                                                                              \
    X(OTHER)                                                                                       \
    X(SYNTAX)                                                                                      \
    X(FOREIGN)                                                                                     \
    X(NAME)                                                                                        \
    X(PROGRAM)                                                                                     \
    X(SIZE)                                                                                        \
    X(TARGET)                                                                                      \
    X(ARGUMENT)                                                                                    \
    X(UNSET)                                                                                       \
    X(CANCELLED)                                                                                   \
    X(WRONG_VALUES)                                                                                \
    X(BLOCK_RACE)                                                                                  \
    X(RACE)                                                                                        \
    X(SAME_VALUE)                                                                                  \
    X(VOLATILE_RACE)                                                                               \
    X(VOLATILE)                                                                                    \
    X(SCOPE)                                                                                       \
    X(ASYNC_RACE)                                                                                  \
    X(ASYNC_PENDING)                                                                               \
    X(UNINITIALISED)                                                                               \
    X(OUTSIDE)                                                                                     \
    X(MISALIGNED)                                                                                  \
    X(READ_ONLY)                                                                                   \
    X(TRAP)                                                                                        \
    X(ASSUME)                                                                                      \
    X(INSIDE)                                                                                      \
    X(DIVERGENT)                                                                                   \
    X(BARRIER_COUNT)                                                                               \
    X(MIXED)                                                                                       \
    X(BARRIER_ID)                                                                                  \
    X(WARP_SYNC)                                                                                   \
    X(MBARRIER)                                                                                    \
    X(EXITED)                                                                                      \
    X(DEADLOCK)                                                                                    \
    X(ENDLESS)                                                                                     \
    X(FAULT)                                                                                       \
    X(UNSUPPORTED)                                                                                 \
    X(CUT_OFF)                                                                                     \
    X(STOPPED)

enum diag_code {
#define DIAG_CODE_ENUM(name) CODE_##name,
    DIAG_CODES(DIAG_CODE_ENUM)
#undef DIAG_CODE_ENUM
};

#endif

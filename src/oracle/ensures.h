/* The oracle: evaluates `ensures` in double over whole views, with an error bound for the tolerance
 * (ensures.c has the model). */
#ifndef TW_ENSURES_H
#define TW_ENSURES_H

#include "cpu/cpu.h"

/* An element that differs from its `ensures`. */
struct ensures_wrong {
    const char *view; /* name of the view, its axes and extents */
    int rank;
    int64_t extent[MAX_RANK], at[MAX_RANK]; /* in the view */
    const char *param;                      /* name of the array, and the element's index in it */
    int64_t element;
    double got, want;
};
struct ensures_listener {
    void (*wrong)(void *user, const struct ensures_wrong *w);
    void *user;
};

/* Result of evaluating every `ensures` of a kernel on the arrays after a launch. The inputs must
 * still be the ones that the launch read. */
struct ensures_report {
    bool ok;
    struct loc loc;   /* place of the ensures that failed, or of the last one */
    double max_error; /* largest |got - want| */
    double tolerance; /* allowed error at the worst element (the one with the largest error /
                       * allowed) */
    double got, want; /* at the worst element */
    int rank;
    int64_t at[MAX_RANK]; /* the worst element's index in the view; `over` indices are included */
    const char *view;     /* name of the view */
    int64_t checked;      /* elements compared */
    int64_t undecided;    /* number of compared elements that could have any value */
    int64_t nans;         /* number of the others that are NaN, as expected */
    char message[256];    /* the reason if the evaluation failed */
    bool outside;         /* the reason is an index outside of its view or table */
};
/* Evaluates every `ensures` of k. true: evaluated, see report->ok. false: the evaluation failed,
 * see report->message. */
bool ensures_check(struct arena *a, const struct kernel *k, const struct cpu_argument *args,
                   struct parallel parallel, struct ensures_report *report);

/* The values that `ensures` expects for some inputs. They are kept so that the results of
 * several variants can be judged while the costly evaluation is done once. */
struct ensures_kept;
struct ensures_kept *ensures_kept_new(struct arena *a); /* lives in `a` with all its values */
/* Does the same as ensures_check. The first call fills `kept`; later calls use its values if
 * their statements are the same. The caller must make sure that the inputs are the same, too.
 * kept, listener: NULL if there is none. */
bool ensures_check_with(struct arena *a, const struct kernel *k, const struct cpu_argument *args,
                        struct parallel parallel, struct ensures_kept *kept,
                        const struct ensures_listener *listener, struct ensures_report *report);

#endif

/* Reports the parts of a kernel that `check` could not check, if it found no error, so that the
 * kernel does not look fully checked. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

void check_ask_undecided(struct check *c)
{
    const char *why = tw_launch_undecided(c->launch);
    if (!why)
        return;
    char *where = space_text(&c->space);
    remarks_add(&c->undecided,
                need_text("not decided whether accesses to shared memory race: %s", why), where);
    c->undecided_races = true;
    free(where);
}

void check_take_unreached(struct check *c, const struct check_pin *pin)
{
    if (pin->value > pin->constant)
        remarks_add(&c->unreached,
                    need_text("no size reached past `%s` = %lld, a comparison or the end of a "
                              "slice: larger arrays take too long (--set %s=%lld tries one)",
                              pin->param, (long long)pin->constant, pin->param,
                              (long long)pin->value),
                    "");
}

/* Returns false with -v, because another line then reports it. */
static bool says(const struct check *c)
{
    return !c->to_json && (!c->verbose || c->strict);
}

/* Prints "NAME AFTER_IT: REMARK", for the first remark. */
static void say_first(const struct check *c, const char *after_it, const struct remarks *remarks)
{
    char *line = remark_line(&remarks->list[0]);
    complain(NULL, "%s%s: %s", c->name, after_it, line);
    free(line);
}

void check_say_gaps(struct check *c)
{
    bool ran = c->runs || c->simulated, compared = tw_kernel_has_ensures(c->kernel);
    bool simulated = c->no_sim || c->simulated;
    if (c->status != STATUS_OK)
        return;
    if (says(c) && ran && !compared)
        complain(NULL, "%s has no `ensures`: its values are not compared", c->name);
    if (says(c) && c->undecided_races)
        say_first(c, "", &c->undecided);
    if (says(c) && ran && c->unreached.count)
        say_first(c, "", &c->unreached);
    if (says(c) && c->runs && !simulated && c->not_simulated.count)
        say_first(c, " is not simulated", &c->not_simulated);
    else if (says(c) && c->runs && !simulated)
        complain(NULL, "%s is not simulated", c->name);
    bool whole = c->no_run || (ran && compared && simulated);
    if (c->strict && (!whole || c->undecided_races))
        check_worse(c, STATUS_FAILED, TW_UNSUPPORTED);
}

#include "plan/plan.h"

#include <assert.h>
#include <string.h>

const struct plan_pass plan_pass_list[] = {
    {"units", plan_units, "states the unit that does each product, on a GPU", false},
    {"copiers", plan_copiers, "states who moves each part of a view, and how wide, on a GPU", true},
};
const int plan_pass_count = (int)(sizeof plan_pass_list / sizeof plan_pass_list[0]);

bool plan_run(struct plan_context *c, const char *last)
{
    const bool roles = kernel_uses_roles(c->kernel);
    for (int i = 0; i < plan_pass_count; i++) {
        int errors = c->diag->errors;
        if (!roles || plan_pass_list[i].of_roles)
            plan_pass_list[i].run(c);
        if (c->diag->errors > errors)
            return false;
        assert(!kernel_verify(c->kernel->arena, c->kernel));
        if (last && strcmp(plan_pass_list[i].name, last) == 0)
            return true;
    }
    return true;
}

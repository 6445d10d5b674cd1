/* The expressions of one statement. */
#include "lower/lower_state.h"

struct walk {
    void (*visit)(void *user, struct expr **at);
    void *user;
};

static void walk_root(void *user, struct expr **root, bool is_target)
{
    struct walk *w = user;
    (void)is_target;
    expr_walk(root, w->visit, w->user);
}

void statement_expressions(struct stmt *s, void (*visit)(void *user, struct expr **at), void *user)
{
    struct walk w = {visit, user};
    stmt_expressions(s, walk_root, &w);
}

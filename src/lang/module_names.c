/* Names at module level, and queries of the module that need no check. */
#include "lang/check_internal.h"

#include <string.h>

const struct entry *module_entry(const struct module *m, const char *name)
{
    const struct name_entry *found = name_table_find(&m->names, name, strlen(name));
    return found ? &m->entries[found->number] : NULL;
}

bool module_known_target(const char *target)
{
    static const char *const targets[] = {"cpu", "sim", "cuda"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(targets[i], target) == 0)
            return true;
    if (strncmp(target, "sm_", 3) != 0)
        return false;
    size_t digits = strspn(target + 3, "0123456789");
    return digits >= 2 && digits <= 3 &&
           (!target[3 + digits] || strcmp(target + 3 + digits, "a") == 0);
}

void module_unknown_target(struct diag *d, struct loc loc, const char *name)
{
    diag_error(d, loc, "there is no target `%s`", name);
    diag_note(d, loc, "targets are cpu, sim, cuda, and sm_80, sm_90, …");
}

const struct tune_list *module_tune_list(const struct module *m, int group, const char *target)
{
    const struct tune_list *best = NULL;
    int best_rank = -1;
    target = target ? target : "cpu";
    bool cuda = strncmp(target, "sm_", 3) == 0;
    size_t length = strlen(target);
    for (int i = m->first_lists[group]; i >= 0; i = m->lists[i].next) {
        const struct tune_list *l = &m->lists[i];
        int rank = -1;
        if (!l->target)
            rank = 0;
        else if (strcmp(l->target, target) == 0)
            rank = 3;
        else if (cuda && target[length - 1] == 'a' && strlen(l->target) == length - 1 &&
                 strncmp(l->target, target, length - 1) == 0)
            rank = 2; /* sm_90a also uses the list of sm_90 */
        else if (cuda && strcmp(l->target, "cuda") == 0)
            rank = 1;
        if (rank > best_rank) {
            best = l;
            best_rank = rank;
        }
    }
    return best;
}

const struct entry *module_kernel_entry(const struct module *m, int index)
{
    return &m->entries[m->kernels[index]];
}

int module_kernel_tunes(const struct module *m, int index, int *entries)
{
    const struct index_list *uses = &module_kernel_entry(m, index)->uses;
    int count = 0;
    for (size_t i = 0; i < uses->count; i++)
        if (m->entries[uses->data[i]].kind == ENTRY_TUNE)
            entries[count++] = uses->data[i];
    return count;
}

struct literal module_param_value(const struct node *literal)
{
    bool negative = literal->kind == N_UNARY;
    const struct node *n = negative ? literal->a : literal;
    if (n->kind == N_FLOAT)
        return (struct literal){.is_float = true, .f = negative ? -n->f : n->f};
    return (struct literal){.i = negative ? -n->i : n->i};
}

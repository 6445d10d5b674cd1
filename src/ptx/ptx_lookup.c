/* Look-ups in the tables. */
#include "ptx/ptx_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct ptx_form *ptx_forms_of(enum ptx_op op, size_t *count)
{
    size_t low = 0, high = ptx_form_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ptx_forms[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < ptx_form_count && ptx_forms[end].op == op)
        end++;
    *count = end - low;
    return ptx_forms + low;
}

bool ptx_vector_exists(enum ptx_mod type, uint32_t count)
{
    return type != MOD_PRED && ptx_mods[type].bits * count <= PTX_MOST_VECTOR_BITS;
}

size_t ptx_group_count(const struct ptx_form *form)
{
    size_t count = 0;
    for (struct ptx_group group = ptx_first_group(form); group.mods;
         group = ptx_next_group(form, group))
        count++;
    return count;
}

struct ptx_group ptx_group_at(const struct ptx_form *form, size_t index)
{
    struct ptx_group group = ptx_first_group(form);
    while (index-- > 0)
        group = ptx_next_group(form, group);
    return group;
}

bool ptx_group_has(const struct ptx_group *group, uint16_t mod, uint16_t first_type)
{
    for (int i = 0; i < group->count; i++)
        if (group->mods[i] == mod || (group->mods[i] == MOD_SAME0 && mod == first_type))
            return true;
    return false;
}

/* Matches the modifiers in the form's own order, in one pass. */
static bool takes_in_order(const struct ptx_form *form, const uint16_t *mods, size_t count)
{
    size_t at = 0;
    uint16_t first_type = MOD_NONE;
    for (struct ptx_group group = ptx_first_group(form); group.mods;
         group = ptx_next_group(form, group)) {
        if (at < count && ptx_group_has(&group, mods[at], first_type)) {
            if (!first_type && ptx_is_type(mods[at]))
                first_type = mods[at];
            at++;
        } else if (!group.optional) {
            return false;
        }
    }
    return at == count;
}

/* Returns the kind of a modifier. Types, state spaces and layouts are the kinds whose order
 * matters. */
static int kind_of(uint16_t mod)
{
    return ptx_is_type(mod) ? PTX_CLASS_BITS : ptx_mods[mod].class;
}

bool ptx_mod_overtakes(const uint16_t *mods, const bool *used, size_t i)
{
    int kind = kind_of(mods[i]);
    if (kind != PTX_CLASS_BITS && kind != PTX_CLASS_SPACE && kind != PTX_CLASS_LAYOUT)
        return false;
    for (size_t k = 0; k < i; k++)
        if (!used[k] && kind_of(mods[k]) == kind)
            return true;
    return false;
}

/* Matches the modifiers in any order: each group takes the first unused modifier that fits it. */
static bool takes_in_any_order(const struct ptx_form *form, const uint16_t *mods, size_t count,
                               uint16_t *order)
{
    bool used[PTX_MOST_MODS] = {false};
    size_t taken = 0;
    uint16_t first_type = MOD_NONE;
    for (struct ptx_group group = ptx_first_group(form); group.mods;
         group = ptx_next_group(form, group)) {
        size_t i = 0;
        while (i < count && (used[i] || !ptx_group_has(&group, mods[i], first_type) ||
                             ptx_mod_overtakes(mods, used, i)))
            i++;
        if (i == count) {
            if (!group.optional)
                return false;
            continue;
        }
        if (!first_type && ptx_is_type(mods[i]))
            first_type = mods[i];
        used[i] = true;
        order[taken++] = mods[i];
    }
    return taken == count;
}

bool ptx_form_takes(const struct ptx_form *form, const uint16_t *mods, size_t count,
                    uint16_t *order)
{
    if (count > PTX_MOST_MODS)
        return false;
    if (takes_in_order(form, mods, count)) {
        if (order && count)
            memcpy(order, mods, count * sizeof *mods);
        return true;
    }
    return order && takes_in_any_order(form, mods, count, order);
}

int ptx_choice_version(const struct ptx_form *form, const uint16_t *mods, size_t count)
{
    int version = form->version;
    for (size_t i = 0; i < count; i++)
        if (ptx_mods[mods[i]].version > version)
            version = ptx_mods[mods[i]].version;
    return version;
}

bool ptx_choice_has(const struct ptx_form *form, const uint16_t *mods, size_t count,
                    struct ptx_target target)
{
    if (!ptx_target_has(target, form->target))
        return false;
    for (size_t i = 0; i < count; i++)
        if (ptx_mods[mods[i]].target > target.number)
            return false;
    return true;
}

static bool read_number(const char **text, int *number)
{
    const char *p = *text;
    for (*number = 0; *p >= '0' && *p <= '9'; p++)
        *number = *number * 10 + (*p - '0');
    bool any = p > *text;
    *text = p;
    return any;
}

bool ptx_shape(enum ptx_mod shape, int *m, int *n, int *k)
{
    if (shape >= MOD_COUNT || ptx_mods[shape].class != PTX_CLASS_SHAPE)
        return false;
    const char *text = ptx_mods[shape].text;
    *k = 0;
    if (*text++ != 'm' || !read_number(&text, m) || *text++ != 'n' || !read_number(&text, n))
        return false;
    return *text == '\0' || (*text++ == 'k' && read_number(&text, k));
}

/* --- targets --- */

const struct ptx_target_info *ptx_target_find(struct ptx_target target)
{
    for (size_t i = 0; i < ptx_target_count; i++)
        if (ptx_targets[i].target.number == target.number &&
            ptx_targets[i].target.suffix == target.suffix)
            return &ptx_targets[i];
    return NULL;
}

bool ptx_target_parse(const char *text, size_t length, struct ptx_target *target)
{
    const char *end = text + length;
    int number = 0;
    if (length < 4 || length > 8 || memcmp(text, "sm_", 3) != 0 || text[3] == '0')
        return false;
    for (text += 3; text < end && *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (*text - '0');
    if (number > 255 || end - text > 1)
        return false;
    *target = (struct ptx_target){(uint8_t)number, text < end ? *text : '\0'};
    return ptx_target_find(*target) != NULL;
}

static const struct {
    uint8_t number;
    uint16_t bit;
} architectures[] = {{90, PTX_A90},   {100, PTX_A100}, {101, PTX_A110}, {103, PTX_A103},
                     {110, PTX_A110}, {120, PTX_A120}, {121, PTX_A121}};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

bool ptx_target_has(struct ptx_target target, unsigned need)
{
    if (need < PTX_OWN)
        return target.number >= need;
    if (target.suffix == '\0' || (target.suffix == 'f' && !(need & PTX_FAMILY)))
        return false;
    for (int i = 0; i < ARCHITECTURES; i++)
        if (architectures[i].number == target.number)
            return need & architectures[i].bit;
    return false;
}

void ptx_target_name(unsigned need, char *text, size_t size)
{
    assert(size > 0);
    text[0] = '\0';
    if (need < PTX_OWN) {
        if (need)
            snprintf(text, size, "sm_%u", need);
        return;
    }
    size_t length = 0;
    for (int i = 0; i < ARCHITECTURES; i++) {
        bool old_name = architectures[i].number == 101; /* named sm_110 since PTX 9.0 */
        if (!(need & architectures[i].bit) || old_name || length + 1 >= size)
            continue;
        int written = snprintf(text + length, size - length, "%ssm_%d%s", length ? ", " : "",
                               architectures[i].number, need & PTX_FAMILY ? "a/f" : "a");
        length += written > 0 ? (size_t)written : 0;
    }
}

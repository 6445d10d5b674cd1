/* Verifies variables and their initial values. PTX ISA, initializers; constant state space. */
#include "ptx/ptx_verifier.h"

#include <inttypes.h>

static size_t count_values(const struct ptx_initial *init)
{
    if (init->kind != PTX_INIT_LIST)
        return 1;
    size_t count = 0;
    for (size_t i = 0; i < init->list.count; i++)
        count += count_values(&init->list.data[i]);
    return count;
}

/* Checks an address in an initialiser. ptxas puts addresses only into .u variables. */
static void check_address(struct ptx_verifier *v, const struct ptx_variable *x,
                          const struct ptx_initial *init)
{
    const struct ptx_mod_info *type = &ptx_mods[x->type];
    if (type->class != PTX_CLASS_UNSIGNED || type->bits == 16 || (type->bits == 8 && !init->mask))
        ptx_complain(v, "`%s`: an address cannot initialise a .%s", x->name, type->text);
    if (init->function && (init->offset || init->generic))
        ptx_complain(v, "`%s`: of function `%s` only the address itself can be taken", x->name,
                     init->function->name);
    if (init->variable && init->variable->space != MOD_GLOBAL && init->variable->space != MOD_CONST)
        ptx_complain(v, "`%s`: `%s` is in .%s; its address is not a constant", x->name,
                     init->variable->name, ptx_mods[init->variable->space].text);
}

static void check_value(struct ptx_verifier *v, const struct ptx_variable *x,
                        const struct ptx_initial *init)
{
    int class = ptx_mods[x->type].class;
    switch (init->kind) {
    case PTX_INIT_INTEGER:
        if (class == PTX_CLASS_FLOAT)
            ptx_complain(v, "`%s`: an integer cannot initialise a .%s", x->name,
                         ptx_mods[x->type].text);
        break;
    case PTX_INIT_FLOAT:
    case PTX_INIT_DOUBLE:
        if (class == PTX_CLASS_UNSIGNED || class == PTX_CLASS_SIGNED)
            ptx_complain(v, "`%s`: a float cannot initialise a .%s", x->name,
                         ptx_mods[x->type].text);
        break;
    case PTX_INIT_ADDRESS: check_address(v, x, init); break;
    case PTX_INIT_LIST:
        for (size_t i = 0; i < init->list.count && !diag_full(v->diag); i++)
            check_value(v, x, &init->list.data[i]);
        break;
    }
}

static void check_initial(struct ptx_verifier *v, const struct ptx_variable *x)
{
    uint64_t elements = ptx_mods[x->type].bits ? x->vector : 0;
    bool known = true;
    for (int i = 0; i < x->dimensions; i++) {
        known &= x->extents[i] != PTX_UNKNOWN_EXTENT;
        elements *= (uint64_t)x->extents[i];
    }
    if (x->space != MOD_GLOBAL && x->space != MOD_CONST)
        ptx_complain(v, "`%s` is in .%s, where nothing can be initialised", x->name,
                     ptx_mods[x->space].text);
    bool list = x->initial->kind == PTX_INIT_LIST, array = x->dimensions || x->vector > 1;
    if (list != array)
        ptx_complain(v, "`%s` is %s array or vector: it is initialised with %s", x->name,
                     array ? "an" : "no", array ? "values in braces" : "one value");
    if (x->linkage == PTX_EXTERN)
        ptx_complain(v, "`%s` is defined elsewhere; it cannot be initialised here", x->name);
    if (known && count_values(x->initial) > elements)
        ptx_complain(v, "`%s` has %" PRIu64 " elements, the initialiser %zu", x->name, elements,
                     count_values(x->initial));
    if (x->type == MOD_F16 || x->type == MOD_F16X2)
        ptx_complain(v, "`%s`: a .%s cannot be initialised", x->name, ptx_mods[x->type].text);
    else
        check_value(v, x, x->initial);
}

/* Returns true if a variable has more than 2^40 bytes, which no GPU can address. Sizes and
 * offsets below that can be added without overflow. A missing extent counts as 1. */
static bool is_too_large(const struct ptx_variable *x)
{
    const uint64_t most = UINT64_C(1) << 40;
    uint64_t bytes = ptx_mods[x->type].bits / 8u * x->vector;
    for (int i = 0; i < x->dimensions; i++) {
        uint64_t extent = x->extents[i] > 0 ? (uint64_t)x->extents[i] : 1;
        if (extent > most || bytes > most / extent)
            return true;
        bytes *= extent;
    }
    return false;
}

void ptx_verify_variable(struct ptx_verifier *v, const struct ptx_variable *x)
{
    v->where = x->where;
    bool open = x->dimensions && x->extents[0] == PTX_UNKNOWN_EXTENT;
    if (open && !x->initial && x->linkage != PTX_EXTERN)
        ptx_complain(v, "`%s` has no extent", x->name);
    for (int i = 1; i < x->dimensions; i++)
        if (x->extents[i] == PTX_UNKNOWN_EXTENT)
            ptx_complain(v, "`%s`: only the first extent may be left out", x->name);
    if (x->type == MOD_PRED)
        ptx_complain(v, "`%s` is a predicate, which has no place in memory", x->name);
    else if (x->vector > 1 && !ptx_vector_exists((enum ptx_mod)x->type, x->vector))
        ptx_complain(v, "`%s`: a vector has at most %d bits", x->name, PTX_MOST_VECTOR_BITS);
    if (is_too_large(x))
        ptx_complain(v, "`%s` has more than 2^40 bytes, which no GPU can address", x->name);
    if (x->vector > 1 && x->space == MOD_PARAM) /* as in ptxas */
        ptx_complain(v, "`%s`: there are no vectors in .param", x->name);
    if (x->initial)
        check_initial(v, x);
}

/* PTX ISA, constant-state-space: 64 KB. ptxas orders the variables, so there are no gaps. */
void ptx_verify_constants(struct ptx_verifier *v, const struct ptx_module *m)
{
    enum { MOST = 65536 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->items.count; i++) {
        const struct ptx_variable *x = m->items.data[i].variable;
        if (m->items.data[i].kind != PTX_ITEM_VARIABLE || x->space != MOD_CONST ||
            x->linkage == PTX_EXTERN)
            continue;
        uint64_t size = ptx_variable_size(x), before = bytes;
        bytes = size > UINT64_MAX - bytes ? UINT64_MAX : bytes + size;
        v->where = x->where;
        if (before <= MOST && bytes > MOST)
            ptx_complain(v, "with `%s` the module has %" PRIu64 " bytes in .const; %d are possible",
                         x->name, bytes, MOST);
    }
}

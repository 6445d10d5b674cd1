/* Collects what is built: functions, their versions, and the rule by which a launch takes a
 * version. */
#include "aot/aot.h"

#include "base/text.h"

#include <string.h>

/* --- names --- */

/* Names that a C parameter cannot have. Names that begin with a capital, as macros do (NAN, I,
 * PRId64, Bool), and names of types (size_t) are recognised by their form: see is_taken. */
static const char *const taken[] = {
    /* keywords of C and C++ */
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "contract_assert",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "xor_eq",
    /* macros in lower case, of headers and compilers */
    "arm",
    "cdecl",
    "complex",
    "d_fileno",
    "emit",
    "environ",
    "errno",
    "far",
    "fortran",
    "h_addr",
    "h_errno",
    "hpux",
    "huge",
    "hyper",
    "i386",
    "imaginary",
    "interface",
    "linux",
    "m68k",
    "math_errhandling",
    "mips",
    "near",
    "noreturn",
    "pascal",
    "pixel",
    "ppc",
    "s390",
    "sched_priority",
    "sigev_notify_attributes",
    "sigev_notify_function",
    "signals",
    "slots",
    "small",
    "sparc",
    "stderr",
    "stdin",
    "stdout",
    "sun",
    "unix",
    "vax",
    "vector",
    /* arguments of our own */
    "module",
    "stream",
    "workspace",
    "workspace_bytes",
};

/* Members of structures of POSIX that are macros: si_addr, st_mtime. */
static const char *const taken_starts[] = {"aot_", "_", "s6_", "sa_", "si_", "st_"};

static bool starts_taken(const char *name)
{
    for (size_t i = 0; i < sizeof taken_starts / sizeof *taken_starts; i++)
        if (strncmp(name, taken_starts[i], strlen(taken_starts[i])) == 0)
            return true;
    return false;
}

/* Returns true if C, C++ or a header reserves the name. */
static bool is_word(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i], name) == 0)
            return true;
    return length > 2 && strcmp(name + length - 2, "_t") == 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

/* Checks NAME. The files are NAME.h and NAME.c, and all names in them are NAME_…: NAME.h must
 * not replace a system header, and NAME_… must not be a name that this folder uses. */
bool aot_name_good(const char *name)
{
    static const char *const others[] = {
        "aot",    "assert", "complex", "ctype",       "cuda",   "dlfcn",     "errno",   "fenv",
        "float",  "iso646", "limits",  "inttypes",    "locale", "math",      "memory",  "pthread",
        "sched",  "setjmp", "signal",  "stdalign",    "stdarg", "stdatomic", "stdbool", "stddef",
        "stdint", "stdio",  "stdlib",  "stdnoreturn", "string", "strings",   "threads", "time",
        "uchar",  "unistd", "wchar",   "wctype"};
    bool good = text_is_letter(name[0]) && strncmp(name, "aot_", 4) != 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        good = good && !same_word(others[i], name);
    for (const char *c = name; *c && good; c++)
        good = text_is_letter(*c) || text_is_digit(*c) || *c == '_';
    return good;
}

static bool has_param(const struct aot_given *g, const char *name)
{
    for (int i = 0; i < g->param_count; i++)
        if (strcmp(g->params[i].name, name) == 0)
            return true;
    return false;
}

/* Returns a name for C: "int" becomes "int_", "NAN" "NAN_", "aot_n" "xaot_n"; longer if another
 * parameter has that name. */
static const char *c_name(struct arena *a, const struct aot_given *g, const struct aot_param *named,
                          int count)
{
    const char *name = g->params[count].name;
    bool ends = is_word(name) || (name[0] >= 'A' && name[0] <= 'Z');
    const char *c = arena_printf(a, "%s%s%s", starts_taken(name) ? "x" : "", name, ends ? "_" : "");
    bool taken_by_another = strcmp(c, name) != 0;
    while (taken_by_another) {
        taken_by_another = has_param(g, c);
        for (int i = 0; i < count; i++)
            taken_by_another = taken_by_another || strcmp(named[i].c_name, c) == 0;
        if (taken_by_another)
            c = arena_printf(a, "%s_", c);
    }
    return c;
}

/* Returns the name of the kernel or family whose function it is. */
static const char *owner(const struct aot_given *g)
{
    return g->family ? g->family : g->kernel->name;
}

/* Returns NAME_KERNEL_TYPES; a kernel whose name starts with NAME does not repeat it. */
static const char *function_name(const struct aot_build *b, const struct aot_given *g)
{
    const char *kernel = owner(g);
    size_t length = strlen(b->name);
    bool again =
        strncmp(kernel, b->name, length) == 0 && (kernel[length] == '_' || kernel[length] == '\0');
    const char *rest = again ? kernel + length : kernel;
    rest += again && *rest == '_';
    const char *tail = *g->suffix ? g->suffix : again && !*rest ? "launch" : "";
    return arena_printf(b->arena, "%s%s%s%s%s", b->name, *rest ? "_" : "", rest, *tail ? "_" : "",
                        tail);
}

/* Returns true for a name of NAME.h that is not a kernel's. */
static bool is_own(const struct aot_build *b, const char *name)
{
    static const char *const own[] = {"load",        "load_cpu", "unload", "status",
                                      "status_text", "message",  "module"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name + strlen(b->name) + 1, own[i]) == 0)
            return true;
    return false;
}

/* --- functions --- */

/* Compiles the derived parameters up to number `last`. Returns false after a report. */
static bool derive(struct arena *a, const struct aot_given *g, int last, struct aot_function *out,
                   struct diag *diag)
{
    struct derived_param *params = arena_array(a, struct derived_param, g->param_count);
    struct launch_sizes s;
    struct text steps;
    for (int i = 0; i <= last; i++)
        params[i] = (struct derived_param){g->params[i].dtype, g->params[i].derived};
    launch_derived_compile(&s, a, params, g->param_count);
    if (!launch_sizes_shippable(&s)) {
        diag_error(diag, g->params[last].derived->loc,
                   "`%s` of kernel `%s` is not arithmetic of integers and parameters, so C cannot "
                   "compute it",
                   g->params[last].name, g->kernel->name);
        return false;
    }
    text_init(&steps, a);
    aot_steps(&steps, &s);
    out->derive = steps.data;
    out->derive_count = s.count;
    return true;
}

static struct aot_param *copy_params(struct arena *a, const struct aot_given *g)
{
    struct aot_param *list = arena_array(a, struct aot_param, g->param_count);
    for (int i = 0; i < g->param_count; i++) {
        list[i] = g->params[i];
        list[i].name = arena_string(a, list[i].name, strlen(list[i].name));
        list[i].shape = arena_string(a, list[i].shape, strlen(list[i].shape));
        list[i].c_name = c_name(a, g, list, i);
        if (list[i].derived)
            list[i].derived_text =
                arena_string(a, list[i].derived_text, strlen(list[i].derived_text));
    }
    return list;
}

static bool same_function(const struct aot_function *f, const struct aot_given *g)
{
    return (f->family != NULL) == (g->family != NULL) && strcmp(f->kernel, owner(g)) == 0 &&
           strcmp(f->file, g->file) == 0 && strcmp(f->types, g->types) == 0;
}

/* Reports a name in use. `of`: the function that has it; NULL: the header itself. */
static bool report_name(const struct aot_build *b, const struct aot_given *g, const char *name,
                        const struct aot_function *of, struct diag *diag)
{
    const char *other = "a name of the header itself";
    if (of)
        other = arena_printf(b->arena, "one for `%s` of %s", of->kernel, of->file);
    diag_error(diag, g->kernel->loc, "the function for %s `%s` would be called `%s`, as %s is",
               g->family ? "family" : "kernel", owner(g), name, other);
    if (of && strcmp(of->kernel, owner(g)) == 0)
        diag_note(diag, LOC_NONE, "build them apart, or give one kernel another name");
    else
        diag_note(diag, LOC_NONE, "give what is built another name than `%s`, or build them apart",
                  b->name);
    return false;
}

static bool name_is_free(const struct aot_build *b, const struct aot_given *g, const char *name,
                         struct diag *diag)
{
    if (is_own(b, name))
        return report_name(b, g, name, NULL, diag);
    for (size_t i = 0; i < b->functions.count; i++) {
        const struct aot_function *f = &b->functions.data[i];
        const char *workspace = arena_printf(b->arena, "%s_workspace", f->name);
        bool may_take = f->family || aot_takes_workspace(f); /* a family's GPUs may come later */
        if (strcmp(f->name, name) == 0 || (may_take && strcmp(workspace, name) == 0))
            return report_name(b, g, name, f, diag);
    }
    return true;
}

static struct aot_function *function_for(struct aot_build *b, const struct aot_given *g,
                                         struct diag *diag)
{
    struct arena *a = b->arena;
    for (size_t i = 0; i < b->functions.count; i++)
        if (same_function(&b->functions.data[i], g))
            return &b->functions.data[i];
    const char *name = function_name(b, g);
    const char *workspace = arena_printf(a, "%s_workspace", name);
    if (!name_is_free(b, g, name, diag) || (g->family && !name_is_free(b, g, workspace, diag)))
        return NULL;
    struct aot_function f = {
        .name = name,
        .kernel = arena_string(a, owner(g), strlen(owner(g))),
        .file = arena_string(a, g->file, strlen(g->file)),
        .types = arena_string(a, g->types, strlen(g->types)),
        .all_params = g->param_count,
        .param_count = g->param_count,
        .params = copy_params(a, g),
        .family = g->family ? arena_new(a, struct aot_family) : NULL,
    };
    for (int i = 0; i < g->param_count; i++)
        if (g->params[i].derived && !derive(a, g, i, &f, diag))
            return NULL;
    vec_push(a, &b->functions, f);
    return &b->functions.data[b->functions.count - 1];
}

/* --- versions --- */

static bool same_programs(const struct aot_image *image, const struct aot_given *g)
{
    if (image->programs.count != (size_t)g->program_count)
        return false;
    for (int i = 0; i < g->program_count; i++) {
        const struct aot_program *x = &image->programs.data[i], *y = &g->programs[i];
        if (x->count != y->count || strcmp(x->set, y->set) != 0 ||
            memcmp(x->words, y->words, x->count * sizeof *x->words) != 0)
            return false;
    }
    return true;
}

static int image_for_cpu(struct aot_build *b, const struct aot_given *g)
{
    for (size_t i = 0; i < b->images.count; i++)
        if (b->images.data[i].target == aot_cpu && same_programs(&b->images.data[i], g))
            return (int)i;
    struct aot_image image = {.target = aot_cpu, .code = aot_cpu};
    for (int i = 0; i < g->program_count; i++) {
        struct aot_program p = g->programs[i];
        p.words = arena_copy(b->arena, p.words, p.count * sizeof *p.words);
        vec_push(b->arena, &image.programs, p);
    }
    vec_push(b->arena, &b->images, image);
    return (int)b->images.count - 1;
}

static int image_for(struct aot_build *b, const struct aot_given *g)
{
    if (!g->lowered)
        return image_for_cpu(b, g);
    struct text ptx;
    text_init(&ptx, b->arena);
    ptx_print(&ptx, g->lowered->module);
    for (size_t i = 0; i < b->images.count; i++)
        if (b->images.data[i].ptx && b->images.data[i].target == g->target &&
            b->images.data[i].code == g->code && strcmp(b->images.data[i].ptx, ptx.data) == 0)
            return (int)i;
    struct aot_image image = {.ptx = ptx.data, .target = g->target, .code = g->code};
    vec_push(b->arena, &b->images, image);
    return (int)b->images.count - 1;
}

static bool same_version(const struct aot_version *x, const struct aot_version *y)
{
    return x->image == y->image && memcmp(x->block, y->block, sizeof x->block) == 0 &&
           x->shared_bytes == y->shared_bytes && x->cooperative == y->cooperative &&
           x->alignment == y->alignment && strcmp(x->sizes.steps, y->sizes.steps) == 0 &&
           strcmp(x->sizes.texts, y->sizes.texts) == 0 && x->sizes.zeroed == y->sizes.zeroed &&
           x->cluster == y->cluster && x->early == y->early &&
           strcmp(x->sizes.maps, y->sizes.maps) == 0 &&
           strcmp(x->sizes.passed, y->sizes.passed) == 0 &&
           x->sizes.compiled_in == y->sizes.compiled_in;
}

static int version_for(struct aot_build *b, const struct aot_given *g,
                       const struct aot_sizes *sizes)
{
    const struct lowered *lowered = g->lowered;
    const char *entry = lowered ? lowered->function->name : g->kernel->name;
    struct aot_version v = {.image = image_for(b, g),
                            .entry = arena_string(b->arena, entry, strlen(entry)),
                            .shared_bytes = lowered ? lowered->shared_bytes : 0,
                            .cooperative = lowered && g->kernel->cooperative,
                            .cluster = lowered && lowered->cluster > 1 ? lowered->cluster : 0,
                            .early = lowered && lowered->begins_early,
                            .alignment = g->row.alignment,
                            .sizes = *sizes};
    memcpy(v.of_cluster, g->kernel->cluster, sizeof v.of_cluster);
    if (lowered)
        memcpy(v.block, lowered->block, sizeof v.block);
    for (size_t i = 0; i < b->versions.count; i++)
        if (same_version(&b->versions.data[i], &v))
            return (int)i;
    vec_push(b->arena, &b->versions, v);
    return (int)b->versions.count - 1;
}

static const char *device_for(struct aot_build *b, const char *name)
{
    for (size_t i = 0; name && i < b->devices.count; i++)
        if (strcmp(b->devices.data[i], name) == 0)
            return b->devices.data[i];
    if (!name)
        return NULL;
    const char *copy = arena_string(b->arena, name, strlen(name));
    vec_push(b->arena, &b->devices, copy);
    return copy;
}

/* Returns the number of the variant in the function's list. */
static int variant_for(struct aot_build *b, struct aot_function *f, const char *variant)
{
    struct aot_family *family = f->family;
    for (size_t i = 0; i < family->variants.count; i++)
        if (strcmp(family->variants.data[i], variant) == 0)
            return (int)i;
    const char *copy = arena_string(b->arena, variant, strlen(variant));
    vec_push(b->arena, &family->variants, copy);
    return (int)family->variants.count - 1;
}

bool aot_add(struct aot_build *b, const struct aot_given *g, struct diag *diag)
{
    struct arena *a = b->arena;
    struct aot_function *f = function_for(b, g, diag);
    struct aot_sizes sizes;
    if (!f || !aot_sizes(a, g, &sizes, diag))
        return false;
    int rooms = sizes.rooms;
    if (rooms > 0 && !f->family && !aot_takes_workspace(f) &&
        !name_is_free(b, g, arena_printf(a, "%s_workspace", f->name), diag))
        return false;
    const struct aot_row *given = &g->row;
    size_t params = (size_t)g->param_count;
    struct aot_row row = {
        .version = version_for(b, g, &sizes),
        .variant = g->family ? variant_for(b, f, g->variant) : 0,
        .target = g->target,
        .device = device_for(b, given->device),
        .is_static = arena_copy(a, given->is_static, params * sizeof *given->is_static),
        .absent = arena_copy(a, given->absent, params * sizeof *given->absent),
        .values = arena_copy(a, given->values, params * sizeof *given->values),
        .divisor = arena_copy(a, given->divisor, params * sizeof *given->divisor),
        .alignment = given->alignment,
        .range_count = given->range_count,
        .ranges = arena_copy(a, given->ranges, (size_t)given->range_count * sizeof *given->ranges),
        .tuned = arena_string(a, given->tuned, strlen(given->tuned)),
    };
    f->rooms = rooms > f->rooms ? rooms : f->rooms;
    vec_push(a, &f->rows, row);
    return true;
}

/* --- tables --- */

static struct aot_point copy_point(struct aot_build *b, const struct aot_given_table *g,
                                   const struct aot_point *given, const int *numbers)
{
    int *order = arena_array(b->arena, int, g->variant_count);
    for (int i = 0; i < g->variant_count; i++)
        order[i] = numbers[given->order[i]];
    size_t bytes = (size_t)g->size_count * sizeof *given->sizes;
    return (struct aot_point){arena_copy(b->arena, given->sizes, bytes), order};
}

/* Returns NULL for NULL. */
static const char *copy_of(struct arena *a, const char *text)
{
    return text ? arena_string(a, text, strlen(text)) : NULL;
}

static struct aot_function *family_function(struct aot_build *b, const struct aot_given_table *g)
{
    size_t i = 0;
    while (!b->functions.data[i].family || strcmp(b->functions.data[i].kernel, g->family) != 0 ||
           strcmp(b->functions.data[i].file, g->file) != 0 ||
           strcmp(b->functions.data[i].types, g->types) != 0)
        i++;
    return &b->functions.data[i];
}

void aot_add_table(struct aot_build *b, const struct aot_given_table *g)
{
    struct arena *a = b->arena;
    struct aot_function *f = family_function(b, g);
    struct aot_table table = {.target = g->target,
                              .device = g->target == aot_cpu ? copy_of(a, g->device)
                                                             : device_for(b, g->device),
                              .variant_count = g->variant_count,
                              .compared = g->compared,
                              .mean = g->mean,
                              .measured = g->measured};
    int *numbers = arena_array(a, int, g->variant_count);
    for (int i = 0; i < g->variant_count; i++)
        numbers[i] = variant_for(b, f, g->variants[i]);
    for (int i = 0; i < g->point_count; i++)
        vec_push(a, &table.points, copy_point(b, g, &g->points[i], numbers));
    f->family->size_count = g->size_count;
    f->family->sizes = arena_copy(a, g->sizes, (size_t)g->size_count * sizeof *g->sizes);
    vec_push(a, &f->family->tables, table);
}

/* --- rows --- */

static bool same_values(const struct aot_function *f, const struct aot_row *x,
                        const struct aot_row *y)
{
    for (int i = 0; i < f->param_count; i++)
        if (x->is_static[i] != y->is_static[i] ||
            (x->is_static[i] && !literal_same(x->values[i], y->values[i])))
            return false;
    return true;
}

/* Returns true if both rows are for the same launches, apart from their divisors. */
static bool same_class(const struct aot_function *f, const struct aot_row *x,
                       const struct aot_row *y)
{
    if (x->target != y->target || x->variant != y->variant || x->device != y->device ||
        x->alignment != y->alignment || x->range_count != y->range_count || !same_values(f, x, y))
        return false;
    for (int i = 0; i < x->range_count; i++)
        if (x->ranges[i].param != y->ranges[i].param || x->ranges[i].least != y->ranges[i].least ||
            x->ranges[i].most != y->ranges[i].most)
            return false;
    return true;
}

/* Returns true if a launch whose integers have exactly these divisors may take the row. */
static bool goes_with(const struct aot_function *f, const struct aot_row *r, const int *divisors)
{
    for (int i = 0; i < f->param_count; i++)
        if (divisors[i] % r->divisor[i] != 0)
            return false;
    return true;
}

/* Returns the version that a launch with exactly these divisors takes from the class of row `of`,
 * without row `without`; -1: none. */
static int taken_of(const struct aot_function *f, size_t of, size_t without, const int *divisors)
{
    for (size_t i = 0; i < f->rows.count; i++)
        if (i != without && same_class(f, &f->rows.data[i], &f->rows.data[of]) &&
            goes_with(f, &f->rows.data[i], divisors))
            return f->rows.data[i].version;
    return -1;
}

/* Returns true if some launch takes another version without the row. It tries the divisors of every
 * row of its class; only those can make a difference if there are rows for each combination. */
static bool decides(const struct aot_function *f, size_t row)
{
    for (size_t i = 0; i < f->rows.count; i++) {
        const int *divisors = f->rows.data[i].divisor;
        if (same_class(f, &f->rows.data[i], &f->rows.data[row]) &&
            taken_of(f, row, row, divisors) != taken_of(f, row, f->rows.count, divisors))
            return true;
    }
    return false;
}

/* Returns true if a table for the row's target has its variant. */
static bool is_listed(const struct aot_function *f, const struct aot_row *r)
{
    for (size_t t = 0; t < f->family->tables.count; t++) {
        const struct aot_table *table = &f->family->tables.data[t];
        for (int v = 0; table->target == r->target && v < table->variant_count; v++)
            if (table->points.data[0].order[v] == r->variant)
                return true;
    }
    return false;
}

/* Removes rows of variants that no launch takes, and rows that never decide, from the last on, so
 * that of rows with one version the one with the fewest conditions stays. Then leaves out the last
 * numbers of the device, if no row takes them. */
static void settle_function(struct aot_function *f)
{
    for (size_t i = f->rows.count; i-- > 0;) {
        bool listed = !f->family || is_listed(f, &f->rows.data[i]);
        if (listed && decides(f, i))
            continue;
        memmove(&f->rows.data[i], &f->rows.data[i + 1],
                (f->rows.count - i - 1) * sizeof *f->rows.data);
        f->rows.count--;
    }
    int n = f->all_params;
    while (n > 0 && f->params[n - 1].device && aot_rows_without(f, n - 1) == f->rows.count)
        n--;
    f->param_count = n;
}

/* Removes versions without a row, and images without a version. */
static void drop_unused(struct aot_build *b)
{
    int *version = arena_array(b->arena, int, b->versions.count + 1);
    int *image = arena_array(b->arena, int, b->images.count + 1);
    for (size_t f = 0; f < b->functions.count; f++)
        for (size_t r = 0; r < b->functions.data[f].rows.count; r++) {
            int v = b->functions.data[f].rows.data[r].version;
            version[v] = image[b->versions.data[v].image] = 1;
        }
    size_t kept = 0;
    for (size_t i = 0; i < b->images.count; i++)
        if (image[i]) {
            image[i] = (int)kept;
            b->images.data[kept++] = b->images.data[i];
        }
    b->images.count = kept;
    kept = 0;
    for (size_t i = 0; i < b->versions.count; i++)
        if (version[i]) {
            version[i] = (int)kept;
            b->versions.data[kept] = b->versions.data[i];
            b->versions.data[kept].image = image[b->versions.data[kept].image];
            kept++;
        }
    b->versions.count = kept;
    for (size_t f = 0; f < b->functions.count; f++)
        for (size_t r = 0; r < b->functions.data[f].rows.count; r++) {
            int *v = &b->functions.data[f].rows.data[r].version;
            *v = version[*v];
        }
}

void aot_settle(struct aot_build *b)
{
    for (size_t i = 0; i < b->functions.count; i++)
        settle_function(&b->functions.data[i]);
    drop_unused(b);
}

/* The sizes of a launch as tables of C: the same programs that the library runs (size_step.h), the
 * text that runs them, and the texts of their expressions for messages. */
#include "aot/aot.h"

#include "base/tensor_map.h"
#include "tile/launch_sizes.h"

#include <inttypes.h>
#include <string.h>

extern const unsigned char aot_size_step_h[], aot_size_run_h[], aot_view_map_h[];
extern const size_t aot_size_step_h_length, aot_size_run_h_length, aot_view_map_h_length;

/* --- the evaluator --- */

static bool is_name(char c)
{
    return text_is_letter(c) || text_is_digit(c) || c == '_';
}

/* Prints a header of the library. Its names get the prefix of all names of NAME.c, and its own
 * headers are left out, because they come before it. */
static void write_header(struct text *out, const unsigned char *header, size_t length)
{
    const struct text all = aot_unpack(out->arena, header, length);
    const char *s = all.data, *end = s + all.length;
    for (const char *at = s; at < end; at++) {
        if (strncmp(at, "#include \"", 10) == 0)
            at = memchr(at, '\n', (size_t)(end - at));
        else if (at > s && is_name(at[-1]))
            ;
        else if (strncmp(at, "size_", 5) == 0 || strncmp(at, "map_", 4) == 0)
            text_add(out, "aot_");
        else if (strncmp(at, "SIZE_", 5) == 0 || strncmp(at, "MAP_", 4) == 0)
            text_add(out, "AOT_");
        text_add_n(out, at, 1);
    }
}

void aot_evaluator(struct text *out, const struct aot_build *b)
{
    write_header(out, aot_size_step_h, aot_size_step_h_length);
    write_header(out, aot_size_run_h, aot_size_run_h_length);
    if (aot_has_hopper(b))
        write_header(out, aot_view_map_h, aot_view_map_h_length);
}

/* --- programs --- */

static const char *op_name(const struct size_step *step)
{
#define NAME(op) [SIZE_##op] = "AOT_SIZE_" #op
    static const char *const names[] = {
        NAME(PARAM),     NAME(NUMBER), NAME(ADD),    NAME(SUB),     NAME(MUL),    NAME(DIV),
        NAME(REM),       NAME(CDIV),   NAME(LESSER), NAME(GREATER), NAME(SHL),    NAME(SHR),
        NAME(AND),       NAME(OR),     NAME(XOR),    NAME(LT),      NAME(GT),     NAME(LE),
        NAME(GE),        NAME(EQ),     NAME(NE),     NAME(FIT),     NAME(TRUTH),  NAME(COPY),
        NAME(POW2_CEIL), NAME(SWAP),   NAME(SKIP),   NAME(UNLESS),  NAME(LOOKUP), NAME(AND_THEN),
        NAME(OR_ELSE),   NAME(OTHER),  NAME(GRID),   NAME(EXTENT),  NAME(RESULT), NAME(BIT),
        NAME(ASSUME),    NAME(AXIS),
    };
    return names[step->op];
}

static const char *type_name(const struct size_step *step)
{
    static const char *const names[] = {NAME(I64), NAME(I32), NAME(I16),  NAME(I8), NAME(U32),
                                        NAME(U16), NAME(U8),  NAME(BOOL), NAME(U64)};
#undef NAME
    return names[step->type];
}

static void write_value(struct text *out, int64_t v)
{
    if (v == INT64_MIN)
        text_add(out, "INT64_MIN");
    else
        text_printf(out, v > INT32_MAX || v < INT32_MIN ? "INT64_C(%" PRId64 ")" : "%" PRId64, v);
}

void aot_steps(struct text *out, const struct launch_sizes *s)
{
    bool begins = true; /* a root */
    for (int i = 0; i < s->count; i++) {
        const struct size_step *step = &s->steps[i];
        text_printf(out, "%s{%s, %s, 0, %" PRId32 ", ", begins ? "\n    " : " ", op_name(step),
                    type_name(step), step->index);
        write_value(out, step->value);
        text_add(out, "},");
        begins = step->op >= SIZE_GRID;
    }
}

/* Prints the text of each root. rooms: by result. */
static void write_texts(struct text *out, const struct launch_sizes *s,
                        const struct sym *const *rooms)
{
    struct text code;
    for (int i = 0; i < s->count; i++) {
        const struct size_step *step = &s->steps[i];
        if (step->op < SIZE_GRID)
            continue;
        text_init(&code, out->arena);
        if (s->places[i])
            expr_print(&code, s->places[i]);
        else if (step->op == SIZE_RESULT && rooms[step->index - SIZE_ROOMS])
            text_add(&code, rooms[step->index - SIZE_ROOMS]->name);
        text_add(out, "\n    ");
        aot_quote(out, code.data ? code.data : "", code.length);
        text_add(out, ",");
    }
}

static bool refuse(const struct kernel *k, const struct size_unshippable *why, struct diag *diag)
{
    if (why->room)
        diag_error(
            diag, why->room->loc,
            "the extents of workspace `%s` are not arithmetic of integers and parameters, so "
            "C cannot compute them",
            why->room->name);
    else if (why->view)
        diag_error(
            diag, why->view->loc,
            "the extents and strides of view `%s`, which has a tensor map, are not arithmetic of "
            "integers and parameters, so C cannot compute them",
            why->view->name);
    else
        diag_error(diag, k->grid[why->axis]->loc,
                   "the grid of kernel `%s` is not arithmetic of integers and parameters, so C "
                   "cannot compute it",
                   k->name);
    return false;
}

/* Finds the parameters that are compiled in, because the kernels of a family differ in them. One
 * bit per parameter: 64 are enough. */
static bool find_statics(const struct aot_given *given, uint64_t *compiled_in, struct diag *diag)
{
    *compiled_in = 0;
    for (int i = 0; i < given->param_count; i++) {
        if (!given->row.is_static[i] && !given->row.absent[i])
            continue;
        if (i >= 64) {
            diag_error(diag, given->kernel->loc,
                       "`%s` is parameter %d of kernel `%s`: in a family that is built, static "
                       "parameters and numbers of the device are among the first 64",
                       given->params[i].name, i + 1, given->kernel->name);
            return false;
        }
        *compiled_in |= UINT64_C(1) << i;
    }
    return true;
}

/* The memory and the maps of a version. */
struct parts {
    VEC(const struct sym *) rooms, views;
};

/* Returns the number of a room; adds it if it is not there. */
static int room_of(struct arena *a, struct parts *parts, const struct sym *room)
{
    for (size_t i = 0; i < parts->rooms.count; i++)
        if (parts->rooms.data[i] == room)
            return (int)i;
    vec_push(a, &parts->rooms, room);
    return (int)parts->rooms.count - 1;
}

static void write_map(struct text *out, struct arena *a, struct parts *parts,
                      const struct lowered_param *p)
{
    const struct map_form f = lowered_map_form(p, tensor_map_type(p->sym->type.dtype));
    text_add(out, "\n    {{");
    aot_quote(out, f.view, strlen(f.view));
    text_printf(out, ", %d, %d, %d, %d, %d, {", f.type, f.element, f.rank, f.swizzle, f.strided);
    for (int i = 0; i < MAP_AXES; i++)
        text_printf(out, i ? ", %u" : "%u", f.box[i]);
    text_printf(out, "}}, %d, %d},", p->sym->base ? p->sym->base->index : -1,
                p->sym->base ? 0 : room_of(a, parts, p->sym));
    vec_push(a, &parts->views, p->sym);
}

static void pass(struct text *out, struct aot_sizes *sizes, const char *kind, int index)
{
    text_printf(out, "%s{AOT_%s, %d},", sizes->passed_count++ % 5 ? " " : "\n    ", kind, index);
}

/* Finds what the kernel takes. */
static void find_passed(struct arena *a, const struct lowered *lowered, struct parts *parts,
                        struct aot_sizes *out)
{
    struct text maps, passed;
    text_init(&maps, a);
    text_init(&passed, a);
    for (size_t i = 0; i < lowered->params.count; i++) {
        const struct lowered_param *p = &lowered->params.data[i];
        switch (p->kind) {
        case LOWERED_SCALAR:
        case LOWERED_POINTER: pass(&passed, out, "PARAM", p->sym->index); break;
        case LOWERED_TICKET:
        case LOWERED_WORKSPACE:
            pass(&passed, out, "ROOM",
                 room_of(a, parts, p->kind == LOWERED_TICKET ? NULL : p->sym));
            break;
        case LOWERED_MAP:
            pass(&passed, out, "MAP", out->map_count++);
            if (p->sym->base && p->sym->base->index < 64)
                out->mapped |= UINT64_C(1) << p->sym->base->index;
            write_map(&maps, a, parts, p);
            break;
        }
    }
    out->maps = maps.length ? maps.data : "";
    out->passed = passed.length ? passed.data : "";
}

/* A program of the CPU engine takes the parameters that are not compiled in. */
static void find_passed_on_cpu(struct arena *a, const struct aot_given *given,
                               struct aot_sizes *out)
{
    struct text passed;
    text_init(&passed, a);
    for (int i = 0; i < given->param_count; i++)
        if (!given->row.is_static[i] && !given->row.absent[i])
            pass(&passed, out, "PARAM", i);
    out->maps = "";
    out->passed = passed.length ? passed.data : "";
}

bool aot_sizes(struct arena *a, const struct aot_given *given, struct aot_sizes *out,
               struct diag *diag)
{
    struct launch_sizes s;
    struct size_unshippable why;
    struct text steps, texts;
    struct parts parts = {.rooms = {.count = 0}};
    *out = (struct aot_sizes){.rooms = 0};
    if (given->lowered)
        find_passed(a, given->lowered, &parts, out);
    else
        find_passed_on_cpu(a, given, out);
    out->rooms = (int)parts.rooms.count;
    for (size_t i = 0; i < parts.rooms.count; i++)
        out->zeroed |= (uint64_t)(!parts.rooms.data[i] || parts.rooms.data[i]->zeroed) << i;
    if (given->family && !find_statics(given, &out->compiled_in, diag))
        return false;
    const struct size_shipped shipped = {.rooms = parts.rooms.data,
                                         .room_count = given->lowered ? out->rooms : -1,
                                         .views = parts.views.data,
                                         .view_count = (int)parts.views.count};
    if (!launch_sizes_ship(&s, a, given->kernel, &shipped, &why))
        return refuse(given->kernel, &why, diag);
    text_init(&steps, a);
    text_init(&texts, a);
    aot_steps(&steps, &s);
    write_texts(&texts, &s, parts.rooms.data);
    out->count = s.count;
    out->steps = steps.length ? steps.data : "";
    out->texts = texts.length ? texts.data : "";
    return true;
}

/* --- the tables --- */

static bool same_sizes(const struct aot_sizes *x, const struct aot_sizes *y)
{
    return strcmp(x->steps, y->steps) == 0 && strcmp(x->texts, y->texts) == 0;
}

/* Returns the first version with the same program. */
static size_t first_equal(const struct aot_build *b, size_t version)
{
    size_t i = 0;
    while (!same_sizes(&b->versions.data[i].sizes, &b->versions.data[version].sizes))
        i++;
    return i;
}

/* Prints ", aot_maps_3, 2", or ", NULL, 0". */
static void write_list(struct text *out, const char *what, int count, size_t version)
{
    if (count)
        text_printf(out, ", aot_%s_%zu, %d", what, version, count);
    else
        text_add(out, ", NULL, 0");
}

/* Prints the maps of a version, and what its kernel takes. */
static void write_hopper(struct text *out, const struct aot_sizes *s, size_t version)
{
    if (s->map_count)
        text_printf(out, "static const struct aot_map aot_maps_%zu[] = {%s\n};\n", version,
                    s->maps);
    if (s->passed_count)
        text_printf(out, "static const struct aot_passed aot_passed_%zu[] = {%s\n};\n", version,
                    s->passed);
}

void aot_write_sizes(struct text *out, const struct aot_build *b)
{
    text_add(out, "/* The sizes of a launch, by version. */\n");
    for (size_t i = 0; i < b->versions.count; i++) {
        const struct aot_sizes *s = &b->versions.data[i].sizes;
        if (first_equal(b, i) != i || s->count == 0)
            continue;
        text_printf(out, "static const struct aot_size_step aot_steps_%zu[] = {%s\n};\n", i,
                    s->steps);
        text_printf(out, "static const char *const aot_texts_%zu[] = {%s\n};\n", i, s->texts);
    }
    for (size_t i = 0; i < b->versions.count && aot_has_hopper(b); i++)
        write_hopper(out, &b->versions.data[i].sizes, i);
    text_add(out, "static const struct aot_sizes aot_sizes[] = {\n");
    for (size_t i = 0; i < b->versions.count; i++) {
        const struct aot_sizes *s = &b->versions.data[i].sizes;
        size_t from = first_equal(b, i);
        if (s->count)
            text_printf(out, "    {aot_steps_%zu, aot_texts_%zu, %d", from, from, s->count);
        else
            text_add(out, "    {NULL, NULL, 0");
        text_printf(out, ", %d, UINT64_C(0x%" PRIx64 "), UINT64_C(0x%" PRIx64 ")", s->rooms,
                    s->zeroed, s->compiled_in);
        if (aot_has_hopper(b)) {
            write_list(out, "maps", s->map_count, i);
            write_list(out, "passed", s->passed_count, i);
        }
        text_add(out, "},\n");
    }
    text_add(out, "};\n");
}

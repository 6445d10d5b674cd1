#include "nvptx/nvptx_print.h"

#include <assert.h>
#include <string.h>

/* --- functions of the module --- */

static void add_items(struct ptx_builder *b, const char *const *items)
{
    struct text text;
    text_init(&text, b->arena);
    text_add(&text, ".version 7.0\n.target sm_80\n.address_size 64\n");
    for (int i = 0; items[i]; i++)
        text_add(&text, items[i]);
    struct source source = {"print", text.data, text.length};
    struct diag diag;
    diag_init(&diag, b->arena);
    struct source *kept = arena_copy(b->arena, &source, sizeof source);
    struct ptx_module *m = ptx_parse(b->arena, kept, &diag);
    assert(m && "functions of the compiler's own");
    for (size_t i = 0; i < m->items.count; i++)
        vec_push(b->arena, &b->module->items, m->items.data[i]);
}

/* Returns the module's function of that name. If it has none, the module gets the items, PTX up to a NULL. */
static struct ptx_function *function_of(struct ptx_builder *b, const char *name,
                                        const char *const *items)
{
    struct ptx_function *f = ptx_find_function(b->module, name);
    if (f)
        return f;
    add_items(b, items);
    return ptx_find_function(b->module, name);
}

static struct ptx_operand list_of(struct ptx_builder *b, const struct ptx_operand *o, size_t count)
{
    struct ptx_operand list = {.kind = PTX_LIST, .count = (uint16_t)count};
    list.elements = arena_copy(b->arena, o, count * sizeof *o);
    return list;
}

/* result NULL: none */
static void call_function(struct ptx_builder *b, struct ptx_function *f,
                          const struct ptx_operand *result, const struct ptx_operand *args,
                          size_t count)
{
    struct ptx_operand operands[3] = {{.kind = PTX_NOTHING}};
    if (result)
        operands[0] = list_of(b, result, 1);
    operands[1] =
        (struct ptx_operand){.kind = PTX_SYMBOL, .base = PTX_BASE_FUNCTION, .function = f};
    operands[2] = list_of(b, args, count);
    ptx_emit_list(b, "call", NULL, operands, 3);
}

static void call(struct nvptx_printer *p, const char *name, const struct ptx_operand *result,
                 const struct ptx_operand *args, size_t count)
{
    call_function(p->build, function_of(p->build, name, nvptx_print_items), result, args, count);
}

/* Calls a function that writes; its first argument is the address. */
static struct ptx_operand write(struct nvptx_printer *p, const char *name,
                                const struct ptx_operand *args, size_t count)
{
    struct ptx_operand end = ptx_reg(p->build, MOD_B64);
    call(p, name, &end, args, count);
    return end;
}

/* --- memory --- */

void nvptx_print_start(struct nvptx_printer *p, struct ptx_builder *build)
{
    *p = (struct nvptx_printer){.build = build};
    name_table_init(&p->texts, build->arena);
}

static struct ptx_operand generic(struct nvptx_printer *p, const char *mnemonic,
                                  struct ptx_operand address)
{
    struct ptx_operand to = ptx_reg(p->build, MOD_B64);
    ptx_emit(p->build, mnemonic, to, address);
    return to;
}

/* Returns the generic address of a variable. */
static struct ptx_operand address_of(struct nvptx_printer *p, const char *mnemonic,
                                     struct ptx_variable *v)
{
    struct ptx_operand address = ptx_reg(p->build, MOD_B64);
    ptx_emit(p->build, "mov.b64", address, ptx_address_of(v, 0));
    return generic(p, mnemonic, address);
}

static struct ptx_operand text_address(struct nvptx_printer *p, const char *text)
{
    const size_t length = strlen(text);
    const char *name = arena_printf(p->build->arena, "$text_%zu", p->texts.count);
    struct name_entry *entry = name_table_entry(&p->texts, text, length);
    if (!entry->object)
        entry->object = ptx_bytes(p->build, MOD_GLOBAL, name, (const uint8_t *)text, length + 1, 1);
    return address_of(p, "cvta.global.u64", entry->object);
}

struct ptx_operand nvptx_print_row(struct nvptx_printer *p, int64_t bytes)
{
    enum { ALIGNMENT = 16 };
    if (!p->row)
        p->row = ptx_array(p->build, MOD_LOCAL, MOD_B8, "$row", (uint64_t)bytes, ALIGNMENT);
    if (bytes > p->row->extents[0])
        p->row->extents[0] = bytes;
    return address_of(p, "cvta.local.u64", p->row);
}

struct ptx_operand nvptx_print_shared(struct nvptx_printer *p, struct ptx_operand address)
{
    struct ptx_operand wide = ptx_reg(p->build, MOD_B64);
    ptx_emit(p->build, "cvt.u64.u32", wide, address);
    return generic(p, "cvta.shared.u64", wide);
}

/* --- text --- */

struct ptx_operand nvptx_print_text(struct nvptx_printer *p, struct ptx_operand at,
                                    const char *text)
{
    const struct ptx_operand args[] = {at, text_address(p, text)};
    return write(p, "$print_text", args, 2);
}

struct ptx_operand nvptx_print_bool(struct nvptx_printer *p, struct ptx_operand at,
                                    struct ptx_operand x)
{
    struct ptx_operand yes = text_address(p, "true"), no = text_address(p, "false");
    struct ptx_operand args[] = {at, ptx_reg(p->build, MOD_B64)};
    ptx_emit(p->build, "selp.b64", args[1], yes, no, x);
    return write(p, "$print_text", args, 2);
}

enum dtype nvptx_print_type(enum dtype t)
{
    return dtype_is_float(t) ? DT_F64 : dtype_is_signed(t) ? DT_I64 : DT_U64;
}

/* Finds the bits of the fraction, and the least exponent of a number that has all of them. */
static void find_format(enum dtype t, int *mantissa, int *least)
{
    static const struct {
        enum dtype dtype;
        int mantissa, least;
    } formats[] = {{DT_F64, 52, -1022}, {DT_F32, 23, -126}, {DT_TF32, 10, -126}, {DT_F16, 10, -14},
                   {DT_BF16, 7, -126},  {DT_E4M3, 3, -6},   {DT_E5M2, 2, -14}};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].dtype == t) {
            *mantissa = formats[i].mantissa;
            *least = formats[i].least;
        }
}

static struct ptx_operand constant(struct nvptx_printer *p, const char *mnemonic, int v)
{
    struct ptx_operand to = ptx_reg(p->build, MOD_B32);
    ptx_emit(p->build, mnemonic, to, ptx_int(v));
    return to;
}

struct ptx_operand nvptx_print_number(struct nvptx_printer *p, struct ptx_operand at, enum dtype t,
                                      struct ptx_operand x)
{
    struct ptx_operand args[4] = {at, x};
    int mantissa = 0, least = 0;
    if (dtype_is_float(t)) {
        find_format(t, &mantissa, &least);
        args[2] = constant(p, "mov.u32", mantissa);
        args[3] = constant(p, "mov.s32", least);
        return write(p, "$print_float", args, 4);
    }
    if (dtype_is_signed(t))
        return write(p, "$print_signed", args, 2);
    args[2] = constant(p, "mov.u32", 1); /* digits at least */
    return write(p, "$print_digits", args, 3);
}

void nvptx_print_show(struct nvptx_printer *p, struct ptx_operand row)
{
    call(p, "$print_show", NULL, &row, 1);
}

/* --- formats --- */

/* Makes a NaN one without a sign, as its sign differs between executors. */
static struct ptx_operand unsigned_nan(struct nvptx_printer *p, struct ptx_operand x)
{
    struct ptx_operand is_nan = ptx_reg(p->build, MOD_PRED), y = ptx_reg(p->build, MOD_F64);
    ptx_emit(p->build, "setp.nan.f64", is_nan, x, x);
    ptx_emit(p->build, "selp.f64", y, ptx_f64(__builtin_nan("")), x, is_nan);
    return y;
}

void nvptx_print_store(struct nvptx_printer *p, struct ptx_operand values, int64_t number,
                       enum dtype t, struct ptx_operand x)
{
    enum { BYTES = 8 };
    if (dtype_is_float(t))
        x = unsigned_nan(p, x);
    ptx_emit(p->build, "st.b64", ptx_at(values, BYTES * number), x);
}

void nvptx_print_format(struct nvptx_printer *p, struct ptx_operand values, const char *format)
{
    const struct ptx_operand args[] = {text_address(p, format), values};
    call(p, "$print_formatted", NULL, args, 2);
}

/* --- claims --- */

void nvptx_print_claim(struct nvptx_printer *p, bool is_inside, const char *text,
                       const struct ptx_operand *values)
{
    /* clang-format off */
    static const char *const items[] = {
        ".extern .func $claim_assume (.reg .b64 text, .reg .b64 a, .reg .b64 b, .reg .b64 c, .reg .b64 d);\n",
        ".extern .func $claim_inside (.reg .b64 text, .reg .b64 a, .reg .b64 b, .reg .b64 c, .reg .b64 d);\n",
        NULL};
    /* clang-format on */
    const char *name = is_inside ? "$claim_inside" : "$claim_assume";
    struct ptx_operand args[1 + NVPTX_CLAIM_VALUES] = {text_address(p, text)};
    memcpy(args + 1, values, NVPTX_CLAIM_VALUES * sizeof *args);
    call_function(p->build, function_of(p->build, name, items), NULL, args, 1 + NVPTX_CLAIM_VALUES);
}

/* The command line that is offered has small sizes: if each array has 1024 elements and each
 * integer is 32, arrays of n and of n × n elements are long enough. */
#include "ptx/ptx_params.h"
#include "cli/kernel_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- the parameters --- */

void ptx_params_find(struct ptx_params *p, const struct ptx_file *f)
{
    *p = (struct ptx_params){.count = tw_ptx_param_count(f->ptx, f->kernel)};
    size_t count = p->count > 0 ? (size_t)p->count : 0;
    char *made_up = need_text("%s_param_", f->kernel);
    char **names = need_memory((count + 1) * sizeof *names), **exact;
    char **types = need_memory((count + 1) * sizeof *types);
    p->list = need_memory((count + 1) * sizeof *p->list);
    ptx_file_param_names(f, (int)count, names, types);
    exact = kernel_parameters(f->kernel, (int)count);
    for (size_t i = 0; i < count; i++) {
        tw_ptx_param param = tw_ptx_param_init();
        bool fine = tw_ptx_param_at(f->ptx, f->kernel, (int)i, &param) == TW_OK;
        bool is_named = fine && strncmp(param.name, made_up, strlen(made_up)) != 0;
        p->list[i] =
            (struct ptx_param_found){.name = is_named ? need_text("%s", param.name) : names[i],
                                     .type = exact ? exact[i] : types[i],
                                     .ptx = need_text("%s", fine ? param.type : ""),
                                     .bytes = param.bytes};
        free(is_named ? names[i] : NULL);
        free(exact ? types[i] : NULL);
    }
    free(exact);
    free(types);
    free(names);
    free(made_up);
}

void ptx_params_free(struct ptx_params *p)
{
    for (int i = 0; i < p->count; i++) {
        free(p->list[i].name);
        free(p->list[i].type);
        free(p->list[i].ptx);
    }
    free(p->list);
    *p = (struct ptx_params){0};
}

char *ptx_param_text(const struct ptx_param_found *p)
{
    const char *name = p->name && *p->name ? p->name : "(no name)";
    if (!p->type)
        return need_text("%s (%s, %zu byte%s)", name, p->ptx, p->bytes, p->bytes == 1 ? "" : "s");
    size_t stars = strlen(p->type); /* "const float*" and "const float *" become the same */
    while (stars && strchr("*&", p->type[stars - 1]))
        stars--;
    int length = (int)stars - (stars && p->type[stars - 1] == ' ');
    return need_text("%.*s %s%s", length, p->type, p->type + stars, name);
}

/* --- an --arg for a parameter --- */

/* Element types by their names in C++ and in PTX. */
static const struct {
    const char *c, *dtype;
} elements[] = {
    {"float", "f32"},
    {"double", "f64"},
    {"int", "i32"},
    {"unsigned", "u32"},
    {"unsigned int", "u32"},
    {"long", "i64"},
    {"long long", "i64"},
    {"unsigned long", "u64"},
    {"unsigned long long", "u64"},
    {"short", "i16"},
    {"unsigned short", "u16"},
    {"char", "i8"},
    {"signed char", "i8"},
    {"unsigned char", "u8"},
    {"bool", "u8"},
    {"__half", "f16"},
    {"half", "f16"},
    {"__nv_bfloat16", "bf16"},
    {"size_t", "u64"},
    {"int64_t", "i64"},
    {"uint64_t", "u64"},
    {"int32_t", "i32"},
    {"uint32_t", "u32"},
    {"int16_t", "i16"},
    {"uint16_t", "u16"},
    {"int8_t", "i8"},
    {"uint8_t", "u8"},
    {"__nv_fp8_e4m3", "e4m3"},
    {"__nv_fp8_e5m2", "e5m2"},
    {"uint", "u32"},
    {"uchar", "u8"},
    {"ushort", "u16"},
    {"ulong", "u64"},
    {".f32", "f32"},
    {".f64", "f64"},
    {".u32", "i32"},
    {".s32", "i32"},
    {".b32", "i32"},
    {".s64", "i64"},
    {".u16", "u16"},
    {".b16", "f16"},
    {".u8", "u8"},
    {".b8", "u8"},
};

static const char *element_of(const char *type, size_t length)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strlen(elements[i].c) == length && memcmp(elements[i].c, type, length) == 0)
            return elements[i].dtype;
    return NULL;
}

/* Returns the type of a vector's elements, "f32" for "float4", and their number. */
static const char *vector_of(const char *type, size_t length, int *count)
{
    *count =
        length && type[length - 1] >= '2' && type[length - 1] <= '4' ? type[length - 1] - '0' : 0;
    return *count ? element_of(type, length - 1) : NULL;
}

static const char *const qualifiers[] = {"const", "volatile"};

/* Returns the length without blanks, `const` and `volatile` at the end. */
static size_t without_end(const char *type, bool *is_const)
{
    size_t length = strlen(type);
    for (bool changed = true; changed;) {
        changed = false;
        while (length && isspace((unsigned char)type[length - 1]))
            length--;
        for (int i = 0; i < 2 && !changed; i++) {
            size_t n = strlen(qualifiers[i]);
            changed = length > n && strncmp(type + length - n, qualifiers[i], n) == 0 &&
                      strchr(" *&", type[length - n - 1]);
            length -= changed ? n : 0;
            *is_const |= changed && i == 0;
        }
    }
    return length;
}

/* Skips `const` and `volatile` at the start. */
static const char *without_start(const char *type, bool *is_const)
{
    for (int i = 0; i < 2;) {
        size_t n = strlen(qualifiers[i]);
        bool is_there = strncmp(type, qualifiers[i], n) == 0 && type[n] == ' ';
        type += is_there ? n + 1 : 0;
        *is_const |= is_there && i == 0;
        i = is_there ? 0 : i + 1;
    }
    return type;
}

const char *ptx_param_element(const struct ptx_param_found *p)
{
    bool ignored = false;
    int count = 0;
    size_t length = p->type ? without_end(p->type, &ignored) : 0;
    if (!length || !strchr("*&", p->type[length - 1]))
        return NULL;
    char *pointee = need_text("%.*s", (int)length - 1, p->type);
    const char *plain = without_start(pointee, &ignored);
    length = without_end(plain, &ignored);
    const char *dtype = element_of(plain, length);
    dtype = dtype ? dtype : vector_of(plain, length, &count);
    free(pointee);
    return dtype;
}

/* Returns an --arg for a pointer to elements of the type. */
static char *array_argument(const char *pointee)
{
    bool is_const = false;
    int count = 0;
    pointee = without_start(pointee, &is_const);
    size_t length = without_end(pointee, &is_const);
    const char *dtype = element_of(pointee, length);
    const char *part = dtype ? NULL : vector_of(pointee, length, &count);
    const char *is = dtype ? dtype : part ? part : "u8";
    const char *fill = !is_const ? "zero" : strchr("iu", *is) ? "iota" : "rand";
    if (length && pointee[length - 1] == '*')
        return need_text("null");
    return part ? need_text("%s[1024][%d]:%s", is, count, fill)
                : need_text("%s[%d]:%s", is, dtype ? 1024 : 1 << 16, fill);
}

/* Returns an --arg for a parameter; "{…}" is a struct whose fields the caller has to say. */
static char *argument_for(const struct ptx_param_found *p)
{
    bool is_const = false;
    int count = 0;
    const char *type = p->type ? p->type : p->ptx;
    size_t length = without_end(type, &is_const);
    if (length && type[length - 1] == '*') {
        char *pointee = need_text("%.*s", (int)length - 1, type), *text = array_argument(pointee);
        free(pointee);
        return text;
    }
    if (!p->type && strcmp(p->ptx, ".u64") == 0) /* pointers are .u64 */
        return need_text("f32[1024]:rand");
    type = without_start(type, &is_const);
    length = without_end(type, &is_const);
    const char *dtype = element_of(type, length);
    if (!dtype && *p->ptx == '.') /* a typedef or an enum */
        dtype = element_of(p->ptx, strlen(p->ptx));
    const char *part = dtype ? NULL : vector_of(type, length, &count);
    if (part)
        return need_text("%s:{%s}", part, count == 2 ? "1,1" : count == 3 ? "1,1,1" : "1,1,1,1");
    return !dtype ? need_text("{…}")
                  : need_text("%s:%s", dtype, strchr("iu", *dtype) && p->bytes > 1 ? "32" : "1");
}

/* --- the message --- */

/* Returns "--block 256" for the block that the kernel itself gives. The caller frees. */
static char *block_option(const struct ptx_file *f)
{
    int b[3] = {1, 1, 1};
    tw_ptx_block(f->ptx, f->kernel, b);
    return b[2] > 1   ? need_text("--block %d,%d,%d", b[0], b[1], b[2])
           : b[1] > 1 ? need_text("--block %d,%d", b[0], b[1])
                      : need_text("--block %d", b[0]);
}

/* Returns the command line with what is given and what is missing. `block`: NULL: is given. */
static char *whole_command(const struct ptx_params *p, const struct options *o, const char *block)
{
    char *line = need_text("tilewright %s", o->command->name);
    for (int i = 0; i < o->word_count; i++) {
        char *word = shell_word(o->words[i]);
        append_text(&line, " %s", word);
        free(word);
    }
    for (int i = 0; i < o->use_count; i++) {
        const struct option_use *u = &o->uses[i];
        if (strcmp(u->spec->name, "arg") == 0)
            continue;
        append_text(&line, " --%s", u->spec->name);
        for (int n = 0; n < u->spec->values; n++) {
            char *word = shell_word(u->values[n]);
            append_text(&line, " %s", word);
            free(word);
        }
    }
    if (block)
        append_text(&line, " %s", block);
    const struct option_use *given = options_next(o, "arg", NULL);
    for (int i = 0; i < p->count; i++) {
        char *text = given ? need_text("%s", given->values[0]) : argument_for(&p->list[i]);
        char *word = shell_word(text);
        append_text(&line, " --arg %s", word);
        free(word);
        free(text);
        given = given ? options_next(o, "arg", given) : NULL;
    }
    return line;
}

static void list_params(const struct ptx_params *p, const struct options *o)
{
    const struct option_use *given = options_next(o, "arg", NULL);
    for (int i = 0; i < p->count; i++) {
        char *text = ptx_param_text(&p->list[i]);
        complain_more(o->complaints, "%d: %s%s%s", i, text, given ? "   is given: " : "",
                      given ? given->values[0] : "");
        free(text);
        given = given ? options_next(o, "arg", given) : NULL;
    }
}

int ptx_params_refuse(const struct ptx_params *p, const struct ptx_file *f, const struct options *o,
                      bool has_block)
{
    int given = options_count(o, "arg");
    const char *plural = p->count == 1 ? "" : "s";
    if (!has_block)
        complain(o->complaints, "how many threads has a block of %s? --block X, --block X,Y …",
                 f->shown);
    if (p->count <= 0) /* none, or the program is refused */
        return STATUS_USAGE;
    char *bounds = has_block && !options_has(o, "block") ? block_option(f) : NULL;
    char *line = whole_command(p, o, has_block ? bounds : "--block 256");
    if (p->count != given) {
        char *what = need_text("%s takes %d argument%s, %d %s given", f->shown, p->count, plural,
                               given, given == 1 ? "is" : "are");
        if (has_block)
            complain(o->complaints, "%s:", what);
        else
            complain_more(o->complaints, "%s:", what);
        list_params(p, o);
        free(what);
    }
    complain_more(o->complaints,
                  "a line to copy; its sizes and values are placeholders, put yours in: %s", line);
    if (bounds)
        complain_more(o->complaints, "(%s is the limit of the kernel's __launch_bounds__)", bounds);
    if (strstr(line, "{…}"))
        complain_more(o->complaints, "in place of '{…}' goes a struct, its fields in order: "
                                     "'{f32[64]:rand, i32:64}'");
    free(bounds);
    free(line);
    return STATUS_USAGE;
}

/* Thread IR as text. */
#include "thread/thread.h"

#include <inttypes.h>
#include <math.h>

void thread_type_print(struct text *out, struct thread_type type)
{
    if (type.in_flight)
        text_add(out, "flight ");
    text_add(out, type.dtype == DT_NONE ? "map" : dtype_table[type.dtype].name);
    if (type.count > 1)
        text_printf(out, "*%d", type.count);
}

static void print_region(struct text *out, const struct thread_region *r, int depth);

static void indent(struct text *out, int depth)
{
    for (int i = 0; i < depth; i++)
        text_add(out, "    ");
}

static void print_value(struct text *out, const struct thread_value *v)
{
    if (v->name)
        text_printf(out, "%%%s", v->name);
    else
        text_printf(out, "%%_%u", v->number);
}

static void print_element(struct text *out, const struct thread_operand *o)
{
    text_printf(out, "%s[", o->object->name);
    if (o->value)
        print_value(out, o->value);
    if (o->value && o->integer != 0)
        text_printf(out, " + %" PRId64, o->integer);
    else if (!o->value)
        text_printf(out, "%" PRId64, o->integer);
    text_add_char(out, ']');
}

/* Prints a number so that it reads back as a float. */
static void print_float(struct text *out, double real)
{
    if (isnan(real))
        text_add(out, "0d7FF8000000000000");
    else
        text_add_double(out, real, false);
}

static void print_text(struct text *out, const char *text)
{
    text_add_char(out, '"');
    for (const char *c = text; *c; c++)
        switch (*c) {
        case '\n': text_add(out, "\\n"); break;
        case '"':
        case '\\': text_printf(out, "\\%c", *c); break;
        default: text_add_char(out, *c); break;
        }
    text_add_char(out, '"');
}

static void print_operand(struct text *out, const struct thread_operand *o)
{
    switch (o->kind) {
    case THREAD_VALUE: print_value(out, o->value); break;
    case THREAD_INTEGER: text_printf(out, "%" PRId64, o->integer); break;
    case THREAD_FLOAT: print_float(out, o->real); break;
    case THREAD_ELEMENT: print_element(out, o); break;
    case THREAD_TEXT: print_text(out, o->text); break;
    }
}

static void print_list(struct text *out, const struct thread_operation *o, size_t from)
{
    for (size_t i = from; i < o->operands.count; i++) {
        text_add(out, i > from ? ", " : " ");
        print_operand(out, &o->operands.data[i]);
    }
}

static void print_arguments(struct text *out, const struct thread_operation *o)
{
    const struct thread_region *r = o->regions.data[0];
    if (o->unroll)
        text_printf(out, " unroll %u", o->unroll);
    text_add(out, " (");
    for (size_t i = 0; i < r->arguments.count; i++) {
        text_add(out, i ? ", " : "");
        print_value(out, r->arguments.data[i]);
        text_add(out, ": ");
        thread_type_print(out, r->arguments.data[i]->type);
        text_add(out, " = ");
        print_operand(out, &o->operands.data[i]);
    }
    text_add_char(out, ')');
}

static void print_roles(struct text *out, const struct thread_operation *o, int depth)
{
    text_add(out, " {\n");
    for (size_t i = 0; i < o->regions.count; i++) {
        const struct thread_region *r = o->regions.data[i];
        indent(out, depth + 1);
        text_printf(out, "warps %u, %u", r->first_warp, r->warps);
        if (r->registers)
            text_printf(out, " registers %u", r->registers);
        print_region(out, r, depth + 1);
        text_add_char(out, '\n');
    }
    indent(out, depth);
    text_add_char(out, '}');
}

static void print_operation(struct text *out, const struct thread_operation *o, int depth)
{
    const struct thread_op_info *info = &thread_op_table[o->op];
    indent(out, depth);
    for (size_t i = 0; i < o->results.count; i++) {
        text_add(out, i ? ", " : "");
        print_value(out, o->results.data[i]);
    }
    if (o->results.count)
        text_add(out, " = ");
    text_add(out, info->text);
    for (int i = 0; i < info->types; i++)
        text_printf(out, ".%s", dtype_table[o->types[i]].name);
    if (o->op == THREAD_LOOP)
        print_arguments(out, o);
    else
        print_list(out, o, 0);
    if (thread_states_count(o->op) && o->results.data[0]->type.count > 1)
        text_printf(out, " * %d", o->results.data[0]->type.count);
    if (o->op == THREAD_ROLES) {
        print_roles(out, o, depth);
    } else {
        for (size_t i = 0; i < o->regions.count; i++) {
            text_add(out, i ? " else" : "");
            print_region(out, o->regions.data[i], depth);
        }
    }
    text_add_char(out, '\n');
}

static void print_region(struct text *out, const struct thread_region *r, int depth)
{
    text_add(out, " {\n");
    for (size_t i = 0; i < r->operations.count; i++)
        print_operation(out, r->operations.data[i], depth + 1);
    indent(out, depth);
    text_add_char(out, '}');
}

static void print_object(struct text *out, const struct thread_object *o)
{
    indent(out, 1);
    if (o->dtype == DT_NONE)
        text_add(out, "mbarrier");
    else
        text_printf(out, "shared %s", dtype_table[o->dtype].name);
    text_printf(out, " %s[%u] at %u%s\n", o->name, o->count, o->at, o->overlays ? " overlays" : "");
}

static void print_local(struct text *out, const struct thread_object *o)
{
    indent(out, 1);
    text_printf(out, "local %s %s[%u]\n", dtype_table[o->dtype].name, o->name, o->count);
}

static void print_table(struct text *out, const struct thread_object *o)
{
    indent(out, 1);
    text_printf(out, "table %s %s =", dtype_table[o->dtype].name, o->name);
    for (uint32_t i = 0; i < o->count; i++) {
        text_add(out, i ? ", " : " ");
        print_operand(out, &o->values[i]);
    }
    text_add_char(out, '\n');
}

void thread_print(struct text *out, const struct thread_function *f)
{
    text_printf(out, "kernel %s(", f->name);
    for (size_t i = 0; i < f->parameters.count; i++) {
        text_add(out, i ? ", " : "");
        thread_type_print(out, f->parameters.data[i]->type);
        text_add_char(out, ' ');
        print_value(out, f->parameters.data[i]);
        if (f->parameters.data[i]->divisor)
            text_printf(out, " multiple %u", f->parameters.data[i]->divisor);
    }
    text_printf(out, ") threads %u", f->threads);
    if (f->blocks)
        text_printf(out, " blocks %u", f->blocks);
    if (f->cluster[0])
        text_printf(out, " cluster %u, %u, %u", f->cluster[0], f->cluster[1], f->cluster[2]);
    text_printf(out, " target sm_%d", f->target.number);
    if (f->target.suffix)
        text_add_char(out, f->target.suffix);
    text_add(out, " {\n");
    for (size_t i = 0; i < f->tables.count; i++)
        print_table(out, f->tables.data[i]);
    for (size_t i = 0; i < f->locals.count; i++)
        print_local(out, f->locals.data[i]);
    for (size_t i = 0; i < f->objects.count; i++)
        print_object(out, f->objects.data[i]);
    for (size_t i = 0; i < f->body->operations.count; i++)
        print_operation(out, f->body->operations.data[i], 1);
    text_add(out, "}\n");
}

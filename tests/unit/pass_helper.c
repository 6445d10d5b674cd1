#include "pass_helper.h"
#include "api/pass_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static jmp_buf out_of_memory;

void program_open(struct program *p, const char *text)
{
    if (setjmp(out_of_memory) != 0)
        abort();
    arena_init(&p->arena, &allocator_libc, &out_of_memory);
    diag_init(&p->diag, &p->arena);
    p->source = (struct source){p->name ? p->name : "t", text, strlen(text)};
    p->module = lang_parse(&p->arena, &p->diag, &p->source);
}

int program_kernels(const struct program *p)
{
    return p->module ? lang_kernel_count(p->module) : 0;
}

/* Gives every static parameter the one value, if its type can hold it. */
static void choose_statics(struct program *p, int index, struct lang_choice *choice)
{
    const struct lang_kernel *k = lang_kernel(&p->arena, p->module, index, p->target);
    struct literal *values = arena_array(&p->arena, struct literal, k->param_count + 1);
    bool *known = arena_array(&p->arena, bool, k->param_count + 1);
    for (int i = 0; i < k->param_count; i++) {
        if (!k->params[i].is_static || p->statics == 0)
            continue;
        known[i] = true;
        if (k->params[i].dtype == DT_BOOL)
            values[i].i = 1;
        else if (k->params[i].dtype != DT_NONE && dtype_is_float(k->params[i].dtype))
            values[i] = (struct literal){.is_float = true, .f = 0.5};
        else
            values[i].i = p->statics;
    }
    choice->statics = values;
    choice->statics_known = known;
}

bool program_check(struct program *p, int index)
{
    struct lang_choice choice = {.target = p->target};
    if (!p->module)
        return false;
    choose_statics(p, index, &choice);
    p->kernel = lang_check(&p->arena, &p->diag, p->module, index, &choice);
    return p->kernel != NULL;
}

static struct launch_facts facts_of(struct program *p)
{
    struct launch_facts facts = {0};
    int *divisor = arena_array(&p->arena, int, p->kernel->param_count + 1);
    for (int i = 0; i < p->kernel->param_count; i++)
        divisor[i] = p->divisor;
    facts.divisor = p->divisor > 0 ? divisor : NULL;
    return facts;
}

bool program_passes(struct program *p, const char *last)
{
    struct launch_facts facts = facts_of(p);
    struct pass_context c = {.kernel = p->kernel, .diag = &p->diag, .facts = &facts, .sm = p->sm};
    return pass_order_run(&c, last);
}

bool program_pass(struct program *p, const char *name)
{
    struct launch_facts facts = facts_of(p);
    struct pass_context c = {.kernel = p->kernel, .diag = &p->diag, .facts = &facts, .sm = p->sm};
    int errors = p->diag.errors;
    for (int i = 0; i < pass_order_count; i++)
        if (strcmp(pass_order_list[i].name, name) == 0)
            pass_order_list[i].run(&c);
    const char *problem = kernel_verify(&p->arena, p->kernel);
    if (problem && p->diag.errors == errors)
        fail_msg("after %s: %s", name, problem);
    return p->diag.errors == errors;
}

const char *program_text(struct program *p)
{
    struct text t;
    text_init(&t, &p->arena);
    kernel_print(&t, p->kernel);
    return t.data;
}

const char *program_messages(struct program *p)
{
    static const char *const severity[] = {"error", "warning", "note"};
    struct text t;
    text_init(&t, &p->arena);
    text_add(&t, "");
    for (const struct diagnostic *d = p->diag.first; d; d = d->next) {
        int line = 0, column = 0;
        if (d->loc.source)
            loc_line_column(d->loc, &line, &column);
        text_printf(&t, "%d: %s: %s", line, severity[d->severity], d->message);
        for (const struct diagnostic *n = d->notes; n; n = n->next) {
            line = 0;
            if (n->loc.source)
                loc_line_column(n->loc, &line, &column);
            text_printf(&t, " | %d: %s", line, n->message);
        }
        text_add_char(&t, '\n');
    }
    return t.data;
}

void program_free(struct program *p)
{
    arena_free(&p->arena);
}

const char *without_comments(struct arena *a, const char *text)
{
    struct text t;
    text_init(&t, a);
    text_add(&t, "");
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t length = end ? (size_t)(end - text) : strlen(text);
        size_t code = length;
        for (size_t i = 0; i + 1 < length; i++)
            if (text[i] == '/' && text[i + 1] == '/') {
                code = i;
                break;
            }
        while (code > 0 && text[code - 1] == ' ')
            code--;
        if (code > 0 || length == 0)
            text_add_n(&t, text, code);
        if (code > 0 || length == 0)
            text_add_char(&t, '\n');
        text += length + (end ? 1 : 0);
    }
    return t.data;
}

/* Errors and warnings of the verifier, which name the instruction. */
#include "ptx/ptx_verifier.h"

static const char *format_complaint(struct ptx_verifier *v, const char *format, va_list args)
{
    struct text t;
    text_init(&t, v->arena);
    if (v->instruction && !v->where.source) {
        text_add(&t, "in `");
        ptx_print_instruction(&t, v->function, v->instruction);
        text_add(&t, "`: ");
    }
    text_vprintf(&t, format, args);
    return t.data;
}

void ptx_complain(struct ptx_verifier *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = format_complaint(v, format, args);
    va_end(args);
    if (!v->complaint)
        v->complaint = message;
    if (v->diag)
        diag_error(v->diag, v->where, "%s", message);
}

void ptx_warn(struct ptx_verifier *v, const char *format, ...)
{
    if (!v->diag)
        return;
    va_list args;
    va_start(args, format);
    const char *message = format_complaint(v, format, args);
    va_end(args);
    diag_warning(v->diag, v->where, "%s", message);
}

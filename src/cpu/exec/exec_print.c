/* print(): rows of text such as "block (0,0) acc = [[1, 2], …]"; at thread level one row for
 * each running thread. */
#include "base/number.h"
#include "cpu/program.h"
#include "tile/print_row.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 21 };

/* Collects text, so that the caller gets pieces of a useful size. */
struct printer {
    const struct cpu_options *options;
    size_t length;
    char text[1024];
};

static void printer_flush(struct printer *p)
{
    if (p->length && p->options->print)
        p->options->print(p->options->print_user, p->text, p->length);
    p->length = 0;
}

static void printer_add(struct printer *p, const char *text)
{
    for (; *text; text++) {
        if (p->length == sizeof p->text)
            printer_flush(p);
        p->text[p->length++] = *text;
    }
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
printer_format(struct printer *p, const char *format, ...)
{
    char piece[96];
    va_list args;
    va_start(args, format);
    number_vformat(piece, sizeof piece, format, args);
    va_end(args);
    printer_add(p, piece);
}

/* Prints a float like "30.0" and "0.25", and very small or large ones like 1e-05 and 1e+09, with
 * enough digits to read back the same value of the type. */
static void print_float(struct printer *p, enum dtype t, double v)
{
    char text[64];
    double size = fabs(v);
    bool plain = size == 0 || (size > 9.95e-5 && size < 1e9);
    if (isnan(v) || isinf(v)) {
        printer_add(p, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = plain; digits <= MOST_DIGITS; digits++) {
        uint64_t bits = 0, wanted = 0;
        if (plain)
            number_format(text, sizeof text, "%.*f", digits, v);
        else
            number_format(text, sizeof text, "%.*e", digits, v);
        dtype_store_f64(t, &bits, number_read(text, NULL));
        dtype_store_f64(t, &wanted, v);
        if (bits == wanted)
            break;
    }
    printer_add(p, text);
}

static void print_element(struct printer *p, enum dtype t, const void *at)
{
    if (dtype_is_float(t))
        print_float(p, t, dtype_load_f64(t, at));
    else if (t == DT_BOOL)
        printer_add(p, dtype_load_i64(t, at) ? "true" : "false");
    else if (t == DT_U64)
        printer_format(p, "%" PRIu64, (uint64_t)dtype_load_i64(t, at));
    else
        printer_format(p, "%" PRId64, dtype_load_i64(t, at));
}

/* Prints a value by a conversion of a format. A NaN is printed without a sign, because its sign
 * differs between executors. */
static void print_converted(struct printer *p, const struct print_piece *piece, enum dtype t,
                            const void *at)
{
    enum { LONGEST = 512 }; /* room for 309 digits and a precision of 99 */
    char format[PRINT_SPEC + 8], text[LONGEST];
    if (print_of_float(piece->letter)) {
        double v = dtype_load_f64(t, at);
        snprintf(format, sizeof format, "%s%c", piece->spec, piece->letter);
        number_format(text, sizeof text, format, isnan(v) ? fabs((double)NAN) : v);
    } else {
        enum dtype shown = print_type(piece->letter, t);
        int64_t v = dtype_wrap(shown, dtype_load_i64(t, at));
        char letter = t == DT_U64 && strchr("di", piece->letter) ? 'u' : piece->letter;
        snprintf(format, sizeof format, "%sll%c", piece->spec, letter);
        number_format(text, sizeof text, format, (long long)v);
    }
    printer_add(p, text);
}

/* Prints the text of a format: %% is a percent sign. */
static void print_text(struct printer *p, const struct print_piece *piece)
{
    for (size_t i = 0; i < piece->length; i += piece->text[i] == '%' ? 2 : 1)
        printer_add(p, (const char[]){piece->text[i], 0});
}

/* Prints an axis; elements are `step` apart along it. */
static void print_axis(struct printer *p, const struct print_item *item, int axis, int64_t step,
                       const unsigned char *at)
{
    size_t size = dtype_size(item->dtype);
    if (axis == item->rank) {
        if (item->piece.letter)
            print_converted(p, &item->piece, item->dtype, at);
        else
            print_element(p, item->dtype, at);
        return;
    }
    int64_t n = item->extent[axis], first = 0, end = n;
    const struct print_window *window = item->window;
    if (window) {
        first = window->first[axis];
        end = first + window->count[axis];
    }
    step /= n;
    printer_add(p, "[");
    for (int64_t i = first; i < end; i++) {
        if (!window && n > PRINT_ALONE && i == PRINT_ENDS) {
            printer_add(p, ", …");
            i = n - PRINT_ENDS;
        }
        if (i > first)
            printer_add(p, ", ");
        print_axis(p, item, axis + 1, step, at + (size_t)(i * step) * item->lanes * size);
    }
    printer_add(p, "]");
}

static void print_row(struct printer *p, const struct frame *f, const struct print_detail *d,
                      int lane)
{
    const struct kernel *k = f->program->kernel;
    printer_format(p, "block (%" PRId64 ",%" PRId64, f->block[0], f->block[1]);
    printer_format(p, k->grid[2] ? ",%" PRId64 ")" : ")", f->block[2]);
    if (lane >= 0) {
        int x = k->threads[0], y = k->threads[1] > 0 ? k->threads[1] : 1;
        printer_format(p, " thread (%d,%d", lane % x, lane / x % y);
        printer_format(p, k->threads[2] > 1 ? ",%d)" : ")", lane / x / y);
    }
    if (d->is_format)
        printer_add(p, " ");
    else if (d->label)
        printer_format(p, d->count ? " %.80s =" : " %.80s", d->label);
    for (int i = 0; i < d->count; i++) {
        const struct print_item *item = &d->item[i];
        int64_t elements = 1;
        for (int axis = 0; axis < item->rank; axis++)
            elements *= item->extent[axis];
        if (d->is_format)
            print_text(p, &item->piece);
        else if (item->text)
            printer_format(p, "%s %.60s =", i > 0 ? "," : "", item->text);
        else if (i > 0)
            printer_add(p, ",");
        printer_add(p, d->is_format ? "" : " ");
        size_t skip = item->lanes > 1 && lane > 0 ? (size_t)lane * dtype_size(item->dtype) : 0;
        print_axis(p, item, 0, elements, f->memory + item->at + skip);
    }
    if (d->is_format)
        print_text(p, &d->rest);
    printer_add(p, "\n");
}

void step_print(struct frame *f, const struct instr *in)
{
    const struct print_detail *d = in->detail;
    struct printer p = {.options = f->launch->options};
    if (!p.options->print)
        return;
    if (!d->by_thread) {
        print_row(&p, f, d, -1);
    } else {
        const uint8_t *mask = frame_mask(f, in->mask);
        for (uint32_t lane = 0; lane < f->program->lanes; lane++)
            if (!mask || mask[lane])
                print_row(&p, f, d, (int)lane);
    }
    printer_flush(&p);
}

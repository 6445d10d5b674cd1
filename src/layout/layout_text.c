/* Prints and parses layouts. The grammar is in layout_text.h; the names are layout_axis_names. */
#include "layout/layout_text.h"

#include "base/text.h"

#include <string.h>

/* --- Printing --- */

static bool lone_place(const struct layout *l)
{
    return l->out_count == 1 && l->outs[0].axis == AXIS_AT;
}

static bool plain_dims(const struct layout *l)
{
    for (int j = 0; j < l->out_count; j++)
        if (l->outs[j].axis != AXIS_DIM(j))
            return false;
    return true;
}

static bool all_zero(const struct layout *l, const int32_t *numbers)
{
    for (int j = 0; j < l->out_count; j++)
        if (numbers[j])
            return false;
    return true;
}

static void print_step(struct text *out, const struct layout *l, const int32_t *numbers)
{
    if (all_zero(l, numbers)) {
        text_add_char(out, '0');
        return;
    }
    for (int j = 0; j < l->out_count; j++)
        text_printf(out, lone_place(l) ? "%d" : "[%d]", (int)numbers[j]);
}

/* Prints a digit whose xor shares bits with others, as the normal form has it. */
static void print_bit(struct text *out, const struct layout *l, const struct layout_digit *d)
{
    text_add_char(out, '^');
    print_step(out, l, d->xor);
    if (!all_zero(l, d->add)) {
        text_add_char(out, '+');
        print_step(out, l, d->add);
    }
}

/* Prints the digits of counter i. `plain` has the same digits with private bits as additions, so
 * that neighbours that continue each other are printed as one. */
static void print_counter(struct text *out, const struct layout *l, const struct layout *plain,
                          int i)
{
    const char *comma = "";
    text_printf(out, "%s(", layout_axis_names[l->ins[i].axis]);
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].in != i)
            continue;
        text_add(out, comma);
        comma = ", ";
        if (!all_zero(l, plain->digits[d].xor)) {
            print_bit(out, l, &l->digits[d]);
            continue;
        }
        int32_t extent = plain->digits[d].extent;
        const int32_t *step = plain->digits[d].add;
        for (bool more = true; more && d + 1 < l->digit_count;) {
            const struct layout_digit *up = &plain->digits[d + 1];
            more = up->in == i && all_zero(l, up->xor);
            for (int j = 0; more && j < l->out_count; j++)
                more = up->add[j] == (int64_t)step[j] * extent;
            if (more) {
                extent *= up->extent;
                d++;
            }
        }
        text_printf(out, "%d:", (int)extent);
        print_step(out, l, step);
    }
    text_add_char(out, ')');
}

void layout_print(struct text *out, const struct layout *l)
{
    struct layout plain = *l;
    layout_demote(&plain);
    text_add(out, "layout(");
    for (int i = 0; i < l->in_count; i++) {
        text_add(out, i ? ", " : "");
        print_counter(out, l, &plain, i);
    }
    text_add(out, " -> ");
    for (int j = 0; j < l->out_count; j++) {
        if (lone_place(l))
            text_printf(out, "%d", (int)l->outs[j].extent);
        else if (plain_dims(l))
            text_printf(out, "[%d]", (int)l->outs[j].extent);
        else
            text_printf(out, "[%s %d]", layout_axis_names[l->outs[j].axis], (int)l->outs[j].extent);
    }
    if (!all_zero(l, l->offset)) {
        text_add(out, " offset ");
        print_step(out, l, l->offset);
    }
    if (!all_zero(l, l->flip)) {
        text_add(out, " flip ");
        print_step(out, l, l->flip);
    }
    text_add_char(out, ')');
}

/* --- Parsing --- */

struct reader {
    const char *text;
    size_t length, at;
    const char *why; /* the first error */
    size_t why_at;
};

static void fail(struct reader *r, const char *why)
{
    if (!r->why) {
        r->why = why;
        r->why_at = r->at;
    }
}

static char peek(struct reader *r)
{
    while (r->at < r->length && text_is_blank(r->text[r->at]))
        r->at++;
    return r->at < r->length ? r->text[r->at] : '\0';
}

static bool accept(struct reader *r, char c)
{
    if (r->why || peek(r) != c)
        return false;
    r->at++;
    return true;
}

static void expect(struct reader *r, char c, const char *why)
{
    if (!accept(r, c))
        fail(r, why);
}

static bool accept_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    peek(r);
    if (r->why || r->length - r->at < n || memcmp(r->text + r->at, word, n) != 0 ||
        (r->at + n < r->length &&
         (text_is_letter(r->text[r->at + n]) || text_is_digit(r->text[r->at + n]))))
        return false;
    r->at += n;
    return true;
}

static int32_t number(struct reader *r)
{
    bool negative = accept(r, '-');
    int64_t value = 0;
    if (!text_is_digit((char)peek(r)))
        fail(r, "expected a number");
    for (; !r->why && r->at < r->length && text_is_digit(r->text[r->at]); r->at++) {
        value = value * 10 + (r->text[r->at] - '0');
        if (value > INT32_MAX)
            fail(r, "the number is too large");
    }
    return r->why ? 0 : (int32_t)(negative ? -value : value);
}

static int32_t extent(struct reader *r)
{
    int32_t n = number(r);
    if (n < 1)
        fail(r, "an extent is at least 1");
    return n;
}

/* A digit as read. Results follow the order of the arrow's right side, which comes last in the
 * text, so steps are kept until then. */
struct step {
    int count;
    int32_t numbers[LAYOUT_OUTS];
};

static struct step read_step(struct reader *r)
{
    struct step s = {.count = 0};
    if (peek(r) != '[') {
        s.numbers[0] = number(r);
        s.count = s.numbers[0] ? 1 : 0;
        return s;
    }
    while (accept(r, '[')) {
        if (s.count == LAYOUT_OUTS) {
            fail(r, "too many results");
            return s;
        }
        s.numbers[s.count++] = number(r);
        expect(r, ']', "expected ']'");
    }
    return s;
}

struct read_digit {
    enum layout_axis in;
    int32_t extent;
    struct step xor, add;
};

struct read_layout {
    struct read_digit digits[LAYOUT_DIGITS];
    int digit_count, in_count;
    enum layout_axis ins[LAYOUT_INS];
    struct layout_dim outs[LAYOUT_OUTS];
    int out_count;
    struct step offset, flip;
};

static enum layout_axis read_axis(struct reader *r)
{
    for (int a = 0; a < AXIS_COUNT; a++)
        if (accept_word(r, layout_axis_names[a]))
            return (enum layout_axis)a;
    fail(r, "expected reg, lane, warp, block, stage, d0 to d5 or at");
    return AXIS_REG;
}

static void read_one_digit(struct reader *r, enum layout_axis in, struct read_layout *l)
{
    struct read_digit d = {.in = in, .extent = 2};
    if (l->digit_count == LAYOUT_DIGITS) {
        fail(r, "too many digits");
        return;
    }
    if (accept(r, '^')) {
        d.xor = read_step(r);
        if (accept(r, '+'))
            d.add = read_step(r);
    } else {
        d.extent = extent(r);
        expect(r, ':', "expected ':' and a step");
        d.add = read_step(r);
    }
    l->digits[l->digit_count++] = d;
}

static void read_counter(struct reader *r, struct read_layout *l)
{
    enum layout_axis in = read_axis(r);
    for (int i = 0; i < l->in_count; i++)
        if (l->ins[i] == in)
            fail(r, "this counter was there before");
    if (l->in_count == LAYOUT_INS)
        fail(r, "too many counters");
    if (r->why)
        return;
    l->ins[l->in_count++] = in;
    expect(r, '(', "expected '('");
    if (accept(r, ')'))
        return;
    do
        read_one_digit(r, in, l);
    while (accept(r, ','));
    expect(r, ')', "expected ',' or ')'");
}

static void read_outs(struct reader *r, struct read_layout *l)
{
    if (peek(r) == ')') /* a single number, without axes */
        return;
    if (peek(r) != '[') {
        l->outs[l->out_count++] = (struct layout_dim){AXIS_AT, extent(r)};
        return;
    }
    while (accept(r, '[')) {
        if (l->out_count == LAYOUT_OUTS) {
            fail(r, "too many results");
            return;
        }
        struct layout_dim out = {.axis = AXIS_DIM(l->out_count)};
        if (text_is_letter((char)peek(r)))
            out.axis = read_axis(r);
        out.extent = extent(r);
        for (int j = 0; j < l->out_count; j++)
            if (l->outs[j].axis >= out.axis)
                fail(r, "results are in the order reg, lane, warp, block, stage, d0, ..., at");
        l->outs[l->out_count++] = out;
        expect(r, ']', "expected ']'");
    }
}

static void give_step(struct reader *r, const struct step *s, int outs, int32_t *numbers)
{
    if (s->count && s->count != outs)
        fail(r, "a step has a number for each result");
    else
        memcpy(numbers, s->numbers, (size_t)s->count * sizeof *numbers);
}

static void assemble(struct reader *r, const struct read_layout *from, struct layout *out)
{
    layout_init(out);
    for (int j = 0; j < from->out_count; j++)
        layout_add_out(out, from->outs[j].axis, from->outs[j].extent);
    give_step(r, &from->offset, from->out_count, out->offset);
    give_step(r, &from->flip, from->out_count, out->flip);
    for (int i = 0; i < from->in_count; i++)
        layout_add_free(out, from->ins[i], 1);
    int64_t size = 1;
    for (int d = 0; d < from->digit_count && !r->why; d++) {
        const struct read_digit *digit = &from->digits[d];
        size *= digit->extent;
        if (size > INT32_MAX || out->digit_count > LAYOUT_DIGITS - 32) {
            fail(r, "the layout is too large");
            return;
        }
        if (digit->extent == 1)
            continue;
        layout_add_free(out, digit->in, digit->extent);
        int at = 0, i = layout_in_index(out, digit->in);
        for (int n = 0; n < out->digit_count; n++)
            at = out->digits[n].in == i ? n : at;
        give_step(r, &digit->xor, from->out_count, out->digits[at].xor);
        give_step(r, &digit->add, from->out_count, out->digits[at].add);
    }
    for (int j = 0; j < from->out_count; j++) {
        bool negative = out->flip[j] < 0;
        for (int d = 0; d < out->digit_count; d++)
            negative |= out->digits[d].xor [j] < 0;
        if (negative)
            fail(r, "bits to xor are not negative");
    }
    if (!r->why)
        layout_normalise(out);
}

size_t layout_parse(const char *text, size_t length, struct layout *out, const char **why,
                    size_t *at)
{
    struct reader r = {.text = text, .length = length};
    struct read_layout l = {.digit_count = 0};
    if (!accept_word(&r, "layout"))
        fail(&r, "expected 'layout'");
    expect(&r, '(', "expected '('");
    if (peek(&r) != '-')
        do
            read_counter(&r, &l);
        while (accept(&r, ','));
    if (!accept(&r, '-') || !accept(&r, '>'))
        fail(&r, "expected ',' or '->'");
    read_outs(&r, &l);
    if (accept_word(&r, "offset"))
        l.offset = read_step(&r);
    if (accept_word(&r, "flip"))
        l.flip = read_step(&r);
    expect(&r, ')', "expected ')'");
    if (!r.why)
        assemble(&r, &l, out);
    *why = r.why;
    *at = r.why_at;
    return r.why ? 0 : r.at;
}

/* sum = product { ("+" | "-") product }, product = factor { ("*" | "/") factor },
 * factor = NUMBER | NAME | ("cdiv" | "min" | "max") "(" sum "," sum ")" | "(" sum ")" | "-" factor */
#include "learn/learn_formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct formula {
    const char *at;
    const struct formula_names *names;
    const char *wrong;
    int depth;
};

enum { NAME_BYTES = 64, DEEPEST = 64 };

static double sum(struct formula *f);

static double fail(struct formula *f, const char *why)
{
    if (!f->wrong)
        f->wrong = why;
    return 0;
}

static void skip_blanks(struct formula *f)
{
    while (isblank((unsigned char)*f->at))
        f->at++;
}

static bool take(struct formula *f, char c)
{
    skip_blanks(f);
    bool found = *f->at == c;
    f->at += found;
    skip_blanks(f);
    return found;
}

static double call(struct formula *f, const char *name)
{
    double a = sum(f);
    if (!take(f, ','))
        return fail(f, "a function takes two values, with a comma between them");
    double b = sum(f);
    if (!take(f, ')'))
        return fail(f, "expected ')'");
    if (strcmp(name, "cdiv") == 0)
        return b != 0 ? ceil(a / b) : fail(f, "a division by zero");
    if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
        return (a < b) == (name[1] == 'i') ? a : b;
    return fail(f, "there is no such function; there are cdiv, min and max");
}

static double named(struct formula *f)
{
    char name[NAME_BYTES];
    size_t length = 0;
    double value = 0;
    while (isalnum((unsigned char)f->at[length]) || f->at[length] == '_')
        length++;
    if (length >= sizeof name)
        return fail(f, "the name is too long");
    memcpy(name, f->at, length);
    name[length] = '\0';
    f->at += length;
    if (take(f, '('))
        return call(f, name);
    if (!f->names->value(f->names->user, name, &value))
        return fail(f, "nothing has this name");
    return value;
}

static double factor(struct formula *f)
{
    skip_blanks(f);
    double value = 0;
    if (++f->depth > DEEPEST) {
        value = fail(f, "the expression is too deep");
    } else if (take(f, '-')) {
        value = -factor(f);
    } else if (take(f, '(')) {
        value = sum(f);
        if (!take(f, ')'))
            fail(f, "expected ')'");
    } else if (isdigit((unsigned char)*f->at)) {
        char *end;
        value = strtod(f->at, &end);
        f->at = end;
    } else if (isalpha((unsigned char)*f->at) || *f->at == '_') {
        value = named(f);
    } else {
        fail(f, "expected a number, a name or '('");
    }
    f->depth--;
    return value;
}

static double product(struct formula *f)
{
    double value = factor(f);
    while (!f->wrong) {
        if (take(f, '*')) {
            value *= factor(f);
        } else if (take(f, '/')) {
            double by = factor(f);
            value = by != 0 ? value / by : fail(f, "a division by zero");
        } else {
            break;
        }
    }
    return value;
}

static double sum(struct formula *f)
{
    double value = product(f);
    while (!f->wrong) {
        if (take(f, '+'))
            value += product(f);
        else if (take(f, '-'))
            value -= product(f);
        else
            break;
    }
    return value;
}

const char *formula_value(const char **at, const struct formula_names *names, double *out)
{
    struct formula f = {.at = *at, .names = names};
    *out = sum(&f);
    *at = f.at;
    return f.wrong;
}

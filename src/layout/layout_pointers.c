/* Rows that lanes point to, and places that the index of a part adds. */
#include "layout/layout_access.h"

/* --- matrices --- */

static void add_step(struct layout *m, enum layout_axis axis, int32_t extent, struct place_share s)
{
    layout_add_free(m, axis, extent);
    int in = layout_in_index(m, axis);
    for (int d = m->digit_count - 1; extent > 1 && d >= 0; d--)
        if (m->digits[d].in == in) {
            m->digits[d].xor [0] = s.xor ;
            m->digits[d].add[0] = s.add;
            return;
        }
}

static bool tells_matrices(const struct access *how, int32_t weight)
{
    return (how->matrices > 1 && weight == how->matrix[0]) ||
           (how->matrices > 2 && weight == how->matrix[1]);
}

/* Lane i gives the row i % 8 of matrix i / 8. The registers that tell matrices apart are the lanes' then. */
void layout_access_rows(const struct layout *composed, const struct access *how, struct layout *out)
{
    bool trans = how->kind == ACCESS_MATRIX_TRANS;
    layout_init(out);
    layout_add_out(out, AXIS_AT, composed->outs[0].extent);
    out->flip[0] = composed->flip[0];
    out->offset[0] = composed->offset[0];
    for (int d = 0; d < composed->digit_count; d++) {
        const struct layout_digit *digit = &composed->digits[d];
        enum layout_axis axis = composed->ins[digit->in].axis;
        struct place_share s = {digit->xor [0], digit -> add[0]};
        if (axis == AXIS_REG && tells_matrices(how, layout_weight(composed, d)))
            s = (struct place_share){0, 0};
        if (axis != AXIS_LANE)
            add_step(out, axis, digit->extent, s);
    }
    for (int b = 0; b < 3; b++)
        if (!trans)
            add_step(out, AXIS_LANE, 2, layout_share(composed, 0, AXIS_LANE, 4 << b));
        else if (b == 0)
            add_step(out, AXIS_LANE, 2, layout_share(composed, 0, AXIS_REG, how->elements / 2));
        else
            add_step(out, AXIS_LANE, 2, layout_share(composed, 0, AXIS_LANE, 1 << (b - 1)));
    for (int b = 0; b < 2; b++) {
        struct place_share s = {0, 0};
        if (how->matrices > 1 << b)
            s = layout_share(composed, 0, AXIS_REG, how->matrix[b]);
        add_step(out, AXIS_LANE, 2, s);
    }
}

/* --- parts --- */

bool layout_own_digits(struct layout *m, int in, int64_t length, int64_t divisor)
{
    for (int d = 0; d < m->digit_count; d++) {
        struct layout_digit *digit = &m->digits[d];
        int64_t weight = layout_weight(m, d), end = weight * digit->extent;
        if (digit->in != in)
            continue;
        if (weight >= length && digit->xor [0])
            return false;
        if (weight < length && divisor % end)
            return false;
        if (weight < length)
            digit->xor [0] = digit->add[0] = 0;
    }
    return true;
}

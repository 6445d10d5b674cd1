/* Places of rows of views that are read or stored in place (struct row_place). */
#include "cpu/exec/exec_access.h"
#include "cpu/strips.h"

struct row_place exec_row_place(const struct launch_state *l, const struct access *a)
{
    const struct view_binding *view = &l->views[a->view];
    int64_t size = (int64_t)a->size;
    bool there = view->base && view->stride[a->rank - 1] == 1 && !(a->stays && view->is_overlaid);
    struct row_place row = {.first = view->base};
    for (int i = 0; i < a->rank; i++) {
        const struct access_axis *axis = &a->axis[i];
        int64_t count = view->extent[i] - axis->extent + 1;
        there &= axis->extent > 0 && count > 0;
        if (axis->kind != IX_ALL)
            row.axis[row.axes++] = (struct row_axis){axis->at, axis->wide, axis->block_axis, count,
                                                     stride_times(view->stride[i], size)};
    }
    return there ? row : (struct row_place){.first = NULL};
}

unsigned char *exec_row_in_view(const struct frame *f, const struct access *a)
{
    const struct row_place *row = &f->launch->rows[a->row];
    unsigned char *at = row->first;
    for (int i = 0; i < row->axes; i++) {
        const struct row_axis *axis = &row->axis[i];
        int64_t index = index_value(frame_at(f, axis->at), axis->wide, 0);
        if (index < 0 || index >= axis->count)
            return NULL;
        at += index * axis->step;
    }
    return at;
}

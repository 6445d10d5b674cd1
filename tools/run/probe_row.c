/* Prints the parts of a row of --probe or --break. */
#include "run/run_probe.h"

#include <stdlib.h>

void probe_row_free(struct probe_row *row)
{
    free(row->counters);
    free(row->value);
}

void probe_row_print_place(const struct run_probe *p, const struct probe_row *row)
{
    const int64_t *b = p->options.block;
    printf(" block (%lld,%lld,%lld)", (long long)b[0], (long long)b[1], (long long)b[2]);
    if (row->thread[0] >= 0)
        printf(" thread (%d,%d,%d)", row->thread[0], row->thread[1], row->thread[2]);
    if (*row->counters)
        print_text(stdout, " %s", row->counters);
}

void probe_row_print_type(const tw_probe_site *site)
{
    fputs(tw_dtype_name(site->type), stdout);
    for (int i = 0; i < site->rank; i++)
        printf("[%lld]", (long long)site->shape[i]);
}

void probe_row_print_value(const struct probe_row *row, int rank, int indent)
{
    const char *text = row->value;
    putchar(rank > 1 ? '\n' : ' ');
    if (rank > 1)
        printf("%*s", indent, "");
    for (int depth = 0; *text; text++) {
        depth += *text == '[' ? 1 : *text == ']' ? -1 : 0;
        putchar(*text);
        if (*text == ',' && depth < rank) {
            printf("\n%*s", indent + depth, "");
            text += text[1] == ' ';
        }
    }
    putchar('\n');
}

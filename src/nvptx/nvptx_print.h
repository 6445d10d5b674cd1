/* Text that a thread prints: constant texts, and functions that the module has of its own, which write numbers as text.
 *
 * A row goes to the host as one string, or as a format with its values, so that rows of other threads do not come between its
 * parts. The thread writes it to memory: nvptx_print_row, or shared memory. Addresses are generic, .b64. */
#ifndef TW_NVPTX_PRINT_H
#define TW_NVPTX_PRINT_H

#include "base/dtype.h"
#include "base/name_table.h"
#include "ptx/ptx_build.h"

struct nvptx_printer {
    struct ptx_builder *build;
    struct name_table texts;  /* text → its variable */
    struct ptx_variable *row; /* memory of a thread for its rows; NULL: none yet */
};
/* `build` has begun a module. */
void nvptx_print_start(struct nvptx_printer *p, struct ptx_builder *build);

/* Returns the address of memory of the thread. All its rows use the same, one after the other. */
struct ptx_operand nvptx_print_row(struct nvptx_printer *p, int64_t bytes);
/* Returns the generic address of one in shared memory, a .b32. */
struct ptx_operand nvptx_print_shared(struct nvptx_printer *p, struct ptx_operand address);

/* Write at an address, and return the address after what they wrote, where they leave a 0. */
struct ptx_operand nvptx_print_text(struct nvptx_printer *p, struct ptx_operand at,
                                    const char *text);
/* x: a predicate */
struct ptx_operand nvptx_print_bool(struct nvptx_printer *p, struct ptx_operand at,
                                    struct ptx_operand x);
/* Returns the type of 8 bytes in which numbers of type t are printed: f64, i64 or u64. */
enum dtype nvptx_print_type(enum dtype t);
/* x: a number of type t as one of nvptx_print_type, in a register. A float gets the fewest digits that read back as the same
 * value of t. */
struct ptx_operand nvptx_print_number(struct nvptx_printer *p, struct ptx_operand at, enum dtype t,
                                      struct ptx_operand x);
/* Prints the text at the address. */
void nvptx_print_show(struct nvptx_printer *p, struct ptx_operand row);

/* Stores value `number` of a format's values, of 8 bytes each. t: f64, i64 or u64 */
void nvptx_print_store(struct nvptx_printer *p, struct ptx_operand values, int64_t number,
                       enum dtype t, struct ptx_operand x);
/* Prints a format of C's printf with the values at the address. */
void nvptx_print_format(struct nvptx_printer *p, struct ptx_operand values, const char *format);

/* Tells the simulator that a claim is false: a function of its own is called, with what to say and four values, .b64. */
enum { NVPTX_CLAIM_VALUES = 4 };
void nvptx_print_claim(struct nvptx_printer *p, bool is_inside, const char *text,
                       const struct ptx_operand *values);

/* The items of $print_show, $print_formatted, $print_text, $print_digits, $print_signed and $print_float. */
extern const char *const nvptx_print_items[];

#endif

#include "ptx/ptx_coverage.h"

#include <string.h>

/* --- texts for the page alone: sections of the PTX ISA, the purpose of each instruction --- */

#define INTEGER(x) "integer-arithmetic-instructions-" x
#define EXTENDED(x) "extended-precision-integer-arithmetic-instructions-" x
#define FLOATING(x) "floating-point-instructions-" x
#define HALF(x) "half-precision-floating-point-instructions-" x
#define MIXED(x) "mixed-precision-floating-point-instructions-" x
#define COMPARISON(x) "comparison-and-selection-instructions-" x
#define HALF_COMPARISON(x) "half-precision-comparison-instructions-" x
#define LOGIC_SHIFT(x) "logic-and-shift-instructions-" x
#define DATA(x) "data-movement-and-conversion-instructions-" x
#define FLOW(x) "control-flow-instructions-" x
#define PARALLEL(x) "parallel-synchronization-and-communication-instructions-" x
#define WARP_MATRIX(x) "warp-level-matrix-instructions-" x
#define WARPGROUP(x) "asynchronous-warpgroup-level-matrix-instructions-" x
#define TCGEN05(x) "tcgen05-instructions-" x
#define STACK(x) "stack-manipulation-instructions-" x
#define SIMD_VIDEO(x) "simd-video-instructions-" x
#define MISC(x) "miscellaneous-instructions-" x

static const char *const form_sections[] = {
#define OP(id, name, what)
#define FORM(id, anchor, ...) anchor,
#include "ptx/ptx_instructions.def"
#undef OP
#undef FORM
};
static const char *const op_what[PTX_OP_COUNT] = {
#define OP(id, name, what) what,
#define FORM(...)
#include "ptx/ptx_instructions.def"
#undef OP
#undef FORM
};
static const char *const special_what[PTX_SPECIAL_COUNT] = {
#define SPECIAL(id, name, type, version, target, what) what,
#include "ptx/ptx_special.def"
#undef SPECIAL
};

/* --- syntax --- */

enum { LISTED = 6 }; /* number of alternatives that the syntax lists */

static void add_alternatives(struct text *out, const struct ptx_group *group)
{
    for (int i = 0; i < group->count; i++) {
        uint16_t mod = group->mods[i];
        if (i == LISTED && group->count > LISTED + 1) {
            text_printf(out, "/…%d more", group->count - LISTED);
            return;
        }
        text_printf(out, "%s.%s", i ? "/" : "", mod == MOD_SAME0 ? "dtype" : ptx_mods[mod].text);
    }
}

static void add_group(struct text *out, const struct ptx_group *group)
{
    if (group->optional) {
        text_add(out, "{");
        add_alternatives(out, group);
        text_add(out, "}");
    } else if (group->count > 1) {
        text_add(out, "(");
        add_alternatives(out, group);
        text_add(out, ")");
    } else {
        add_alternatives(out, group);
    }
}

static const char *slot_name(const struct ptx_slot *slot)
{
    switch ((enum ptx_slot_kind)slot->kind) {
    case SLOT_DESTINATION: return slot->type == MOD_PRED ? "p" : "d";
    case SLOT_SOURCE: return slot->when == MOD_L2_CACHE_HINT ? "policy" : "a";
    case SLOT_PREDICATE: return "{!}p";
    case SLOT_ADDRESS: return "[addr]";
    case SLOT_TENSOR: return "[map, {coordinates}]";
    case SLOT_TENSOR_MEMORY: return "[taddr]";
    case SLOT_IMMEDIATE: return "imm";
    case SLOT_VECTOR: return "{…}";
    case SLOT_OFFSETS: return "{offsets}";
    case SLOT_LANES: return "{lanes}";
    case SLOT_FRAGMENT:
        return slot->low == 'd'   ? "{d}"
               : slot->low == 'a' ? "{a}"
               : slot->low == 'b' ? "{b}"
               : slot->low == 'c' ? "{c}"
                                  : "{registers}";
    case SLOT_MOVED: return "a";
    case SLOT_SYMBOL: return "a";
    case SLOT_PACK: return "{parts}";
    case SLOT_SINK: return "_";
    case SLOT_BARRIER: return "barrier";
    case SLOT_LABEL: return "label";
    case SLOT_TARGETS: return "targets";
    case SLOT_CALL: return "(results), function, (arguments), targets";
    }
    return "a";
}

void ptx_form_syntax(struct text *out, const struct ptx_form *form)
{
    text_add(out, ptx_ops[form->op].name);
    for (struct ptx_group group = ptx_first_group(form); group.mods;
         group = ptx_next_group(form, group))
        add_group(out, &group);
    const char *before = " ";
    char letter = 'a';
    for (size_t i = 0; i < form->slots; i++) {
        const struct ptx_slot *slot = &form->slot[i];
        bool maybe = (slot->flags & SLOT_OPTIONAL) || slot->when;
        const char *name = slot_name(slot);
        text_add(out, maybe ? "{" : "");
        text_add(out, slot->flags & SLOT_JOINED ? "|" : before);
        if (strcmp(name, "a") == 0)
            text_add_char(out, letter++);
        else
            text_add(out, name);
        text_add(out, maybe ? "}" : "");
        before = ", ";
    }
}

/* --- the page --- */

/* The oldest version and target of this project: the page does not mention older ones. */
enum { OLDEST_VERSION = 60, OLDEST_TARGET = 70 };

static const struct {
    const char *prefix, *title;
} sections[] = {{"integer-arithmetic-instructions-", "Integer arithmetic"},
                {"extended-precision-integer-arithmetic-instructions-", "Integers with carry"},
                {"floating-point-instructions-", "Floating point"},
                {"half-precision-floating-point-instructions-", "Half precision"},
                {"mixed-precision-floating-point-instructions-", "Mixed precision"},
                {"comparison-and-selection-instructions-", "Comparison and selection"},
                {"half-precision-comparison-instructions-", "Comparison in half precision"},
                {"logic-and-shift-instructions-", "Logic and shift"},
                {"data-movement-and-conversion-instructions-", "Data movement and conversion"},
                {"control-flow-instructions-", "Control flow"},
                {"parallel-synchronization-and-communication-instructions-",
                 "Synchronisation and communication"},
                {"warp-level-matrix-instructions-", "Matrices of a warp"},
                {"asynchronous-warpgroup-level-matrix-instructions-", "Matrices of a warpgroup"},
                {"tcgen05-", "Tensor memory"},
                {"tcgen-", "Tensor memory: completion"},
                {"stack-manipulation-instructions-", "Stack"},
                {"simd-video-instructions-", "Bytes and halves of a register"},
                {"miscellaneous-instructions-", "Miscellaneous"}};

static void add_row(struct text *out, const struct ptx_form *form)
{
    char target[128];
    ptx_target_name(form->target, target, sizeof target);
    if (form->version < OLDEST_VERSION)
        text_add(out, "     ");
    else
        text_printf(out, "%d.%d  ", form->version / 10, form->version % 10);
    text_printf(out, "%-7s  ", form->target < OLDEST_TARGET ? "" : target);
    ptx_form_syntax(out, form);
    text_add_char(out, '\n');
}

/* Writes the forms of an instruction in one section. */
static void add_instruction(struct text *out, const char *section, int op)
{
    text_printf(out, "\n[**%s**](%s%s): %s\n\n```text\n", ptx_ops[op].name,
                "https://docs.nvidia.com/cuda/parallel-thread-execution/#", section, op_what[op]);
    for (size_t i = 0; i < ptx_form_count; i++)
        if (ptx_forms[i].op == op && strcmp(form_sections[i], section) == 0)
            add_row(out, &ptx_forms[i]);
    text_add(out, "```\n");
}

static void add_section(struct text *out, const char *prefix, const char *title)
{
    text_printf(out, "\n## %s\n", title);
    for (size_t i = 0; i < ptx_form_count; i++) {
        const struct ptx_form *form = &ptx_forms[i];
        bool listed = false; /* an earlier form of this section listed it */
        for (size_t k = i; k > 0 && ptx_forms[k - 1].op == form->op; k--)
            listed |= strcmp(form_sections[k - 1], form_sections[i]) == 0;
        if (!listed && strncmp(form_sections[i], prefix, strlen(prefix)) == 0)
            add_instruction(out, form_sections[i], form->op);
    }
}

static void add_specials(struct text *out)
{
    text_add(out, "\n## Special registers\n\n| register | type | PTX | target | what |\n"
                  "|---|---|---|---|---|\n");
    for (int i = 0; i < PTX_SPECIAL_COUNT; i++) {
        const struct ptx_special_info *s = &ptx_specials[i];
        char target[32];
        ptx_target_name(s->target, target, sizeof target);
        text_printf(out, "| `%s` | .%s | ", s->name, ptx_mods[s->type].text);
        if (s->version >= OLDEST_VERSION)
            text_printf(out, "%d.%d", s->version / 10, s->version % 10);
        text_printf(out, " | %s | %s |\n", s->target < OLDEST_TARGET ? "" : target,
                    special_what[i]);
    }
}

static void add_left_out(struct text *out)
{
    text_add(out, "\n## Left out\n\n");
    for (size_t i = 0; i < ptx_left_out_count; i++) {
        text_printf(out, "- %s:", ptx_left_out[i].family);
        for (const char *const *name = ptx_left_out[i].names; *name; name++)
            text_printf(out, "%s `%s`", name == ptx_left_out[i].names ? "" : ",", *name);
        text_add_char(out, '\n');
    }
    text_add(out,
             "- modules with 32-bit addresses\n"
             "\nThe parser turns a vector of registers into its elements `v.x`, `v.y`, …, and a "
             "`mov.v2` or `mov.v4` into one `mov` for\neach element.\n");
}

void ptx_coverage(struct text *out)
{
    text_add(out,
             "# The PTX that Tilewright knows\n\n"
             "This page is made from the tables in `src/ptx`, which the parser, the printer, the "
             "verifier and the simulator also use.\n\n");
    text_printf(
        out,
        "The tables have %d instructions in %zu forms. `{.x}` is optional; `(.x/.y)` needs one of "
        "the alternatives. The first\ncolumn is the first version of PTX that has the form; "
        "the second is the first GPU, or the architectures that\nalone have it (`a/f`: with "
        "that suffix). A column is empty if PTX 6 or sm_70 had the form. A modifier may need "
        "a\nlater version or GPU than its form.\n",
        PTX_OP_COUNT, ptx_form_count);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        add_section(out, sections[i].prefix, sections[i].title);
    add_specials(out);
    add_left_out(out);
}

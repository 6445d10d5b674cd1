/* Random programs of roles against a plain version of the same computation: chains of a producer,
 * roles that compute, and a consumer, with 1 to 4 stages between two of them, mbarriers that are
 * ready at first or not, replicas, phases that the roles count or the program, and every order of
 * roles. */
#include "cpu_helper.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WIDTH = 12, PROGRAMS = 300, MOST_LINKS = 3, MOST_ROLES = 16 };

/* The tiles between role i and role i + 1. */
struct link {
    int stages;
    bool ready;   /* the mbarriers of empty stages */
    bool by_hand; /* roles count the phases themselves */
};

struct chain_role {
    int replicas, warps;
    bool one_arrives; /* arrives in one_thread */
};

struct program {
    uint32_t seed;
    int links;
    struct link link[MOST_LINKS];
    struct chain_role role[MOST_LINKS + 1];
    bool tensor_copies, stores_back; /* the producer's copies, the consumer's stores */
    int blocks, rows;
    int missing; /* the wait that is left out: 2 * link, + 1: for a full stage; -1: none is */
    struct text text;
};

/* --- making a program --- */

static int arrivals_of(const struct chain_role *role)
{
    int each = role->one_arrives || role->warps < 4 ? 1 : role->warps / 4;
    return each * role->replicas;
}

static void choose(struct program *p)
{
    static const int replicas[] = {1, 1, 2, 3}, warps[] = {1, 2, 4};
    int most = 1;
    p->links = 1 + (int)cpu_draw(&p->seed, MOST_LINKS);
    for (int i = 0; i < p->links; i++) {
        p->link[i] = (struct link){1 + (int)cpu_draw(&p->seed, 4), cpu_draw(&p->seed, 2) > 0,
                                   cpu_draw(&p->seed, 3) == 0};
        most = p->link[i].stages > most ? p->link[i].stages : most;
    }
    for (int i = 0; i <= p->links; i++) {
        struct chain_role *role = &p->role[i];
        role->replicas = replicas[cpu_draw(&p->seed, 4)];
        role->warps = warps[cpu_draw(&p->seed, role->replicas > 1 ? 2 : 3)];
        role->one_arrives = cpu_draw(&p->seed, 2) > 0;
    }
    p->role[p->links].warps = cpu_draw(&p->seed, 2) ? 8 : 4;
    p->role[p->links].replicas = 1;
    p->tensor_copies = cpu_draw(&p->seed, 3) > 0;
    p->stores_back = cpu_draw(&p->seed, 2) > 0;
    p->blocks = 1 + (int)cpu_draw(&p->seed, 2);
    p->rows = p->blocks * (int)cpu_draw(&p->seed, (uint32_t)(2 * most + 2));
}

/* Writes the wait for the q-th use of a stage. */
static void add_wait(struct program *p, int link, bool full)
{
    const struct link *l = &p->link[link];
    struct text *t = &p->text;
    const char *name = full ? "full" : "empty";
    int turn = !full && !l->ready; /* turn 0 finds the stage empty */
    if (p->missing == 2 * link + full)
        return;
    if (l->by_hand)
        text_printf(t, "            wait(%s%d[q %% %d], (q / %d + %d) %% 2);\n", name, link,
                    l->stages, l->stages, turn);
    else if (turn)
        text_printf(t, "            if (q >= %d)\n                wait(%s%d[q %% %d]);\n",
                    l->stages, name, link, l->stages);
    else
        text_printf(t, "            wait(%s%d[q %% %d]);\n", name, link, l->stages);
}

static void add_arrive(struct program *p, const struct chain_role *role, int link, bool full)
{
    text_printf(&p->text,
                role->one_arrives ? "            one_thread { arrive(%s%d[q %% %d]); }\n"
                                  : "            arrive(%s%d[q %% %d]);\n",
                full ? "full" : "empty", link, p->link[link].stages);
}

static void add_role_head(struct program *p, const struct chain_role *role, int first)
{
    text_printf(&p->text, "    warps(%d +: %d) for (i32 g < %d) {\n", first, role->warps,
                role->replicas);
}

static void add_loop_head(struct program *p)
{
    text_printf(&p->text, "        i32 q = 0;\n"
                          "        for (i32 t = block.x; t < n; t += grid.x, q++) {\n");
}

static void add_producer(struct program *p, int first)
{
    const struct chain_role *role = &p->role[0];
    int part = WIDTH / role->replicas, stages = p->link[0].stages;
    struct text *t = &p->text;
    add_role_head(p, role, first);
    if (p->tensor_copies)
        text_printf(t, "        one_thread {\n");
    add_loop_head(p);
    add_wait(p, 0, false);
    if (p->tensor_copies)
        text_printf(t,
                    "            expect(full0[q %% %d], %d * 4);\n"
                    "            async(full0[q %% %d]) s0[q %% %d][g * %d +: %d] = "
                    "A[t][g * %d +: %d];\n",
                    stages, part, stages, stages, part, part, part, part);
    else
        text_printf(t, "            s0[q %% %d][g * %d +: %d] = A[t][g * %d +: %d];\n", stages,
                    part, part, part, part);
    if (!p->tensor_copies)
        add_arrive(p, role, 0, true);
    text_printf(t, p->tensor_copies ? "        }\n        }\n    }\n" : "        }\n    }\n");
}

/* Writes the role between two links, or the consumer after the last one. */
static void add_stage(struct program *p, int index, int first)
{
    const struct chain_role *role = &p->role[index];
    struct text *t = &p->text;
    int part = WIDTH / role->replicas, before = index - 1;
    bool last = index == p->links;
    add_role_head(p, role, first);
    add_loop_head(p);
    add_wait(p, before, true);
    text_printf(t,
                "            reg i32 v[%d] = s%d[q %% %d][g * %d +: %d] * 3 + (t + %d);\n"
                "            v = v + s%d[q %% %d][(g + 1) * %d %% %d];\n",
                part, before, p->link[before].stages, part, part, index, before,
                p->link[before].stages, part, WIDTH);
    text_printf(t, "            sync();\n");
    add_arrive(p, role, before, false);
    if (!last) {
        add_wait(p, index, false);
        text_printf(t, "            s%d[q %% %d][g * %d +: %d] = v;\n", index,
                    p->link[index].stages, part, part);
        text_printf(t, "            sync();\n");
        add_arrive(p, role, index, true);
    } else if (p->stores_back) {
        text_printf(t, "            store_wait(0);\n            sync();\n            out = v;\n"
                       "            fence_async();\n            sync();\n"
                       "            async C[t][0 +: 12] = out;\n");
    } else {
        text_printf(t, "            C[t][0 +: 12] = v;\n");
    }
    text_printf(t, "        }\n        store_wait(0);\n    }\n");
}

static void add_declarations(struct program *p)
{
    struct text *t = &p->text;
    for (int i = 0; i < p->links; i++) {
        int full = i == 0 && p->tensor_copies ? p->role[0].replicas : arrivals_of(&p->role[i]);
        text_printf(
            t, "    shared i32 s%d[%d][%d];\n    mbarrier full%d[%d](%d), empty%d[%d](%d)%s;\n", i,
            p->link[i].stages, WIDTH, i, p->link[i].stages, full, i, p->link[i].stages,
            arrivals_of(&p->role[i + 1]), p->link[i].ready ? " ready" : "");
    }
    text_printf(t, "    shared i32 out[%d];\n", WIDTH);
}

static void write_program(struct program *p)
{
    int warps = 0;
    text_printf(&p->text,
                "kernel k(i32 n, const i32 *a, i32 *c) grid(%d) warps(32) target(sm_90a)\n{\n"
                "    global i32 A[n][%d] = a, C[n][%d] = c;\n",
                p->blocks, WIDTH, WIDTH);
    add_declarations(p);
    for (int i = 0; i <= p->links; i++) {
        warps = (warps + 3) / 4 * 4;
        if (i == 0)
            add_producer(p, warps);
        else
            add_stage(p, i, warps);
        warps += p->role[i].replicas * p->role[i].warps;
    }
    text_printf(&p->text, "}\n");
}

/* --- the same computation --- */

static void compute_row(const struct program *p, int32_t row, const int32_t *a, uint32_t *out)
{
    uint32_t in[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        out[i] = (uint32_t)a[i];
    for (int role = 1; role <= p->links; role++) {
        int part = WIDTH / p->role[role].replicas;
        for (int i = 0; i < WIDTH; i++)
            in[i] = out[i];
        for (int i = 0; i < WIDTH; i++)
            out[i] = in[i] * 3 + (uint32_t)(row + role) + in[(i / part + 1) * part % WIDTH];
    }
}

/* Returns true if the run ends without a fault and with the right values. */
static bool runs_right(struct program *p, int first, bool plain)
{
    const struct given given[] = {{"n", p->rows}, {NULL, 0}};
    size_t bytes = (size_t)(p->rows + 1) * WIDTH * sizeof(int32_t);
    struct cpu_run r;
    cpu_open_plain(&r, p->text.data, given, NULL, plain);
    int32_t *a = cpu_array(&r, "a", bytes);
    const int32_t *c = cpu_array(&r, "c", bytes);
    for (int i = 0; i < p->rows * WIDTH; i++)
        a[i] = (int32_t)cpu_draw(&p->seed, 1 << 20);
    r.options.first_role = first;
    bool right = cpu_go(&r, 1) == CPU_OK;
    for (int row = 0; row < p->rows; row++) {
        uint32_t want[WIDTH];
        compute_row(p, row, a + row * WIDTH, want);
        for (int i = 0; i < WIDTH; i++)
            right &= (uint32_t)c[row * WIDTH + i] == want[i];
    }
    if (!right && p->missing < 0)
        fail_msg("role %d first: %s\n%s", first, r.fault.message, p->text.data);
    cpu_close(&r);
    return right;
}

static void make_program(struct program *p, struct arena *a, int number)
{
    *p = (struct program){.seed = (uint32_t)number * 7919 + 1, .missing = -1};
    text_init(&p->text, a);
    choose(p);
}

static struct arena arena;
static jmp_buf out_of_memory;

static void random_chains_compute_what_plain_loops_do(void **state)
{
    (void)state;
    for (int i = 0; i < PROGRAMS; i++) {
        struct program p;
        make_program(&p, &arena, i);
        write_program(&p);
        for (int first = 1; first <= MOST_ROLES; first += 1 + (int)cpu_draw(&p.seed, 5))
            runs_right(&p, first, cpu_draw(&p.seed, 2) > 0);
    }
}

/* A wait that is left out shows if each stage is used twice: in some order of the roles, the program
 * faults or has other values. */
static void a_wait_that_is_left_out_shows(void **state)
{
    (void)state;
    for (int i = 0; i < PROGRAMS / 3; i++) {
        struct program p;
        bool found = false;
        make_program(&p, &arena, i);
        p.missing = (int)cpu_draw(&p.seed, 2 * (uint32_t)p.links);
        p.rows = p.blocks * (p.link[p.missing / 2].stages + 1 + (int)cpu_draw(&p.seed, 3));
        write_program(&p);
        for (int first = 1; first <= MOST_ROLES && !found; first++)
            found = !runs_right(&p, first, false);
        if (!found)
            fail_msg("wait %d is missing, and no order shows it:\n%s", p.missing, p.text.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_chains_compute_what_plain_loops_do),
        cmocka_unit_test(a_wait_that_is_left_out_shows),
    };
    if (setjmp(out_of_memory))
        abort();
    arena_init(&arena, &allocator_libc, &out_of_memory);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(&arena);
    return failed;
}

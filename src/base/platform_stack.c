/* The seam to the operating system, stacks: runs a function on a large stack of the library's,
 * whatever the size of the caller's stack. The thread stays the same, so its thread-local data, its
 * locale and its GPU context stay too. Only the stack pointer changes, in a few instructions.
 *
 * On other processors, a thread with a large stack runs the function while the caller waits. */
#define _GNU_SOURCE /* madvise, mincore */
#include "base/platform.h"

#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
#define SWITCHES 1
#endif

#ifdef THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

/* Frames are several times as large under sanitizers. */
#if defined(ADDRESS_SANITIZER) || defined(THREAD_SANITIZER)
enum { FRAMES = 4 };
#else
enum { FRAMES = 1 };
#endif

/* A stack's place in memory, and its fiber for ThreadSanitizer. */
struct place {
    const void *low;
    size_t bytes;
    void *fiber;
};

struct platform_stack {
    struct allocator allocator;
    char *low; /* address of the guard pages; NULL: a thread brings the stack */
    size_t bytes;
    void *caller;             /* stack pointer of the caller during platform_stack_call */
    struct place own, around; /* this stack and the caller's, for sanitizers alone */
};

#ifdef SWITCHES

enum { GUARD = 64 << 10 };

/* Calls body(argument) with the stack pointer `top`, a multiple of 16. Stores the earlier stack
 * pointer, also a multiple of 16, in *left. The frame pointer holds it too, for the return and for
 * debuggers. */
__attribute__((visibility("hidden"))) void platform_stack_switch(void *top, void (*body)(void *),
                                                                 void *argument, void **left);
/* clang-format off */
#if defined(__x86_64__)
__asm__(".pushsection .text.platform_stack_switch,\"ax\",@progbits\n"
        ".globl platform_stack_switch\n"
        ".hidden platform_stack_switch\n"
        ".type platform_stack_switch,@function\n"
        "platform_stack_switch:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "    movq %rsp, (%rcx)\n"
        "    movq %rdi, %rsp\n"
        "    movq %rdx, %rdi\n"
        "    callq *%rsi\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "    retq\n"
        ".cfi_endproc\n"
        ".size platform_stack_switch, .-platform_stack_switch\n"
        ".popsection\n");
#else
__asm__(".pushsection .text.platform_stack_switch,\"ax\",%progbits\n"
        ".p2align 2\n"
        ".globl platform_stack_switch\n"
        ".hidden platform_stack_switch\n"
        ".type platform_stack_switch,%function\n"
        "platform_stack_switch:\n"
        ".cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "    mov x29, sp\n"
        ".cfi_def_cfa_register 29\n"
        "    str x29, [x3]\n"
        "    mov sp, x0\n"
        "    mov x0, x2\n"
        "    blr x1\n"
        "    mov sp, x29\n"
        ".cfi_def_cfa_register 31\n"
        "    ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa_offset 0\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size platform_stack_switch, .-platform_stack_switch\n"
        ".popsection\n");
#endif
/* clang-format on */

#ifdef ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>

/* A call that changes stacks. AddressSanitizer is told about both stacks. */
struct crossing {
    void (*body)(void *);
    void *argument;
    struct place *from;
};

static void arrive(void *user)
{
    struct crossing *c = user;
    __sanitizer_finish_switch_fiber(NULL, &c->from->low, &c->from->bytes);
    c->body(c->argument);
    __sanitizer_start_switch_fiber(NULL, c->from->low, c->from->bytes);
}

static void cross(void *top, struct place to, void (*body)(void *), void *argument, void **left,
                  struct place *from)
{
    void *fake;
    __sanitizer_start_switch_fiber(&fake, to.low, to.bytes);
    platform_stack_switch(top, arrive, &(struct crossing){body, argument, from}, left);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}
#elif defined(THREAD_SANITIZER)
static void cross(void *top, struct place to, void (*body)(void *), void *argument, void **left,
                  struct place *from)
{
    from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.fiber, 0);
    platform_stack_switch(top, body, argument, left);
    __tsan_switch_to_fiber(from->fiber, 0);
}
#else
static void cross(void *top, struct place to, void (*body)(void *), void *argument, void **left,
                  struct place *from)
{
    (void)to;
    (void)from;
    platform_stack_switch(top, body, argument, left);
}
#endif

bool platform_stack_call(struct platform_stack *s, void (*body)(void *), void *argument)
{
    cross(s->low + s->bytes, s->own, body, argument, &s->caller, &s->around);
    return true;
}

void platform_stack_leave(struct platform_stack *s, void (*body)(void *), void *argument)
{
    void *left;
    struct place here;
    cross(s->caller, s->around, body, argument, &left, &here);
}

/* Maps the stack. Its lowest pages fault, so that an overflow cannot write elsewhere. Large pages
 * are off, because they would take two megabytes for the first kilobytes. */
static bool map(struct platform_stack *s)
{
    s->low = platform_reserve(s->bytes);
    if (!s->low)
        return false;
    (void)mprotect(s->low, GUARD, PROT_NONE);
#ifdef MADV_NOHUGEPAGE
    (void)madvise(s->low, s->bytes, MADV_NOHUGEPAGE);
#endif
    s->own = (struct place){.low = s->low + GUARD, .bytes = s->bytes - GUARD};
#ifdef THREAD_SANITIZER
    s->own.fiber = __tsan_create_fiber(0);
#endif
    return true;
}

static void unmap(struct platform_stack *s)
{
#ifdef THREAD_SANITIZER
    __tsan_destroy_fiber(s->own.fiber);
#endif
    platform_unreserve(s->low, s->bytes);
}

/* Counts the pages in memory: pages that no call touched are not. */
size_t platform_stack_used(const struct platform_stack *s)
{
    enum { PAGES = 1024 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = GUARD;
    for (size_t piece; at < s->bytes; at += piece) {
        unsigned char there[PAGES] = {0};
        piece = s->bytes - at < PAGES * page ? s->bytes - at : PAGES * page;
        if (mincore(s->low + at, piece, there) == 0)
            for (size_t i = 0; i * page < piece; i++)
                if (there[i] & 1)
                    return s->bytes - at - i * page;
    }
    return 0;
}

#else

bool platform_stack_call(struct platform_stack *s, void (*body)(void *), void *argument)
{
    return platform_run_thread(s->bytes, body, argument);
}

void platform_stack_leave(struct platform_stack *s, void (*body)(void *), void *argument)
{
    (void)s;
    body(argument);
}

size_t platform_stack_used(const struct platform_stack *s)
{
    (void)s;
    return 0;
}

static bool map(struct platform_stack *s)
{
    s->low = NULL;
    return true;
}

static void unmap(struct platform_stack *s)
{
    (void)s;
}

#endif

struct platform_stack *platform_stack_new(const struct allocator *allocator, size_t bytes)
{
    struct platform_stack *s = allocator->resize(allocator->user, NULL, 0, sizeof *s);
    if (!s)
        return NULL;
    enum {
        LEAST = 32 << 20
    }; /* for a limited address space: enough for programs that people write */
    for (size_t size = bytes * FRAMES;; size /= 2) {
        *s = (struct platform_stack){.allocator = *allocator, .bytes = size};
        if (map(s))
            return s;
        if (size / 2 < LEAST)
            break;
    }
    allocator->resize(allocator->user, s, sizeof *s, 0);
    return NULL;
}

void platform_stack_free(struct platform_stack *s)
{
    if (!s)
        return;
    unmap(s);
    struct allocator a = s->allocator;
    a.resize(a.user, s, sizeof *s, 0);
}

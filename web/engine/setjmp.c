/* The functions that clang's -wasm-enable-sjlj calls (described in llvm/lib/Target/WebAssembly/
 * WebAssemblyLowerEmscriptenEHSjLj.cpp). A longjmp throws an exception whose value is a pointer
 * to {environment, value}; the function with the setjmp catches it and asks which of its setjmps
 * it is for. */
#include <stdint.h>

/* The content of a jmp_buf: the call of a function that made it, and the value of the exception. */
struct environment {
    const void *invocation; /* an address in the frame of the function that called setjmp */
    uint32_t label;         /* the number of the setjmp within the function; not 0 */
    struct {
        void *environment;
        int value;
    } thrown;
};

void __wasm_setjmp(void *environment, uint32_t label, void *invocation);
uint32_t __wasm_setjmp_test(void *environment, void *invocation);
void __wasm_longjmp(void *environment, int value);

void __wasm_setjmp(void *environment, uint32_t label, void *invocation)
{
    struct environment *e = environment;
    e->invocation = invocation;
    e->label = label;
}

/* Returns the label of the setjmp, or 0 if the environment belongs to another call. */
uint32_t __wasm_setjmp_test(void *environment, void *invocation)
{
    const struct environment *e = environment;
    return e->invocation == invocation ? e->label : 0;
}

void __wasm_longjmp(void *environment, int value)
{
    enum { LONGJMP_TAG = 1 };
    struct environment *e = environment;
    e->thrown.environment = environment;
    e->thrown.value = value ? value : 1;
    __builtin_wasm_throw(LONGJMP_TAG, &e->thrown);
}

/* setjmp and longjmp, which wasi-libc lacks. clang's -wasm-enable-sjlj makes exceptions of them; the
 * functions that it calls are in web/engine/setjmp.c. */
#ifndef TW_POSIX_SETJMP_H
#define TW_POSIX_SETJMP_H

typedef struct {
    void *words[6];
} jmp_buf[1];

int setjmp(jmp_buf environment) __attribute__((__returns_twice__));
_Noreturn void longjmp(jmp_buf environment, int value);

#endif

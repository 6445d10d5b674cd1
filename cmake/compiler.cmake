# The options that every C file of the project is compiled with: ISO C17 with POSIX. The C compiler must not contract
# products and sums, because Tile IR decides which operations become an fma.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT TILEWRIGHT_WASM)
    find_package(Threads REQUIRED)
endif()

add_library(tilewright_options INTERFACE)
target_compile_definitions(tilewright_options INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(tilewright_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -ffp-contract=off -fno-math-errno)
if(TILEWRIGHT_WERROR)
    target_compile_options(tilewright_options INTERFACE -Werror)
endif()
if(TILEWRIGHT_SANITIZE)
    target_compile_options(tilewright_options INTERFACE
        -fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(tilewright_options INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
endif()
if(TILEWRIGHT_LIBFUZZER)
    target_compile_options(tilewright_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TILEWRIGHT_WASM) # the only build whose sizes and pointers have 32 bits
    target_compile_options(tilewright_options INTERFACE -Wshift-count-overflow -Wshorten-64-to-32
        -Wno-enum-float-conversion
        -mexception-handling "SHELL:-mllvm -wasm-enable-sjlj") # for setjmp and longjmp (web/engine/setjmp.c)
else()
    target_link_libraries(tilewright_options INTERFACE Threads::Threads)
endif()

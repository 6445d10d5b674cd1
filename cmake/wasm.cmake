# Builds for wasm32 with clang and lld 19 on wasi-libc; the result runs in a browser or under Node. On Debian and Ubuntu the packages
# are clang-19, lld-19, libclang-rt-19-dev-wasm32, wasi-libc and, to make it smaller, binaryen:
#
#   cmake --preset wasm && ninja -C build-wasm    # build-wasm/web/engine.wasm
#
# cmake/engine.cmake lists the sources.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_AR llvm-ar-19)
set(CMAKE_RANLIB llvm-ranlib-19)
set(CMAKE_EXECUTABLE_SUFFIX .wasm)
set(TILEWRIGHT_WASM ON)
string(CONCAT CMAKE_C_FLAGS_INIT "-msimd128 -mbulk-memory -mnontrapping-fptoint -isystem ${CMAKE_CURRENT_LIST_DIR}/../web/engine/posix "
    "-isystem /usr/include/wasm32-wasi")
set(CMAKE_FIND_ROOT_PATH /usr/lib/wasm32-wasi)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# Builds for AArch64 under Linux on another machine; programs run under QEMU. On Debian and Ubuntu the packages
# are gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user:
#
#   cmake -B build-aarch64 -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
#
# With -DTILEWRIGHT_UNIT_TESTS=ON `ctest --test-dir build-aarch64` runs the tests in C under QEMU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(TILEWRIGHT_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(TILEWRIGHT_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${TILEWRIGHT_QEMU} -L /usr/aarch64-linux-gnu)
endif()

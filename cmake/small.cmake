# Makes the shared library smaller at no cost in speed. Functions without a caller are left out, and so are the tables to unwind the
# stack through it (a tenth of its size; -DTILEWRIGHT_UNWIND=ON keeps them, for backtraces inside the library without debug
# information). Relocations are written in their short form if the loader of this machine understands it (glibc 2.36).
option(TILEWRIGHT_UNWIND "Keep tables to unwind the stack through the library in a release" OFF)
set(small_compile_options $<$<CONFIG:Release>:-ffunction-sections>)
if(NOT TILEWRIGHT_UNWIND)
    list(APPEND small_compile_options $<$<CONFIG:Release>:-fno-asynchronous-unwind-tables>)
endif()
set(small_link_options LINKER:--gc-sections LINKER:-z,noseparate-code)
# For sources where size counts most. Structures are copied by the C library, because the `rep movs` of -Os on x86 takes ten times as
# long.
include(CheckCCompilerFlag)
check_c_compiler_flag(-Oz TILEWRIGHT_TAKES_OZ) # gcc 12 and clang; 14 KB less than with -Os
set(small_level -Os)
if(TILEWRIGHT_TAKES_OZ)
    set(small_level -Oz)
endif()
set(small_optimise $<$<CONFIG:Release>:${small_level}>)
check_c_compiler_flag(-mstringop-strategy=libcall TILEWRIGHT_TAKES_STRINGOP)
if(TILEWRIGHT_TAKES_STRINGOP)
    list(APPEND small_optimise $<$<CONFIG:Release>:-mstringop-strategy=libcall>)
endif()
# Passes that keep values in registers for longer, which then are stored and loaded again, or that make code longer. With gcc 33 KB less
# without the first seven, for 2 % more instructions when a kernel is compiled; 5 KB less without those that are left out with gcc only.
# Clang knows some of these by the same names, and its code for WebAssembly is shorter with them.
set(long_passes move-loop-invariants gcse tree-loop-im caller-saves tree-sra shrink-wrap expensive-optimizations)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND long_passes optimize-sibling-calls jump-tables schedule-insns2 ipa-sra code-hoisting)
endif()
foreach(pass ${long_passes})
    string(TOUPPER TILEWRIGHT_LACKS_${pass} leaves_out)
    check_c_compiler_flag(-fno-${pass} ${leaves_out})
    if(${leaves_out})
        list(APPEND small_optimise $<$<CONFIG:Release>:-fno-${pass}>)
    endif()
endforeach()
# Equal constant lists are kept once, as C allows for lists without a name, and not aligned for vectors.
set(small_tables $<$<CONFIG:Release>:-fmerge-all-constants>)
check_c_compiler_flag(-malign-data=abi TILEWRIGHT_TAKES_ALIGN_DATA)
if(TILEWRIGHT_TAKES_ALIGN_DATA)
    list(APPEND small_tables $<$<CONFIG:Release>:-malign-data=abi>)
endif()
if(NOT CMAKE_CROSSCOMPILING)
    include(CheckCSourceRuns)
    set(CMAKE_REQUIRED_FLAGS -fPIE)
    set(CMAKE_REQUIRED_LINK_OPTIONS -pie LINKER:-z,pack-relative-relocs)
    check_c_source_runs("static int a, *p = &a; int main(void) { return *p; }" TILEWRIGHT_PACKED_RELOCATIONS)
    unset(CMAKE_REQUIRED_FLAGS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(TILEWRIGHT_PACKED_RELOCATIONS)
        list(APPEND small_link_options LINKER:-z,pack-relative-relocs)
    endif()
endif()

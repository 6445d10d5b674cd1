# libtilewright.a and libtilewright.so are made from one set of objects. The shared library exports only names that start with tw_.
file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(FILTER library_sources EXCLUDE REGEX "/src/(driver|runtime|blas|audit)/") # cmake/drivers.cmake
file(GLOB routine_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_*.c)
# products with instructions that a set does not have for all types
foreach(type bf16 int8 int16 amx halves halves_bytes)
    set(dot_${type} ${PROJECT_SOURCE_DIR}/src/cpu/routines/dot_${type}.c)
    list(REMOVE_ITEM library_sources ${dot_${type}})
endforeach()
list(REMOVE_ITEM library_sources ${routine_sources})
set(set_source ${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_set.c)
set(peak_source ${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_peak.c)
# for WebAssembly, other files are the seam to the operating system
file(GLOB other_platform ${PROJECT_SOURCE_DIR}/src/base/platform_wasm.c)
if(TILEWRIGHT_WASM)
    set(other_platform cores threads pool stack)
    list(TRANSFORM other_platform REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/base/platform_\\1.c")
    file(GLOB other_platform ${other_platform} ${PROJECT_SOURCE_DIR}/src/cuda/*.c)
endif()
list(REMOVE_ITEM library_sources ${other_platform})
# families of instructions that are loops over the lanes of a warp
set(sim_loops integer bits float compare move access lanes mma)
list(TRANSFORM sim_loops REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/sim/sim_\\1.c")
file(GLOB sim_loop_sources CONFIGURE_DEPENDS ${sim_loops})
list(REMOVE_ITEM library_sources ${sim_loop_sources})

# The constant part of the C that `tilewright build` writes.
include(embed)
include(aot_words)
embed_words("${aot_words}" aot_words ${PROJECT_BINARY_DIR}/aot_words.c)
list(APPEND library_sources ${PROJECT_BINARY_DIR}/aot_words.c)
foreach(part module.h module.c choice.c)
    string(REPLACE "." "_" array "aot_${part}")
    embed_packed(${PROJECT_SOURCE_DIR}/src/aot/aot_${part}.in ${array} "${aot_words}" ${PROJECT_BINARY_DIR}/${array}.c)
    list(APPEND library_sources ${PROJECT_BINARY_DIR}/${array}.c)
endforeach()
foreach(part tile/size_step tile/size_run base/view_map) # and the evaluators of sizes and of tensor maps
    get_filename_component(header ${part} NAME)
    embed_packed(${PROJECT_SOURCE_DIR}/src/${part}.h aot_${header}_h "${aot_words}" ${PROJECT_BINARY_DIR}/aot_${header}_h.c)
    list(APPEND library_sources ${PROJECT_BINARY_DIR}/aot_${header}_h.c)
endforeach()

# The part that runs programs of the CPU engine, without the compiler; libtilewright_cpu.a has no other (docs/build.md).
set(run_sources ${library_sources})
list(FILTER run_sources INCLUDE REGEX
    "/src/(base/(arena|dtype|loc|number|platform(_(cores|pool|threads|wasm|x86))?|real|real_trig|shown|text)|cpu/[a-z0-9_/]+|\
tile/(clean|eval|ops|overflow|print_format|size_run))[.]c$")
list(FILTER run_sources EXCLUDE REGEX "/src/cpu/(clusters|compile/|exec/exec_roles|image_write|peaks|profile)")
list(REMOVE_ITEM library_sources ${run_sources} ${PROJECT_SOURCE_DIR}/src/api/cpu_calls.c)
add_library(tilewright_objects OBJECT ${library_sources})
add_library(tilewright_run OBJECT ${run_sources})
set(object_libraries tilewright_objects tilewright_run)
list(APPEND library_sources ${run_sources})

# The shared library has a limit of size (tests/cli/test_library.py). So most files are compiled for size. The files that use
# nearly all the time of compiling, running or simulating a kernel are compiled for speed, with -O3 for the loops that gain by it.
include(small)
set(quick_files "base/(arena|real|real_trig|text)"
    "cpu/exec/exec_(dot|pack|packed)"
    "facts/facts"
    "layout/layout_banks"
    "sim/(sim_(atomic|memory|mma_quads|paths|warp|wgmma_multiply)|race/sim_race(_access|_base|_shadow)?)"
    "tile/size_run")
if(NOT TILEWRIGHT_WASM) # the page loads the engine over a network: 4 KB less
    list(APPEND quick_files "cpu/(exec/exec_(chain|control|row|strided|strips|value)|frame(_block)?|packed_cache|row_blocks)"
        "nvptx/nvptx_(registers|same)" "ptx/ptx_pressure" "thread/thread_(build|live)")
endif()
# The loops of products and of packing are in routines, so with gcc what calls these is compiled with -Os: 5 KB less.
set(routine_callers "/src/cpu/(exec/exec_(dot|pack|packed|value)|frame(_block)?|packed_cache)[.]c$")
set(quick_sources "")
foreach(files ${quick_files})
    set(found ${library_sources})
    list(FILTER found INCLUDE REGEX "/src/${files}[.]c$")
    if(NOT found)
        message(FATAL_ERROR "cmake/library.cmake: no file is src/${files}.c")
    endif()
    list(APPEND quick_sources ${found})
endforeach()
set(small_sources ${library_sources})
list(REMOVE_ITEM small_sources ${quick_sources})
set_source_files_properties(${small_sources} PROPERTIES COMPILE_OPTIONS "${small_optimise}")
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/ptx/ptx_table.c APPEND PROPERTY COMPILE_OPTIONS ${small_tables})
if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # 4 KB less; loops stay aligned
    list(FILTER quick_sources EXCLUDE REGEX "${routine_callers}")
    set_property(SOURCE ${quick_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-align-functions -fno-align-jumps -fno-align-labels)
endif()

# The CPU engine's routines (src/cpu/routines/routines.h) are compiled once for any machine. On x86-64 they are compiled once more for AVX2,
# FMA and F16C, and once more for AVX-512; the engine chooses when it starts. On AArch64 they are compiled once more for NEON,
# which every processor has, so the first set only serves to compare with. The simulator's loops over lanes are compiled in the
# same ways, except for AVX-512. All these are loops over arrays that -O2 vectorises. No code reads the exceptions that floats
# raise, so the compiler may compute a value that is not needed, and may vectorise a loop with a branch. If only machines without
# AVX2 use the first set, which are few and old, it is compiled for size.
function(add_routines name sources optimise)
    set(reduce "|reduce") # sums of doubles: a fifth faster for 14 KB; sums of f32 are unrolled in the source
    if(name MATCHES "_v3$")
        set(reduce "")
    endif()
    set(dot "") # on x86-64, -O3 makes 7 KB more, which are not faster
    if(name MATCHES "_neon$")
        set(dot "dot|")
    endif()
    set(o3 "/(routines_(${dot}magnitude${reduce})|dot_(bf16|int8|int16))[.]c$")
    foreach(level O2 O3)
        set(files ${sources})
        set(flags ${optimise})
        if(level STREQUAL "O3")
            list(FILTER files INCLUDE REGEX ${o3})
        else()
            list(FILTER files EXCLUDE REGEX ${o3})
        endif()
        if(NOT files)
            continue()
        endif()
        list(TRANSFORM flags REPLACE -O2 -${level})
        add_library(${name}_${level} OBJECT ${files})
        target_compile_options(${name}_${level} PRIVATE "$<$<CONFIG:Release>:${flags}>"
            -fno-trapping-math ${ARGN})
        list(APPEND object_libraries ${name}_${level})
    endforeach()
    set(object_libraries ${object_libraries} PARENT_SCOPE)
endfunction()
if(routine_sources)
    include(CheckCCompilerFlag)
    if(TILEWRIGHT_LIBFUZZER) # with checks in its blocks of registers, clang takes many minutes; the preset asan checks them
        set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_dot.c ${dot_bf16} ${dot_int8} ${dot_int16} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
    endif()
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # 11 KB less; the maximum of long rows of doubles takes a quarter longer
        set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_reduce.c PROPERTIES
            COMPILE_OPTIONS --param=max-completely-peeled-insns=60)
    endif()
    # Blocks of products: 15 KB less, at the same speed. Without these flags, gcc repeats the loads of a loop before it, and computes
    # counters in vectors.
    set(small_blocks "")
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND small_blocks -fno-tree-pre)
        check_c_compiler_flag(-mno-stv TILEWRIGHT_TAKES_NO_STV)
        if(TILEWRIGHT_TAKES_NO_STV)
            list(APPEND small_blocks -mno-stv)
        endif()
    endif()
    check_c_compiler_flag("-march=x86-64-v3 -mprfchw" TILEWRIGHT_TAKES_V3)
    include(CheckCSourceCompiles)
    check_c_source_compiles("#include <arm_neon.h>
        #if !defined(__aarch64__) || defined(__AARCH64EB__)
        #error the order of lanes
        #endif
        int main(void) { return 0; }" TILEWRIGHT_TAKES_NEON)
    set(fast -O2 -ftree-vectorize)
    check_c_compiler_flag(-fvect-cost-model=dynamic TILEWRIGHT_TAKES_COST_MODEL) # clang has none
    if(TILEWRIGHT_TAKES_COST_MODEL)
        list(APPEND fast -fvect-cost-model=dynamic)
    endif()
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # 9 KB less; loops stay aligned
        list(APPEND fast -fno-align-functions -fno-align-jumps -fno-align-labels)
    endif()
    set(first_set ${fast})
    if(TILEWRIGHT_TAKES_V3 OR TILEWRIGHT_TAKES_NEON)
        set(first_set ${small_level})
    endif()
    # gcc: jumps and loads before loops are not copied (2 KB less). Loops in vectors have no second loop in shorter vectors for what is
    # left over (25 KB less; rows of fewer elements than a vector has are slower, so moves under masks keep it). Loops are unrolled 4
    # times, not 8 times (5 KB less at the same speed).
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        set(loops ${routine_sources})
        list(FILTER loops EXCLUDE REGEX "routines_(dot|peak|set)")
        set_property(SOURCE ${loops} APPEND PROPERTY COMPILE_OPTIONS -fno-tree-pre -fno-thread-jumps --param=max-unroll-times=4)
        set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_math.c APPEND PROPERTY COMPILE_OPTIONS -fno-gcse) # 2 KB less
        list(FILTER loops EXCLUDE REGEX "routines_memory")
        set(ordered ${loops}) # blocks of code in the order of the source: 3 KB less
        list(FILTER ordered INCLUDE REGEX "routines_(convert|elementwise|math)")
        set_property(SOURCE ${ordered} APPEND PROPERTY COMPILE_OPTIONS -fno-guess-branch-probability)
        set_property(SOURCE ${loops} APPEND PROPERTY COMPILE_OPTIONS --param=vect-epilogues-nomask=0)
        set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cpu/exec/exec_dot.c ${PROJECT_SOURCE_DIR}/src/cpu/exec/exec_pack.c
            ${PROJECT_SOURCE_DIR}/src/cpu/row_blocks.c ${PROJECT_SOURCE_DIR}/src/base/text.c
            APPEND PROPERTY COMPILE_OPTIONS -fno-inline-functions -fno-tree-pre -fno-thread-jumps)
        set(callers ${run_sources})
        list(FILTER callers INCLUDE REGEX "${routine_callers}")
        set_property(SOURCE ${callers} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
        if(TILEWRIGHT_TAKES_STRINGOP)
            set_property(SOURCE ${callers} APPEND PROPERTY COMPILE_OPTIONS -mstringop-strategy=libcall)
        endif()
    endif()
    if(TILEWRIGHT_WASM) # a module is loaded before it runs, so loops are vectorised but not unrolled
        set(first_set -Os -fno-unroll-loops)
        set_source_files_properties(${routine_sources} PROPERTIES COMPILE_OPTIONS -Oz) # the simulator takes most of the time
    endif()
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_dot.c ${dot_bf16} ${dot_int8} ${dot_int16} ${dot_halves} ${dot_halves_bytes}
        APPEND PROPERTY COMPILE_OPTIONS ${small_blocks})
    # An instruction on tiles takes 16 cycles or more, in which the code between them runs anyway: 1.2 KB less. Loops over weights of 4
    # bits are written out: 0.5 KB less.
    set_property(SOURCE ${dot_amx} ${dot_halves} ${dot_halves_bytes} APPEND PROPERTY COMPILE_OPTIONS -Os)
    if(TILEWRIGHT_TAKES_NEON)
        add_routines(tilewright_routines "${routine_sources}" "${first_set}")
        add_routines(tilewright_routines_neon "${routine_sources};${sim_loop_sources}" "${fast}" -DROUTINES_NEON)
        list(APPEND have_sets TILEWRIGHT_HAVE_NEON)
        if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # blocks take all registers as they are written; in another order they spill
            set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cpu/routines/routines_dot.c ${dot_int8} APPEND PROPERTY
                COMPILE_OPTIONS -fno-schedule-insns)
        endif()
        check_c_compiler_flag("-march=armv8.2-a+dotprod" TILEWRIGHT_TAKES_DOTPROD)
        if(TILEWRIGHT_TAKES_DOTPROD)
            add_routines(tilewright_routines_dotprod "${dot_int8};${set_source};${peak_source}" "${fast}"
                -march=armv8.2-a+dotprod -DROUTINES_NEON -DROUTINES_BYTES)
            list(APPEND have_sets TILEWRIGHT_HAVE_DOTPROD)
        endif()
    else()
        add_routines(tilewright_routines "${routine_sources};${sim_loop_sources}" "${first_set}")
    endif()
    if(TILEWRIGHT_TAKES_V3)
        add_routines(tilewright_routines_v3 "${routine_sources};${dot_int16};${dot_halves_bytes};${sim_loop_sources}" "${fast}"
            -march=x86-64-v3 -mprfchw -DROUTINES_V3 -DSIM_V3)
        list(APPEND have_sets TILEWRIGHT_HAVE_V3)
        check_c_compiler_flag("-march=x86-64-v3 -mprfchw -mavxvnni" TILEWRIGHT_TAKES_AVX_VNNI)
        if(TILEWRIGHT_TAKES_AVX_VNNI)
            add_routines(tilewright_routines_avx_vnni "${dot_int8};${set_source};${peak_source}" "${fast}"
                -march=x86-64-v3 -mprfchw -mavxvnni -DROUTINES_V3 -DROUTINES_BYTES)
            list(APPEND have_sets TILEWRIGHT_HAVE_AVX_VNNI)
        endif()
    endif()
    check_c_compiler_flag("-march=x86-64-v4 -mprfchw -mprefer-vector-width=512" TILEWRIGHT_TAKES_V4)
    if(TILEWRIGHT_TAKES_V3 AND TILEWRIGHT_TAKES_V4)
        # Conversions and moves gain little by longer vectors, and there are many of them; the magnitudes are made for vectors of
        # four doubles; reductions of integers are compiled for size.
        list(FILTER routine_sources EXCLUDE REGEX "routines_(convert|magnitude|memory|reduce_integers)")
        add_routines(tilewright_routines_v4 "${routine_sources};${dot_int16};${dot_halves}" "${fast}"
            -march=x86-64-v4 -mprfchw -mprefer-vector-width=512 -DROUTINES_V4)
        list(APPEND have_sets TILEWRIGHT_HAVE_V4)
        check_c_compiler_flag("-march=x86-64-v4 -mprfchw -mavx512vnni" TILEWRIGHT_TAKES_VNNI)
        if(TILEWRIGHT_TAKES_VNNI)
            add_routines(tilewright_routines_vnni "${dot_int8};${set_source};${peak_source}" "${fast}"
                -march=x86-64-v4 -mprfchw -mavx512vnni -mprefer-vector-width=512 -DROUTINES_V4 -DROUTINES_BYTES)
            list(APPEND have_sets TILEWRIGHT_HAVE_VNNI)
        endif()
        check_c_compiler_flag("-march=x86-64-v4 -mprfchw -mavx512bf16" TILEWRIGHT_TAKES_BF16)
        if(TILEWRIGHT_TAKES_VNNI AND TILEWRIGHT_TAKES_BF16)
            add_routines(tilewright_routines_bf16 "${dot_bf16};${set_source};${peak_source}" "${fast}"
                -march=x86-64-v4 -mprfchw -mavx512vnni -mavx512bf16 -mprefer-vector-width=512 -DROUTINES_V4 -DROUTINES_BYTES
                -DROUTINES_BF16)
            list(APPEND have_sets TILEWRIGHT_HAVE_BF16)
        endif()
        check_c_compiler_flag("-march=x86-64-v4 -mprfchw -mavx512vbmi -mavx512fp16" TILEWRIGHT_TAKES_FP16)
        if(TILEWRIGHT_TAKES_VNNI AND TILEWRIGHT_TAKES_FP16)
            add_routines(tilewright_routines_fp16 "${dot_halves};${set_source}" "${fast}"
                -march=x86-64-v4 -mprfchw -mavx512vnni -mavx512vbmi -mavx512fp16 -mprefer-vector-width=512 -DROUTINES_V4 -DROUTINES_BYTES
                -DROUTINES_FP16)
            list(APPEND have_sets TILEWRIGHT_HAVE_FP16)
        endif()
        set(amx -march=x86-64-v4 -mprfchw -mamx-tile -mamx-int8 -mamx-bf16 -DROUTINES_FP16)
        list(JOIN amx " " amx_flags)
        check_c_compiler_flag("${amx_flags}" TILEWRIGHT_TAKES_AMX)
        if(TILEWRIGHT_TAKES_VNNI AND TILEWRIGHT_TAKES_BF16 AND TILEWRIGHT_TAKES_FP16 AND TILEWRIGHT_TAKES_AMX)
            add_routines(tilewright_routines_amx "${dot_amx};${set_source}" "${fast}" ${amx} -DROUTINES_V4 -DROUTINES_AMX)
            add_routines(tilewright_routines_amx_bf16 "${set_source}" "${fast}"
                ${amx} -DROUTINES_V4 -DROUTINES_AMX -DROUTINES_BF16)
            list(APPEND have_sets TILEWRIGHT_HAVE_AMX)
        endif()
    endif()
endif()

foreach(objects tilewright_objects tilewright_run)
    target_compile_definitions(${objects} PRIVATE ${have_sets})
endforeach()

set(position_independent ON)
if(TILEWRIGHT_WASM)
    set(position_independent OFF)
endif()
foreach(objects ${object_libraries})
    target_include_directories(${objects} PRIVATE
        ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${objects} PRIVATE tilewright_options)
    target_compile_options(${objects} PRIVATE ${small_compile_options})
    target_compile_definitions(${objects} PRIVATE TW_BUILDING)
    set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ${position_independent})
    list(APPEND library_objects $<TARGET_OBJECTS:${objects}>)
endforeach()

if(TILEWRIGHT_WASM) # cmake/engine.cmake makes a program of the objects
    return()
endif()

# For the tests in C, which can link to every name.
add_library(tilewright_internal STATIC EXCLUDE_FROM_ALL ${library_objects})
target_include_directories(tilewright_internal PUBLIC
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tilewright_internal PUBLIC tilewright_options m ${CMAKE_DL_LIBS})

# The static library that ships: if the tools for it are installed, it too exports only tw_ names, so that a program's own
# `text_add` does not clash with ours.
if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF" AND CMAKE_OBJCOPY AND CMAKE_LINKER)
    set(joined ${PROJECT_BINARY_DIR}/tilewright_joined.o)
    add_custom_command(OUTPUT ${joined}
        COMMAND ${CMAKE_LINKER} -r -o ${joined} ${library_objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${joined}
        DEPENDS ${object_libraries} ${library_objects}
        COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${joined} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    add_library(tilewright_static STATIC ${joined})
    set_target_properties(tilewright_static PROPERTIES LINKER_LANGUAGE C)
else()
    add_library(tilewright_static STATIC ${library_objects})
endif()
add_library(tilewright_shared SHARED ${library_objects})

# The library for kernels that `tilewright build --device cpu` compiled: what runs programs, the routines without the simulator's
# loops, and the calls of tilewright_cpu.h. Functions that none of these calls needs are left out, so no program has them.
set(cpu_libraries ${object_libraries})
list(REMOVE_ITEM cpu_libraries tilewright_objects)
list(TRANSFORM cpu_libraries REPLACE "(.+)" "$<FILTER:$<TARGET_OBJECTS:\\1>,EXCLUDE,/src/sim/|/routines_peak[.]c>" OUTPUT_VARIABLE cpu_objects)
add_library(tilewright_cpu_calls OBJECT ${PROJECT_SOURCE_DIR}/src/api/cpu_calls.c)
target_include_directories(tilewright_cpu_calls PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tilewright_cpu_calls PRIVATE tilewright_options)
target_compile_options(tilewright_cpu_calls PRIVATE ${small_compile_options} ${small_optimise})
target_compile_definitions(tilewright_cpu_calls PRIVATE TW_STATIC)
set_target_properties(tilewright_cpu_calls PROPERTIES POSITION_INDEPENDENT_CODE ON)
list(APPEND cpu_objects $<TARGET_OBJECTS:tilewright_cpu_calls>)
if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF" AND CMAKE_OBJCOPY AND CMAKE_LINKER)
    set(joined ${PROJECT_BINARY_DIR}/tilewright_cpu_joined.o)
    add_custom_command(OUTPUT ${joined}
        COMMAND ${CMAKE_LINKER} -r --gc-sections -u tw_cpu_new -u tw_cpu_free -u tw_cpu_launch -o ${joined} ${cpu_objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${joined}
        DEPENDS ${cpu_libraries} tilewright_cpu_calls ${cpu_objects}
        COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${joined} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    add_library(tilewright_cpu STATIC ${joined})
    set_target_properties(tilewright_cpu PROPERTIES LINKER_LANGUAGE C)
else()
    add_library(tilewright_cpu STATIC ${cpu_objects})
endif()
target_include_directories(tilewright_cpu PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tilewright_cpu PUBLIC Threads::Threads m)
set_target_properties(tilewright_cpu PROPERTIES EXPORT_NAME cpu)
add_library(tilewright::cpu ALIAS tilewright_cpu)

foreach(kind static shared)
    set_target_properties(tilewright_${kind} PROPERTIES OUTPUT_NAME tilewright EXPORT_NAME ${kind})
    target_include_directories(tilewright_${kind} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(tilewright_${kind} PRIVATE $<BUILD_INTERFACE:tilewright_options>
        Threads::Threads m ${CMAKE_DL_LIBS})
endforeach()
# Gives the targets the names of an installed library, for projects that include this folder (add_subdirectory).
foreach(kind static shared)
    add_library(tilewright::${kind} ALIAS tilewright_${kind})
endforeach()
add_library(tilewright::tilewright ALIAS tilewright_shared)
target_compile_definitions(tilewright_static INTERFACE TW_STATIC)
target_link_options(tilewright_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/tilewright.map
    ${small_link_options})
set_property(TARGET tilewright_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/tilewright.map)
set_target_properties(tilewright_shared PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

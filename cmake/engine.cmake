# The target `engine` is the command-line program for WebAssembly, with the commands that a browser can run (web/engine/engine_commands.c). It is one
# file, web/engine.wasm in the build folder; the linker leaves out all unreachable code.
file(GLOB engine_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/engine/*.c)
# Left out: commands that need processes, a disk or a GPU, and the files that web/engine replaces.
list(FILTER tool_sources EXCLUDE REGEX "/tools/((app|bench|build|lsp|play|tune)/|ptx/assembler|cli/(cmd_(devices|fmt|new)|commands|cuda_path|\
cuda_source|doing|folder_events|progress|toolchain|watch)[.]c$)")
list(REMOVE_ITEM tool_sources ${PROJECT_BINARY_DIR}/cuda_headers.c ${PROJECT_BINARY_DIR}/template_texts.c)
add_executable(engine ${tool_sources} ${engine_sources} ${library_objects})
set_target_properties(engine PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/web SUFFIX .wasm)
target_include_directories(engine PRIVATE ${PROJECT_SOURCE_DIR}/tools ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(engine PRIVATE tilewright_options)
# In other builds the library's own names are hidden from the program. Here the linker sees both, and parse.c has a `complain`, too.
target_compile_definitions(engine PRIVATE complain=complain_of_tool)
target_compile_options(engine PRIVATE ${small_compile_options} ${small_optimise})
set_source_files_properties(${PROJECT_SOURCE_DIR}/tools/learn/learn_allowance.c PROPERTIES COMPILE_DEFINITIONS ALLOWANCE_SHARE=5)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tools/cli/support.c PROPERTIES COMPILE_DEFINITIONS "TILEWRIGHT_DATA=\"share\";TILEWRIGHT_APP=\"app\"")
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/api/import_folders.c PROPERTIES COMPILE_DEFINITIONS "TW_INSTALLED_DATA=\".\"")
set_source_files_properties(${PROJECT_SOURCE_DIR}/web/engine/posix.c PROPERTIES COMPILE_OPTIONS -fno-builtin-memcmp)
set_source_files_properties(${PROJECT_SOURCE_DIR}/web/engine/no_gpu.c PROPERTIES COMPILE_OPTIONS -Wno-unused-parameter)
target_link_options(engine PRIVATE -O0 LINKER:--gc-sections LINKER:-z,stack-size=4194304 LINKER:--stack-first
    LINKER:--strip-all LINKER:--initial-memory=16777216 LINKER:--max-memory=4294967296)
# With -O0 clang does not call wasm-opt. The end of the stack is at address 0, so no pointer is below 1024: 9 KB less as brotli than if clang calls it.
# Each -Oz more takes off about 1 KB as brotli, and a file that is read again is laid out better. Functions with one caller are inlined up to 50
# instructions, which takes off another 6 KB.
find_program(TILEWRIGHT_WASM_OPT wasm-opt)
if(TILEWRIGHT_WASM_OPT AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set(optimise ${TILEWRIGHT_WASM_OPT} --low-memory-unused --enable-simd --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext
        --enable-mutable-globals --enable-exception-handling $<TARGET_FILE:engine> -o $<TARGET_FILE:engine>)
    set(run COMMAND ${optimise} -Oz --one-caller-inline-max-function-size 50)
    add_custom_command(TARGET engine POST_BUILD VERBATIM ${run} ${run} ${run})
endif()

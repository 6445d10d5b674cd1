# tilewright_add_cuda_check(TARGET [NAME name] [ARGUMENTS …] [OPTIONS …]): adds a test, by default TARGET.check, that runs a CUDA
# program without a GPU and fails if `tilewright check` finds something or the program fails (docs/check-your-app.md).
# ARGUMENTS are those of the program, OPTIONS those of `tilewright check`. TILEWRIGHT_PROGRAM names another tilewright.
# Build the program with the runtime as a library (CUDA_RUNTIME_LIBRARY Shared) and with PTX (CUDA_ARCHITECTURES 80-virtual).
function(tilewright_add_cuda_check target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "ARGUMENTS;OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tilewright_add_cuda_check(${target}): `${arg_UNPARSED_ARGUMENTS}`: write ARGUMENTS or OPTIONS before it")
    endif()
    if(NOT TARGET ${target})
        message(FATAL_ERROR "tilewright_add_cuda_check(${target}): there is no target of that name before this call")
    endif()
    find_program(TILEWRIGHT_PROGRAM tilewright HINTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin)
    if(NOT TILEWRIGHT_PROGRAM)
        message(FATAL_ERROR "tilewright_add_cuda_check(${target}): there is no `tilewright` on PATH; -DTILEWRIGHT_PROGRAM=FILE names it")
    endif()
    if(NOT arg_NAME)
        set(arg_NAME ${target}.check)
    endif()
    add_test(NAME ${arg_NAME} COMMAND ${TILEWRIGHT_PROGRAM} check ${arg_OPTIONS} -- $<TARGET_FILE:${target}> ${arg_ARGUMENTS})
endfunction()

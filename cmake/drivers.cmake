# The libraries that run CUDA programs on the simulator (docs/check-your-app.md): stand-ins for NVIDIA's driver and runtime. They
# have the names that programs look for, in a folder of their own, and export only CUDA's entry points. They need the loader and
# the calls of Linux; a build for sanitizers has none, because programs that load them were built without.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR TILEWRIGHT_SANITIZE OR NOT CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
    return()
endif()
set(driver_folder ${PROJECT_BINARY_DIR}/app)
set(driver_install ${CMAKE_INSTALL_LIBDIR}/tilewright/app)

# stand_in(TARGET SONAME EXPORTS SOURCES…): a library with that name, which exports the names that the version script EXPORTS lists.
function(stand_in target soname exports)
    add_library(${target} SHARED ${ARGN})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_link_libraries(${target} PRIVATE tilewright_options ${CMAKE_DL_LIBS})
    target_link_options(${target} PRIVATE LINKER:--version-script=${exports} LINKER:--gc-sections LINKER:-soname=${soname}
        LINKER:--no-undefined)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${soname} SUFFIX "" NO_SONAME ON
        LIBRARY_OUTPUT_DIRECTORY ${driver_folder})
    install(TARGETS ${target} LIBRARY DESTINATION ${driver_install})
endfunction()

file(GLOB driver_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/driver/*.c)
stand_in(tilewright_cuda libcuda.so.1 ${PROJECT_SOURCE_DIR}/cmake/driver.map ${driver_sources})
target_link_libraries(tilewright_cuda PRIVATE tilewright_internal)
# The driver makes tensor maps of windows, which its simulator copies: its own copies of these files take the place of the library's.
target_sources(tilewright_cuda PRIVATE $<TARGET_OBJECTS:tilewright_windows>)
add_library(tilewright_windows OBJECT ${PROJECT_SOURCE_DIR}/src/sim/sim_bulk.c ${PROJECT_SOURCE_DIR}/src/sim/sim_tensor.c)
target_include_directories(tilewright_windows PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(tilewright_windows PRIVATE SIM_WINDOWS)
target_link_libraries(tilewright_windows PRIVATE tilewright_options)
set_target_properties(tilewright_windows PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)

# The runtime calls the driver. Programs ask for its names with a version, which is the library's name.
file(GLOB runtime_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/runtime/*.c)
foreach(version 12 13)
    set(soname libcudart.so.${version})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/runtime.map.in ${PROJECT_BINARY_DIR}/runtime_${version}.map @ONLY)
    stand_in(tilewright_cudart_${version} ${soname} ${PROJECT_BINARY_DIR}/runtime_${version}.map ${runtime_sources}
        ${PROJECT_SOURCE_DIR}/src/driver/driver_texts.c ${PROJECT_SOURCE_DIR}/src/driver/elf_symbols.c)
    target_compile_definitions(tilewright_cudart_${version} PRIVATE RUNTIME_VERSION=${version})
    target_link_libraries(tilewright_cudart_${version} PRIVATE tilewright_cuda)
    set_target_properties(tilewright_cudart_${version} PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
    add_dependencies(tilewright tilewright_cudart_${version}) # `check -- ./app` needs them
endforeach()

# cuBLAS: copies, products on the host, and the names of all other calls. libcublasLt has names alone.
set(blas_sources blas.c blas_copy.c blas_gemm.c blas_product.c blas_driver.c)
list(TRANSFORM blas_sources PREPEND ${PROJECT_SOURCE_DIR}/src/blas/)
foreach(version 12 13)
    foreach(name cublas cublasLt)
        set(soname lib${name}.so.${version})
        configure_file(${PROJECT_SOURCE_DIR}/cmake/runtime.map.in ${PROJECT_BINARY_DIR}/${name}_${version}.map @ONLY)
    endforeach()
    stand_in(tilewright_cublas_${version} libcublas.so.${version} ${PROJECT_BINARY_DIR}/cublas_${version}.map ${blas_sources})
    stand_in(tilewright_cublaslt_${version} libcublasLt.so.${version} ${PROJECT_BINARY_DIR}/cublasLt_${version}.map
        ${PROJECT_SOURCE_DIR}/src/blas/blas_driver.c)
    target_compile_definitions(tilewright_cublaslt_${version} PRIVATE BLAS_LT)
    foreach(library tilewright_cublas_${version} tilewright_cublaslt_${version})
        target_compile_definitions(${library} PRIVATE BLAS_VERSION=${version})
        target_link_libraries(${library} PRIVATE tilewright_cuda tilewright_internal)
        set_target_properties(${library} PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
        add_dependencies(tilewright ${library})
    endforeach()
endforeach()

# The loader asks this library which file to open.
stand_in(tilewright_audit audit.so ${PROJECT_SOURCE_DIR}/cmake/audit.map ${PROJECT_SOURCE_DIR}/src/audit/audit.c)
add_dependencies(tilewright tilewright_audit)

# `cmake --install build` installs the program, libraries, headers, the files for pkg-config and find_package(tilewright), the
# manual page, completions, the Python file, documents, kernels and examples (docs/install.md).
include(CMakePackageConfigHelpers)
install(TARGETS tilewright_static tilewright_shared tilewright_cpu EXPORT tilewright-targets)
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tilewright*.h)
install(FILES ${public_headers} TYPE INCLUDE)
install(EXPORT tilewright-targets NAMESPACE tilewright::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
# The prefix is known only when it is installed, and the file names it in full: pkg-config leaves out /usr/include and /usr/lib
# only if they are written that way. In a folder that was moved afterwards, `pkg-config --define-prefix` finds the files.
foreach(name tilewright tilewright-cpu)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${name}.pc.in @ONLY)
    install(CODE "set(pc \"${PROJECT_BINARY_DIR}/${name}.pc\")
        file(READ \"${PROJECT_BINARY_DIR}/${name}.pc.in\" text)
        string(REPLACE \"INSTALL_PREFIX\" \"\${CMAKE_INSTALL_PREFIX}\" text \"\${text}\")
        file(WRITE \"\${pc}\" \"\${text}\")")
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tilewright-config.cmake.in
    tilewright-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
write_basic_package_version_file(tilewright-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilewright-config.cmake
              ${PROJECT_BINARY_DIR}/tilewright-config-version.cmake ${CMAKE_CURRENT_LIST_DIR}/tilewright-check.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)

# The program writes its manual page and completions itself (tools/cli/help_forms.c).
if(NOT CMAKE_CROSSCOMPILING)
    set(written ${PROJECT_BINARY_DIR}/written)
    file(MAKE_DIRECTORY ${written})
    foreach(form man=tilewright.1 bash=tilewright.bash zsh=_tilewright)
        string(REPLACE "=" ";" form ${form})
        list(GET form 0 kind)
        list(GET form 1 file)
        add_custom_command(OUTPUT ${written}/${file}
            COMMAND tilewright help --as ${kind} > ${written}/${file} DEPENDS tilewright VERBATIM)
        list(APPEND written_files ${written}/${file})
    endforeach()
    add_custom_target(tilewright_written ALL DEPENDS ${written_files})
    install(FILES ${written}/tilewright.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${written}/tilewright.bash RENAME tilewright
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

# The folders that zsh and Python read are known only for Debian's /usr, and only at the time of the installation.
install(CODE "
    set(zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    set(python ${CMAKE_INSTALL_DATADIR}/tilewright/python)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\" AND EXISTS /etc/debian_version)
        set(zsh share/zsh/vendor-completions)
        set(python lib/python3/dist-packages)
    endif()
    if(EXISTS \"${written}/_tilewright\")
        file(INSTALL \"${written}/_tilewright\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${zsh}\")
    endif()
    file(INSTALL \"${PROJECT_SOURCE_DIR}/python/tilewright.py\" \"${PROJECT_SOURCE_DIR}/python/tilewright_pytest.py\"
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${python}\")")

# Documents keep their folders; kernels and examples are installed elsewhere, and links in the documents are changed to lead
# there.
file(RELATIVE_PATH documents_to_data ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_DATADIR}/tilewright)
install(CODE "
    set(documents_from \"${PROJECT_SOURCE_DIR}\")
    set(documents_by \"${PROJECT_BINARY_DIR}/written/documents\")
    set(documents_to \"${CMAKE_INSTALL_DOCDIR}\")
    set(documents_to_data \"${documents_to_data}\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_documents.cmake)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY kernels examples editors DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright
        USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE PATTERN node_modules EXCLUDE)
# Files that `bench` reads: --suite, --triton.
install(DIRECTORY bench/suite DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright/bench)
install(FILES bench/triton_matmul.py DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright/bench)
# The page, if `./dev play` has built it.
install(DIRECTORY web/page/dist DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright/web/page OPTIONAL)
install(FILES web/engine/trace.ts DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright/web/engine) # reads traces (docs/trace.md)

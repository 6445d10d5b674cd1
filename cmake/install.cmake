# `cmake --install build`: program, libraries, header, and what pkg-config and find_package(tilewright) need.
include(CMakePackageConfigHelpers)
install(TARGETS tilewright_static tilewright_shared EXPORT tilewright-targets)
install(FILES ${PROJECT_SOURCE_DIR}/include/tilewright.h TYPE INCLUDE)
install(EXPORT tilewright-targets NAMESPACE tilewright::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
# Wherever it is installed, the file finds its prefix from its own place.
file(RELATIVE_PATH pkgconfig_to_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tilewright.pc.in tilewright.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilewright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tilewright-config.cmake.in
    tilewright-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
write_basic_package_version_file(tilewright-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilewright-config.cmake
              ${PROJECT_BINARY_DIR}/tilewright-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)

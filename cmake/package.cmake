# `cpack -G DEB` in the build folder makes a package for Debian and Ubuntu; `cpack -G TGZ` makes an archive. Both hold the files
# that `cmake --install` installs.
set(CPACK_PACKAGE_NAME tilewright)
set(CPACK_PACKAGE_VENDOR Tilewright)
set(CPACK_PACKAGE_CONTACT "Tilewright developers <developers@tilewright.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler and runtime for tile kernels, on CPUs and NVIDIA GPUs")
set(CPACK_PACKAGE_DESCRIPTION "A compiler for kernels that say what a GPU thread block does with tiles of matrices:
a command-line program, a C library and a Python module.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libsqlite3-0) # keeps tuned values
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-numpy, libopenblas0")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)

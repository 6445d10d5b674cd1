# Installs documents_from's README.md and docs into one folder, documents_to, their links seen from there; they are written
# into documents_by before. documents_to_data: from there to kernels and examples.
if(NOT IS_ABSOLUTE "${documents_to}")
    string(PREPEND documents_to "${CMAKE_INSTALL_PREFIX}/")
endif()
file(GLOB documents ${documents_from}/README.md ${documents_from}/docs/*.md)
foreach(document ${documents})
    file(READ ${document} text)
    string(REPLACE "](docs/" "](" text "${text}")
    string(REPLACE "](../" "](${documents_to_data}/" text "${text}")
    get_filename_component(name ${document} NAME)
    file(WRITE ${documents_by}/${name} "${text}")
    file(INSTALL ${documents_by}/${name} DESTINATION "${documents_to}")
endforeach()

# Target docs: the Doxygen reference of include/kaon, in docs/html of the build folder. Warnings are errors.
find_program(KAON_DOXYGEN doxygen)
mark_as_advanced(KAON_DOXYGEN)
if(KAON_DOXYGEN)
  configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/docs/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${KAON_DOXYGEN} ${PROJECT_BINARY_DIR}/docs/Doxyfile VERBATIM
                    COMMENT "Building the reference of the public headers")
else()
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo "doxygen was not found: install it (Debian: apt-get install --no-install-recommends doxygen) and configure again"
                    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()

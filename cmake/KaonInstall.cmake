# What is installed: library, headers, CMake package, pkg-config file, programs, man pages, completion, documents.
# The target kaon_installed builds exactly this; `cmake --install` then copies it.
include(CMakePackageConfigHelpers)
set(KAON_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kaon)
add_custom_target(kaon_installed DEPENDS kaon)
if(TARGET kaon_quda)
  add_dependencies(kaon_installed kaon_quda)
endif()

install(TARGETS kaon EXPORT kaonTargets)
install(DIRECTORY include/kaon TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(EXPORT kaonTargets NAMESPACE kaon:: DESTINATION ${KAON_CMAKE_DIR})
if(BUILD_SHARED_LIBS) # also libkaon.a, if it was built: the component static
  install(TARGETS kaon_static EXPORT kaonStaticTargets ARCHIVE OPTIONAL)
  install(EXPORT kaonStaticTargets NAMESPACE kaon:: DESTINATION ${KAON_CMAKE_DIR})
endif()
set(KAON_LIBDIR ${CMAKE_INSTALL_LIBDIR})
configure_package_config_file(cmake/kaonConfig.cmake.in kaonConfig.cmake INSTALL_DESTINATION ${KAON_CMAKE_DIR}
                              PATH_VARS KAON_LIBDIR)
write_basic_package_version_file(kaonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kaonConfig.cmake ${PROJECT_BINARY_DIR}/kaonConfigVersion.cmake
        DESTINATION ${KAON_CMAKE_DIR})

# kaon.pc names the folders relative to itself, so that the prefix can be moved.
file(RELATIVE_PATH KAON_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" KAON_PC_PREFIX "${KAON_PC_PREFIX}")
set(KAON_PC_PRIVATE ${OpenMP_C_FLAGS} ${KAON_lapacke_LIBRARY} -lexpat -lz -lm) # further needs of a static kaon
if(KAON_WITH_RANKS)
  list(APPEND KAON_PC_PRIVATE ${MPI_C_LINK_FLAGS} ${MPI_C_LIBRARIES})
  if(KAON_COMM STREQUAL QMP)
    list(PREPEND KAON_PC_PRIVATE -lqmp)
  endif()
endif()
if(KAON_METIS AND KAON_FOUND_metis AND KAON_metis_LIBRARY)
  list(APPEND KAON_PC_PRIVATE ${KAON_metis_LIBRARY})
endif()
if(KAON_CUDA)
  list(APPEND KAON_PC_PRIVATE -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread)
endif()
list(JOIN KAON_PC_PRIVATE " " KAON_PC_PRIVATE)
configure_file(cmake/kaon.pc.in kaon.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kaon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE CHANGELOG.md README.md TYPE DOC)

# Programs. help2man makes their man pages from the output of --help.
find_program(KAON_HELP2MAN help2man)
mark_as_advanced(KAON_HELP2MAN)
if(NOT KAON_HELP2MAN OR CMAKE_CROSSCOMPILING)
  message(STATUS "no help2man: the man pages are left out")
endif()
function(kaon_install_program target program title)
  if(NOT TARGET ${target})
    return()
  endif()
  add_dependencies(kaon_installed ${target})
  install(FILES ${PROJECT_SOURCE_DIR}/interfaces/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME ${program})
  if(KAON_HELP2MAN AND NOT CMAKE_CROSSCOMPILING)
    set(page ${PROJECT_BINARY_DIR}/${program}.1)
    add_custom_command(OUTPUT ${page} DEPENDS ${target} VERBATIM
                       COMMAND ${KAON_HELP2MAN} --no-info --name=${title} --output=${page} $<TARGET_FILE:${target}>
                       COMMENT "Writing ${program}.1")
    add_custom_target(${target}_man DEPENDS ${page})
    add_dependencies(kaon_installed ${target}_man)
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  endif()
endfunction()
kaon_install_program(kaon_program kaon "solve lattice Dirac equations and sparse systems")
kaon_install_program(kaon_bench kaon-bench "measure the speed of kaon")

# The libraries, all made of the objects in kaon_objects:
#   kaon         the installed library: shared, and exports only the public functions; static with -DBUILD_SHARED_LIBS=OFF
#   kaon_static  libkaon.a, built only on request: `cmake --build build --target kaon_static`
#   kaon_tested  for the tests: shared, and exports every function
set(KAON_SHARED_DEFAULT ON)
if(KAON_COMM STREQUAL QMP) # usually a static library without -fPIC
  set(KAON_SHARED_DEFAULT OFF)
endif()
option(BUILD_SHARED_LIBS "kaon as a shared library; OFF: as a static one" ${KAON_SHARED_DEFAULT})

function(kaon_library name)
  add_library(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:kaon_objects> $<BUILD_INTERFACE:kaon_flags> ${KAON_NEEDS})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C) # kernels use no C++ library
endfunction()

kaon_library(kaon)
add_library(kaon::kaon ALIAS kaon)
# Until 1.0 each minor version may change the interface.
set_target_properties(kaon PROPERTIES VERSION ${PROJECT_VERSION}
                                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

if(BUILD_SHARED_LIBS)
  kaon_library(kaon_static STATIC EXCLUDE_FROM_ALL)
  set_target_properties(kaon_static PROPERTIES OUTPUT_NAME kaon)
  kaon_library(kaon_tested SHARED EXCLUDE_FROM_ALL)
  target_link_options(kaon_tested PRIVATE -Wl,-Bsymbolic)

  # The exported symbols are the functions that the public headers declare. They are given to the linker as a version
  # script, since compiler flags that hide symbols would hide them from the tests, too.
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/kaon/*.h)
  set(exports ${PROJECT_BINARY_DIR}/kaon.exports)
  add_custom_command(OUTPUT ${exports} DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/cmake/KaonExports.cmake VERBATIM
                     COMMAND ${CMAKE_COMMAND} -DKAON_INCLUDE=${PROJECT_SOURCE_DIR}/include -DKAON_EXPORTS=${exports}
                             -P ${PROJECT_SOURCE_DIR}/cmake/KaonExports.cmake
                     COMMENT "Listing the public functions")
  add_custom_target(kaon_exports DEPENDS ${exports})
  add_dependencies(kaon kaon_exports)
  target_link_options(kaon PRIVATE -Wl,--version-script=${exports} -Wl,-Bsymbolic -Wl,--as-needed)
  set_target_properties(kaon PROPERTIES LINK_DEPENDS ${exports})
else()
  add_library(kaon_static ALIAS kaon)
  if(KAON_COMM STREQUAL QMP)
    add_library(kaon_tested ALIAS kaon)
  else()
    kaon_library(kaon_tested SHARED EXCLUDE_FROM_ALL)
    target_link_options(kaon_tested PRIVATE -Wl,-Bsymbolic)
  endif()
endif()

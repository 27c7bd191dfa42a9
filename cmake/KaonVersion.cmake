# The version is in project() and, for applications, in include/kaon/status.h. Both must agree.
file(STRINGS ${PROJECT_SOURCE_DIR}/include/kaon/status.h lines REGEX "^#define KAON_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM lines REPLACE "^.* ([0-9]+)$" "\\1")
list(JOIN lines "." KAON_HEADER_VERSION)
if(NOT KAON_HEADER_VERSION STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR "include/kaon/status.h says version ${KAON_HEADER_VERSION}, but CMakeLists.txt ${PROJECT_VERSION}: "
                      "set both to the same")
endif()

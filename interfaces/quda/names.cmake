# Writes two files from the headers in KAON_QUDA_INCLUDE:
#   KAON_QUDA_EXPORTS  a version script for the linker: the functions of the interface
#   KAON_QUDA_MISSING  a C file with a weak definition of each, which says that kaon does not offer it. A body elsewhere replaces it.
set(names "")
foreach(header quda.h quda_milc_interface.h)
  file(READ ${KAON_QUDA_INCLUDE}/${header} text)
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX MATCHALL "\n[A-Za-z][A-Za-z0-9_ *\n]*[ *][A-Za-z0-9_]+\\(" found "${text}") # a declaration begins a line
  foreach(declaration ${found})
    string(REGEX REPLACE ".*[ *]([A-Za-z0-9_]+)\\($" "\\1" name "${declaration}")
    list(APPEND names ${name})
  endforeach()
endforeach()
list(SORT names)

list(JOIN names ";\n  " lines)
file(WRITE ${KAON_QUDA_EXPORTS} "{\nglobal:\n  ${lines};\n  extern \"C++\" { quda::pool::*; };\nlocal:\n  *;\n};\n")

set(text "/* Written by interfaces/quda/names.cmake. The process ends in each, so arguments and results do not matter. */\nvoid kaon_quda_missing(const char *function);\n")
string(APPEND text "#define MISSING(name) \\\n  void name(void); \\\n  __attribute__((weak)) void name(void) { kaon_quda_missing(#name); }\n\n")
foreach(name ${names})
  string(APPEND text "MISSING(${name})\n")
endforeach()
file(WRITE ${KAON_QUDA_MISSING} "${text}")

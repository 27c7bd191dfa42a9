#!/bin/sh
# check_headers.sh [CC [CXX]] - checks that every public header compiles on its own, as C11 and as C++17, without a
# warning, that all _INIT macros do, and that every public function is declared with KAON_API. Exit status 77: no C++
# compiler was found.
set -u
cd "$(dirname "$0")/.." || exit 2
cc=${1:-cc} cxx=${2:-c++} bad=0
flags="-Wall -Wextra -Wshadow -pedantic -Werror -fsyntax-only -Iinclude"
command -v "$cxx" >/dev/null 2>&1 || { echo "no C++ compiler ($cxx)"; exit 77; }

for header in include/kaon/*.h; do
  name=$(basename "$header")
  { # one variable for each _INIT macro of the header, of the type of that name
    echo "#include <kaon/$name>"
    echo "void kaon_use(const void *);"
    echo "void kaon_use_all(void);"
    echo "void kaon_use_all(void) {"
    sed -n 's/^#define KAON_\([A-Z_]*\)_INIT.*/\1/p' "$header" | while read -r macro; do
      type=kaon_$(printf %s "$macro" | tr '[:upper:]' '[:lower:]')
      echo "  { $type made = KAON_${macro}_INIT; kaon_use(&made); }"
    done
    echo "}"
  } >"${TMPDIR:-/tmp}/kaon-header-$$.c"
  "$cc" -std=c11 $flags -x c "${TMPDIR:-/tmp}/kaon-header-$$.c" || { echo "$name: not as C11"; bad=1; }
  "$cxx" -std=c++17 $flags -x c++ "${TMPDIR:-/tmp}/kaon-header-$$.c" || { echo "$name: not as C++17"; bad=1; }
  if grep -nE '^(const )?[a-z][a-z0-9_]* \*?kaon_[a-z0-9_]+\(' "$header"; then
    echo "$name: these functions are not declared with KAON_API"
    bad=1
  fi
done
rm -f "${TMPDIR:-/tmp}/kaon-header-$$.c"
exit $bad

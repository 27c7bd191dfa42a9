#!/bin/sh
# Checks that includes point downward (docs/architecture.md, "Layers"). Prints each include that does not; exit status 1 if there is one.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0

# forbid FOLDER PATTERN WHY: no file under FOLDER may include a header that matches PATTERN.
forbid() {
  hits=$(find $1 -name '*.[ch]' -o -name '*.cu' 2>/dev/null | xargs -r grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" /dev/null)
  if [ -n "$hits" ]; then
    printf '%s\n%s\n\n' "$3:" "$hits"
    bad=1
  fi
}

lib_files=$(find lib -name "*.[ch]" ! -path "lib/c*/backend.c")
forbid "$lib_files" "(blas|gauge|dslash|sparse|solvers|multigrid|interfaces)/" "lib/ includes a higher layer (the tables lib/cpu/backend.c and lib/cuda/backend.c may)"
forbid "blas" "(gauge|dslash|sparse|solvers|multigrid|interfaces)/" "blas/ includes a higher layer"
forbid "gauge" "(dslash|sparse|solvers|multigrid|interfaces)/" "gauge/ includes a higher layer"
forbid "dslash" "(sparse|solvers|multigrid|interfaces)/" "dslash/ includes a higher layer"
forbid "sparse" "(gauge|dslash|solvers|multigrid|interfaces)/" "sparse/ includes another operator's folder or a higher layer"
forbid "solvers" "(gauge|dslash|sparse|multigrid|interfaces)/" "solvers/ includes an operator's folder"
forbid "multigrid" "(gauge|sparse|interfaces)/|dslash/[^c]|dslash/c[^o]" "multigrid/ knows of lattice operators what couplings.h and dslash/coarse/ say"
bench=$(find bench -name "*.[ch]" ! -path "bench/measure/*")
forbid "interfaces examples $bench" "(lib|blas|gauge|dslash|sparse|solvers|multigrid)/" "interfaces/, examples/ and bench/ (but bench/measure) use include/kaon alone"
forbid "lib blas gauge dslash sparse solvers multigrid include interfaces examples tests" "bench/" "nothing outside includes from bench/"
forbid "interfaces/common bench" "interfaces/cli/" "interfaces/common and bench/ know nothing of the kaon program"
forbid "interfaces/common interfaces/cli bench examples" "interfaces/quda/" "interfaces/quda is for applications that call QUDA"
forbid "tests/reference" "(kaon|lib|blas|gauge|dslash|sparse|solvers|multigrid)/" "the reference shares nothing with the library"
no_comm=$(find lib blas gauge dslash sparse solvers multigrid include interfaces $bench -name "*.[ch]" ! -path "lib/comm/comm_*.[ch]" ! -path "interfaces/quda/core/ranks.c" 2>/dev/null)
forbid "$no_comm" "(mpi|qmp)\.h" "MPI and QMP belong to lib/comm/comm_* and interfaces/quda/core/ranks.c alone"
no_dense=$(find lib blas gauge dslash sparse solvers multigrid include interfaces $bench -name "*.[ch]" ! -path "multigrid/dense/*.c" 2>/dev/null)
forbid "$no_dense" "(lapacke|cblas)\.h" "LAPACKE belongs to multigrid/dense/*.c and to the tests alone"
host_files=$(find lib blas gauge dslash sparse solvers multigrid include interfaces $bench -name "*.[ch]" ! -path "*/cuda/*" 2>/dev/null)
forbid "$host_files" "(cuda[a-z_]*|cooperative_groups|mma|nvml)\\.h|cub/" "CUDA headers belong under */cuda/ alone"

words=$(find solvers -name '*.[ch]' | xargs -r grep -nwiE "spin|colou?r|parity|csr|mpi|cuda|wilson|clover|staggered" /dev/null)
if [ -n "$words" ]; then
  printf 'solvers/ names something it must not know:\n%s\n\n' "$words"
  bad=1
fi
calls=$(find lib blas gauge dslash sparse solvers multigrid -name '*.c' -o -name '*.cu' 2>/dev/null | xargs -r grep -nE "\b(printf|puts|exit|abort|getenv) *\(" /dev/null | grep -vE "lib/core/config.c|snprintf")
if [ -n "$calls" ]; then
  printf 'below interfaces/ something prints, exits or reads the environment:\n%s\n\n' "$calls"
  bad=1
fi
beyond=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"][^\">]*/" interfaces/quda --include='*.[ch]' --include='*.cpp' | grep -vE "[<\"](kaon|sys)/")
if [ -n "$beyond" ]; then
  printf 'interfaces/quda includes more than kaon/, its own headers and mpi.h:\n%s\n\n' "$beyond"
  bad=1
fi
[ $bad = 0 ] && echo "layers: every include points downward"
exit $bad

#!/bin/sh
# count_kernels.sh BUILD - counts the CUDA kernels of a build by family and compares them with their budgets. Each kernel takes compile
# time, and one that differs only by a run-time choice is unnecessary. Exit status 1 if a budget is exceeded. Does nothing without CUDA.
set -eu # a kernel leaves one guarded static of its launch stub in its object
[ -e "${1:?usage: count_kernels.sh BUILD}/build.ninja" ] || [ -e "$1/Makefile" ] || { echo "count_kernels.sh: $1 is no build" >&2; exit 2; }
# objects are found by folder, since several folders have files of one name
kernels=$(find "$1/CMakeFiles" -path '*/kaon_objects_*_cuda_*' -name '*.cu.o' -exec nm -A {} + 2>/dev/null | grep ' _ZGV.*__device_stub__' || true)
if [ -z "$kernels" ]; then
  echo "built without CUDA"
  exit 0
fi
bad=0
# family, budget, pattern of the paths of its objects
count() {
  n=$(printf '%s\n' "$kernels" | grep -c "$3" || true)
  printf '%-32s %3d of %3d\n' "$1" "$n" "$2"
  if [ "$n" -gt "$2" ]; then bad=1; fi
}
block='/kaon_objects_blas_cuda_\(block\|gram\)_cu'
domains='/kaon_objects_blas_cuda_domain_cu'
count "vectors and reductions" 60 '/kaon_objects_blas_cuda_\(convert\|multi\|pipelined\|update\)_cu'
count "block methods" 30 "$block"
divided='/kaon_objects_dslash_cuda_hop_\(faces\|cut\)_'
count "Wilson and clover" 81 '/kaon_objects_dslash_cuda_\([^hist]\|hop_[^fca]\)'
count "fifth dimension" 3 '/kaon_objects_dslash_cuda_inner_'
count "twisted mass" 3 '/kaon_objects_dslash_cuda_twist_'
count "gauge" 53 '/kaon_objects_gauge_cuda_'
count "staggered" 54 '/kaon_objects_dslash_cuda_staggered_[0-9]'
count "divided lattices, staggered" 45 '/kaon_objects_dslash_cuda_staggered_face'
count "divided lattices" 36 "$divided"
count "hops in one direction" 6 '/kaon_objects_dslash_cuda_\(hop\|staggered\)_along_'
count "coarse operators, transfers" 24 '/kaon_objects_\(dslash_coarse\|multigrid\)_cuda_'
listed='/kaon_objects_sparse_cuda_\(cdp\|resident\)_cu'
count "sparse" 52 '/kaon_objects_sparse_cuda_\(csr_cu\|levels_shared\|spmv_exchange_cu\|sell_cu\|sell_columns_cu\)'
count "listed steps" 6 "$listed"
count "relaxation" 8 '/kaon_objects_sparse_cuda_relax_cu'
count "row projections" 4 '/kaon_objects_sparse_cuda_kaczmarz_cu'
count "Schwarz domains" 20 "$domains"
count "preconditioned methods" 4 '/kaon_objects_blas_cuda_precond_cu'
count "loops, sums of ranks, copies" 27 '/kaon_objects_lib_cuda_'
count "all" 508 ''
exit $bad

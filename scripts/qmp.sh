#!/bin/sh
# qmp.sh SOURCE [FOLDER] - runs kaon's rank tests with QMP on the CPU. SOURCE: a folder with QMP's public source
# (github.com/usqcd-software/qmp); nothing is downloaded. QMP and kaon are built below FOLDER (default: build-qmp), and the
# tests run on 1, 2 and 4 ranks. Needs MPI and kaon's requirements. KAON_QMP_TESTS: a pattern of ctest names (default: all
# rank tests). KAON_JOBS: concurrent compilers (default: the number of processors). Exit status: 0 all passed, 1 otherwise.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
jobs=${KAON_JOBS:-$(nproc)}
fail() {
  echo "qmp.sh: $*" >&2
  exit 1
}
[ $# -ge 1 ] || fail "give the folder with QMP's source: scripts/qmp.sh SOURCE [FOLDER]"
[ -f "$1/CMakeLists.txt" ] && [ -f "$1/lib/QMP_init.c" ] ||
  fail "$1 is not QMP's source: it has no CMakeLists.txt and lib/QMP_init.c; give the folder that has them"
source=$(cd "$1" && pwd)
mkdir -p "${2:-$root/build-qmp}"
folder=$(cd "${2:-$root/build-qmp}" && pwd)

cmake -S "$source" -B "$folder/qmp-build" -DCMAKE_BUILD_TYPE=Release -DQMP_MPI=ON -DQMP_TESTING=OFF \
  -DCMAKE_INSTALL_PREFIX="$folder/qmp" >"$folder/qmp.log" 2>&1 || fail "QMP is not configured, see $folder/qmp.log"
cmake --build "$folder/qmp-build" -j "$jobs" --target install >>"$folder/qmp.log" 2>&1 ||
  fail "QMP is not built, see $folder/qmp.log"
cmake -S "$root" -B "$folder/kaon" -DCMAKE_BUILD_TYPE=Release -DKAON_COMM=QMP -DKAON_CUDA=OFF -DCMAKE_PREFIX_PATH="$folder/qmp" >"$folder/kaon.log" 2>&1 ||
  fail "kaon is not configured with QMP, see $folder/kaon.log"
names=$(cd "$root/tests/ranks" && ls test_*.c | sed 's/^test_/ranks_/; s/\.c$//')
cmake --build "$folder/kaon" -j "$jobs" --target $names >>"$folder/kaon.log" 2>&1 || fail "the tests are not built, see $folder/kaon.log"
ctest --test-dir "$folder/kaon" -R "${KAON_QMP_TESTS:-^ranks_.*_[124]\$}" --no-tests=error --output-on-failure || fail "tests failed"
echo "qmp.sh: the tests pass through QMP"

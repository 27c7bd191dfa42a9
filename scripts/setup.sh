#!/bin/sh
# setup.sh - installs the packages that kaon needs and this machine lacks (Debian, Ubuntu).
# It first prints them with the reasons. It uses sudo unless run as root. KAON_NO_INSTALL=1: only prints the list.
set -eu

usage() {
  echo "usage: scripts/setup.sh"
  echo "Installs with apt-get what building and running kaon needs and this machine lacks; names each package and why first."
  echo "  KAON_NO_INSTALL=1 scripts/setup.sh   only prints the list"
}

case $#:${1-} in
  0:) ;;
  1:-h | 1:--help) usage; exit 0 ;;
  *) echo "setup: takes no arguments but --help; found: $*" >&2; exit 2 ;;
esac

# package | why it is needed
needs() {
  cat <<'LIST'
build-essential|the C compiler (GCC), libc headers, OpenMP and make
cmake|configures the build
ninja-build|builds in parallel with little overhead (make would do)
pkg-config|finds the libraries below
git|records the commit in reports
zlib1g-dev|CRC-32 checksums of SciDAC and ILDG files
libexpat1-dev|the XML parser for headers of LIME files (small; expands no external entities)
liblapacke-dev|dense linear algebra: the inverse on the coarsest level of multigrid
libopenblas-dev|a fast BLAS and LAPACK behind LAPACKE (others do, more slowly)
libmetis-dev|shares the rows of sparse matrices out among ranks (without it: in blocks)
libjansson-dev|JSON reports of the kaon program
libcmocka-dev|the tests
libopenmpi-dev|several ranks (any MPI 3; without one kaon runs on one rank)
openmpi-bin|mpirun, which starts them
gnuplot-nox|the convergence plot (without it: the CSV and a message), make performance
python3|the tests of the program (standard library only)
help2man|the man pages (without it: an installation has none)
LIST
}

installed() {
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' && return 0
  # other packages may provide the same tool
  case $1 in
    gnuplot-nox) command -v gnuplot >/dev/null 2>&1 ;;
    build-essential) command -v cc >/dev/null 2>&1 && command -v make >/dev/null 2>&1 &&
      echo 'int main(void){return 0;}' | cc -x c - -o /dev/null 2>/dev/null ;;
    cmake | git | python3) command -v "$1" >/dev/null 2>&1 ;;
    ninja-build) command -v ninja >/dev/null 2>&1 ;;
    libopenmpi-dev) command -v mpicc >/dev/null 2>&1 ;;
    openmpi-bin) command -v mpirun >/dev/null 2>&1 ;;
    pkg-config) command -v pkg-config >/dev/null 2>&1 ;;
    *) false ;;
  esac
}

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "setup: this is not Debian or Ubuntu; please install the counterparts of:"
  needs | sed 's/^\([^|]*\)|/  \1: /'
  exit 0
fi

missing=$(needs | while IFS='|' read -r package why; do
  installed "$package" || printf '%s|%s\n' "$package" "$why"
done)
if [ -z "$missing" ]; then
  echo "setup: nothing is missing"
  exit 0
fi

echo "setup: missing packages"
printf '%s\n' "$missing" | sed 's/^\([^|]*\)|/  \1: /'
if [ "${KAON_NO_INSTALL:-0}" = 1 ]; then
  echo "setup: KAON_NO_INSTALL=1, so nothing was installed"
  exit 0
fi

packages=$(printf '%s\n' "$missing" | cut -d'|' -f1)
as_root=
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "setup: not root and no sudo; ask an administrator for: apt-get install $(echo $packages)" >&2
    exit 3
  fi
  as_root="sudo"
fi
echo "setup: installing with ${as_root:+sudo }apt-get"
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages

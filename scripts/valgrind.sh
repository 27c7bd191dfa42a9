#!/bin/sh
# valgrind.sh [SECONDS] [TEST...] - runs the test programs under Valgrind's memcheck, which finds invalid accesses,
# uninitialised values and leaks. A program that does not end within SECONDS (default 900) is reported as not finished.
# Needs valgrind (Debian: valgrind) and a build in $KAON_BUILD (default: build). Valgrind does not support AVX-512, so
# the kernels for AVX2 and below run. Exit status: 0 all passed, 1 otherwise.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${KAON_BUILD:-build}
limit=900
case ${1:-} in '' | *[!0-9]*) ;; *) limit=$1; shift ;; esac
command -v valgrind >/dev/null || { echo "valgrind.sh: valgrind is missing: apt install valgrind" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(find "$build/tests" -maxdepth 1 -type f -name 'test_*' -perm -u+x | sort)
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
failed=0
for test in "$@"; do
  [ -x "$test" ] || test=$build/tests/$test
  OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive timeout "$limit" valgrind -q --child-silent-after-fork=yes --error-exitcode=99 --leak-check=full \
    --errors-for-leak-kinds=definite --suppressions=scripts/valgrind.supp "$test" >"$log" 2>&1
  status=$?
  case $status in
    0) result=passed ;;
    77) result=skipped ;;
    124) result="not finished in $limit s"; failed=1 ;;
    99) result="ERRORS"; failed=1; grep '^==' "$log" | head -40 ;;
    *) result="failed ($status)"; failed=1; tail -5 "$log" ;;
  esac
  printf '%-28s %s\n' "$(basename "$test")" "$result"
done
exit $failed

#!/usr/bin/env bash
# check.sh [BUILD [OPTION OF CTEST...]] - runs the tests of a build with ctest. The last line says how many passed, failed and
# were skipped, how many cases were skipped inside programs that passed, and what to set for cases that lack data. Exit status: that
# of ctest.
set -u
build=${1:-build}
[ $# -eq 0 ] || shift
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
ctest --test-dir "$build" --output-on-failure "$@" | tee "$said"
status=${PIPESTATUS[0]}
# ctest prints how each test ended. Its log has the output of each, with one line about cases from tests/util or tests/system.
awk '
  FILENAME == ARGV[1] && /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    if (/\*\*\*Skipped/) skipped++; else if (/ Passed /) passed++; else failed++
  }
  FILENAME != ARGV[1] && /^cases: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped, / {
    if ($2 > 0) cases += $6
    missing += $8
  }
  END {
    printf "%d passed, %d failed, %d skipped", passed, failed, skipped
    if (cases) printf "; %d cases skipped in programs that passed", cases
    if (missing) printf "; %d cases lack their data: set KAON_TEST_DATA to its folder (see DEVELOPERS.md)", missing
    print ""
  }' "$said" "$build/Testing/Temporary/LastTest.log"
exit "$status"

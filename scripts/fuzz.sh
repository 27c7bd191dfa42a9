#!/bin/sh
# fuzz.sh SECONDS [FOLDER [HARNESS]] - builds the libFuzzer harnesses of the file parsers with clang and runs each for
# SECONDS under the address and undefined-behaviour sanitizers, as many at a time as there are processors. Corpora stay
# in FOLDER (default: build-fuzz) and grow from run to run. With HARNESS, only that one runs, as last built.
# If it finds a fault, it prints the path of the input and exits with status 1. CI uses 15 seconds; use 1800 after a
# change of a parser.
set -eu
seconds=${1:?usage: fuzz.sh SECONDS [FOLDER [HARNESS]]}
source=$(cd "$(dirname "$0")/.." && pwd)
folder=${2:-$source/build-fuzz}
harnesses="nersc lime milc openqcd detect scidac propagator market rational multigrid"
compiler=${CLANG:-clang}
flags="-std=gnu11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=undefined -I$source -I$source/include"
sources="$(ls "$source"/lib/io/*.c "$source"/lib/io/formats/*.c) $source/lib/comm/comm.c $source/lib/comm/agree.c $source/tests/fuzz/no_context.c"
for file in error options options_table output; do sources="$sources $source/lib/core/$file.c"; done
matrices="$(ls "$source"/sparse/files/market_*.c) $source/sparse/storage/csr.c $source/sparse/ranks/rank_rows.c"
rational=$source/solvers/shifts/rational_file.c
bases=$source/multigrid/bases_header.c

# fuzz HARNESS: one run; prints a summary, or the last lines of a failure.
fuzz() {
  "$folder/fuzz_$1" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -dict="$source/tests/fuzz/io.dict" -artifact_prefix="$folder/findings/$1-" "$folder/corpus/$1" \
    >"$folder/fuzz_$1.log" 2>&1 || { tail -n 60 "$folder/fuzz_$1.log"; echo "fuzz.sh: $1 failed; see $folder/findings" >&2; return 1; }
  echo "== $1: $seconds s; $(grep -E "number_of_executed_units|new_units_added" "$folder/fuzz_$1.log" | tr -s ' ' | tr '\n' ' ')" \
    "$(grep " cov: " "$folder/fuzz_$1.log" | tail -n 1)"
}

if [ $# -ge 3 ]; then
  fuzz "$3"
  exit
fi

command -v "$compiler" >/dev/null || { echo "fuzz.sh: no $compiler; install clang and libclang-rt-dev" >&2; exit 3; }
mkdir -p "$folder/findings" "$folder/objects"

# at_once COMMAND...: runs the command with each line of the input, as many at a time as there are processors.
at_once() { xargs -P "$(nproc)" -I {} "$@"; }

# objects FILE...: the paths of these sources' objects.
objects() { for file in "$@"; do echo "$folder/objects/$(basename "$file" .c).o"; done; }

# Each source is compiled once, with the instrumentation that all harnesses need.
for file in $sources $matrices $rational $bases "$source"/tests/fuzz/fuzz_*.c "$source/tests/fuzz/make_corpus.c"; do echo "$file"; done |
  at_once sh -c "$compiler $flags -fsanitize=fuzzer-no-link,address,undefined -c \"\$1\" -o \"$folder/objects/\$(basename \"\$1\" .c).o\"" sh {}
# shellcheck disable=SC2046,SC2086
"$compiler" -fsanitize=fuzzer-no-link,address,undefined $(objects make_corpus.c $sources $matrices) -lexpat -lz -lm -o "$folder/make_corpus"
for h in $harnesses; do
  mkdir -p "$folder/corpus/$h"
  case $h in market) more=$matrices ;; rational) more=$rational ;; multigrid) more=$bases ;; *) more= ;; esac
  # shellcheck disable=SC2046,SC2086
  "$compiler" -fsanitize=fuzzer,address,undefined $(objects "fuzz_$h.c" $sources $more) -lexpat -lz -lm -o "$folder/fuzz_$h"
done
"$folder/make_corpus" "$folder/corpus"
cp "$source"/tests/reference/rational_*.txt "$folder/corpus/rational/"

count=$(echo "$harnesses" | wc -w)
echo "$harnesses" | tr ' ' '\n' | at_once "$0" "$seconds" "$folder" {} || exit 1
echo "fuzz.sh: $count harnesses, $seconds s each, nothing found"

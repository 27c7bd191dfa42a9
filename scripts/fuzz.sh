#!/bin/sh
# fuzz.sh SECONDS [FOLDER] - builds the libFuzzer harnesses of the file parsers with clang and runs them one after
# the other, SECONDS in all, under the address and undefined-behaviour sanitizers. Corpora stay in FOLDER
# (default build-fuzz) and grow from run to run. Exit status 1 and the input's path if anything was found.
set -eu
seconds=${1:?usage: fuzz.sh SECONDS [FOLDER]}
source=$(cd "$(dirname "$0")/.." && pwd)
folder=${2:-$source/build-fuzz}
harnesses="nersc lime milc openqcd detect scidac propagator market rational"
compiler=${CLANG:-clang}
flags="-std=gnu11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=undefined -I$source -I$source/include"
sources="$(ls "$source"/lib/io/*.c) $source/lib/comm.c $source/lib/error.c"
matrices="$(ls "$source"/sparse/market_*.c) $source/sparse/csr.c $source/sparse/ranks.c"

command -v "$compiler" >/dev/null || { echo "fuzz.sh: no $compiler; install clang and libclang-rt-dev" >&2; exit 3; }
mkdir -p "$folder/findings"
# shellcheck disable=SC2086
"$compiler" $flags -fsanitize=address,undefined "$source/tests/fuzz/make_corpus.c" $sources $matrices -lz -lm -o "$folder/make_corpus"
for h in $harnesses; do
  mkdir -p "$folder/corpus/$h"
  case $h in market) more=$matrices ;; rational) more=$source/solvers/rational_file.c ;; *) more= ;; esac
  # shellcheck disable=SC2086
  "$compiler" $flags -fsanitize=fuzzer,address,undefined "$source/tests/fuzz/fuzz_$h.c" $sources $more -lz -lm -o "$folder/fuzz_$h"
done
"$folder/make_corpus" "$folder/corpus"
cp "$source"/tests/reference/rational_*.txt "$folder/corpus/rational/"

count=$(echo "$harnesses" | wc -w)
share=$((seconds / count))
[ "$share" -gt 0 ] || share=1
for h in $harnesses; do
  echo "== $h: $share s"
  "$folder/fuzz_$h" -max_total_time="$share" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -dict="$source/tests/fuzz/io.dict" -artifact_prefix="$folder/findings/$h-" "$folder/corpus/$h" \
    >"$folder/fuzz_$h.log" 2>&1 || { tail -n 60 "$folder/fuzz_$h.log"; echo "fuzz.sh: $h failed; see $folder/findings" >&2; exit 1; }
  grep -E "number_of_executed_units|average_exec_per_sec|new_units_added" "$folder/fuzz_$h.log"
  grep " cov: " "$folder/fuzz_$h.log" | tail -n 1
done
echo "fuzz.sh: $count harnesses, $seconds s, nothing found"

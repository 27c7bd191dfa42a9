#!/usr/bin/env bash
# run_gpu.sh - builds kaon on a machine with a CUDA device and without network, and runs tests and benchmarks there.
#
#   tests/run_gpu.sh [what...]      what: build tests ranks sanitizer bench profile (default: all of them, in this order)
#
# Needs a C compiler with OpenMP, nvcc, CMake 3.22, ninja or make, and the headers of zlib, cmocka and, for the kaon
# program, jansson. Where these are not installed, KAON_DEPS names a folder to look in besides: unpacked Debian or Ubuntu
# packages (zlib1g-dev libcmocka-dev libcmocka0 libjansson-dev libjansson4), or a folder of the .deb files themselves.
#   KAON_CUDA_ARCHS  compute capabilities; default: the device's
#   KAON_BUILD       build folder; default build-gpu
#   KAON_BENCH_SECONDS  what the benchmarks may take together; default 240. What is left out for time is said.
#   KAON_TEST_SECONDS   what the tests may take together; default 270
#   KAON_MPIRUN      how ranks are started; default: mpirun with Open MPI's flags for more ranks than cores
#   KAON_RANKS       numbers of ranks; default: 1 2 4, and 8 where there are as many devices
#   OUT              where results go; default <build>/results. summary.txt is also printed; the benchmarks' files, by
#                    the names that bench/results/DEVICE/ wants, and their tables are in OUT/bench.
# Status: 0 all passed. What a machine refuses (a sanitizer, say) is reported as skipped with its reason, never as passed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
. tests/join_parts.sh
root=$PWD
build=${KAON_BUILD:-build-gpu}
out=${OUT:-$build/results}
jobs=$(nproc)
failures=0
mkdir -p "$out" "$build"
out=$(cd "$out" && pwd)
build=$(cd "$build" && pwd)
: >"$out/summary.txt"

say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
step() { printf '\n== %s (%ss)\n' "$*" "$SECONDS"; }
failed() {
  say "FAILED   $*"
  failures=$((failures + 1))
}

find_nvcc() {
  command -v nvcc >/dev/null && return 0
  for folder in "${CUDA_HOME:-/usr/local/cuda}/bin" /usr/local/cuda*/bin; do
    [ -x "$folder/nvcc" ] && PATH=$folder:$PATH && export PATH && return 0
  done
  return 1
}

# Packages in KAON_DEPS are unpacked into the build folder; the result is a prefix for CMake.
unpack() {
  prefix=
  [ -n "${KAON_DEPS:-}" ] || return 0
  if ls "$KAON_DEPS"/*.deb >/dev/null 2>&1; then
    for package in "$KAON_DEPS"/*.deb; do dpkg -x "$package" "$build/deps" || failed "unpacking $package"; done
    prefix=$build/deps/usr
  else
    prefix=$(cd "$KAON_DEPS" && pwd)
    [ -d "$prefix/usr" ] && prefix=$prefix/usr
  fi
}

machine() {
  step "machine"
  say "commit   $(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
  say "device   $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo none)"
  say "nvcc     $(nvcc --version | tail -1)"
  say "cpu      $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $jobs cores"
}

build_all() {
  step "build"
  local begin=$SECONDS generator=() options=(-DCMAKE_BUILD_TYPE=Release -DKAON_CUDA=ON)
  command -v ninja >/dev/null && generator=(-G Ninja)
  [ -n "${KAON_CUDA_ARCHS:-}" ] && options+=("-DKAON_CUDA_ARCHS=$KAON_CUDA_ARCHS")
  [ -n "$prefix" ] && options+=("-DCMAKE_PREFIX_PATH=$prefix")
  if ! cmake -S . -B "$build" "${generator[@]}" "${options[@]}" >"$out/configure.log" 2>&1; then
    # the program is the only part that needs jansson
    if grep -q jansson "$out/configure.log"; then
      say "SKIPPED  the kaon program: no jansson here"
      options+=(-DKAON_BUILD_PROGRAM=OFF)
      cmake -S . -B "$build" "${generator[@]}" "${options[@]}" >"$out/configure.log" 2>&1
    fi
  fi
  if [ ! -e "$build/build.ninja" ] && [ ! -e "$build/Makefile" ]; then
    failed "configure"
    tail -20 "$out/configure.log"
    return 1
  fi
  if ! cmake --build "$build" --parallel "$jobs" >"$out/build.log" 2>&1; then
    failed "build"
    grep -E -A5 "error|FAILED" "$out/build.log" | head -60
    return 1
  fi
  say "PASSED   build, $((SECONDS - begin)) s"
  [ -x "$build/kaon" ] && "$build/kaon" info | tee "$out/info.txt"
  return 0
}

# A test program that says "cuda: skipped" has not seen the device. One at a time: several share a device badly. Those
# that take longest come last, so that a time limit costs the fewest.
tests() {
  step "tests"
  local log=$out/tests.log slow="test_hop_columns test_update_kernels test_block_kernels test_solver_ends test_solvers test_blockcg"
  local name program begin left end=$((SECONDS + ${KAON_TEST_SECONDS:-270})) status
  : >"$log"
  export OMP_WAIT_POLICY=passive
  for name in $(find "$build/tests" -maxdepth 1 -type f -name 'test_*' -perm -u+x -printf '%f\n' | sort |
    grep -vxF "$(printf '%s\n' $slow)") $slow; do
    program=$build/tests/$name begin=$SECONDS left=$((end - SECONDS)) status=0
    [ "$left" -lt 150 ] || left=150
    [ -x "$program" ] || continue
    if [ "$left" -lt 5 ]; then
      say "SKIPPED  $name: no time left"
      continue
    fi
    printf '\n#### %s\n' "$name" >>"$log"
    timeout "$left" "$program" >"$out/one.log" 2>&1 || status=$?
    if [ $status = 124 ] && { [ "$left" -ge 150 ] || grep -q "\[  FAILED" "$out/one.log"; }; then
      failed "$name: did not end in $left s; $(grep -E -m3 'FAILED|ERROR|error: ' "$out/one.log" | tr '\n' ';' | cut -c1-300)"
    elif [ $status = 124 ]; then
      say "SKIPPED  $name: over its time; $(grep -c '^\[       OK' "$out/one.log") tests passed, $(grep -c 'FAILED' "$out/one.log") failed till then"
    elif [ $status != 0 ]; then
      failed "$name (status $status): $(grep -E -m3 'FAILED|ERROR|error: ' "$out/one.log" | tr '\n' ';' | cut -c1-300)"
      tail -15 "$out/one.log"
    elif grep -q "cuda: skipped" "$out/one.log"; then
      say "SKIPPED  $name: passed, but $(grep -m1 -o 'cuda: skipped.*' "$out/one.log" | cut -c1-120)"
    else
      say "PASSED   $name, $((SECONDS - begin)) s"
    fi
    cat "$out/one.log" >>"$log"
  done
  rm -f "$out/one.log"
}

# Tests on several ranks, which take the devices in turn: more ranks than devices share them.
ranks() {
  step "ranks"
  local log=$out/ranks.log one=$out/one.log launcher name number begin status devices numbers=${KAON_RANKS:-}
  launcher=${KAON_MPIRUN:-mpirun --allow-run-as-root --oversubscribe --bind-to none}
  : >"$log"
  if ! command -v "${launcher%% *}" >/dev/null; then
    say "SKIPPED  ranks: ${launcher%% *} is not installed"
    return
  fi
  devices=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  [ -n "$numbers" ] || { numbers="1 2 4"; [ "$devices" -lt 8 ] || numbers="$numbers 8"; }
  export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 CMOCKA_TEST_ABORT=1
  for name in $(find "$build/tests/ranks" -maxdepth 1 -type f -name 'ranks_*' -perm -u+x -printf '%f\n' | sort); do
    for number in $numbers; do
      begin=$SECONDS status=0
      printf '\n#### %s, %d ranks\n' "$name" "$number" >>"$log"
      KAON_TEST_MACHINE=cuda timeout 200 $launcher -n "$number" "$build/tests/ranks/$name" >"$one" 2>&1 || status=$?
      cat "$one" >>"$log"
      if [ $status = 124 ]; then
        failed "$name on $number ranks: did not end in 200 s; $(grep -E 'RUN' "$one" | tail -1)"
      elif [ $status != 0 ]; then
        failed "$name on $number ranks (status $status): $(grep -E -m3 'FAILED|ERROR|error: ' "$one" | tr '\n' ';' | cut -c1-400)"
        tail -15 "$one"
      elif grep -q "cuda: skipped" "$one"; then
        say "SKIPPED  $name on $number ranks: $(grep -m1 -o 'cuda: skipped.*' "$one" | cut -c1-120)"
      else
        say "PASSED   $name on $number ranks and $devices devices, $((SECONDS - begin)) s"
      fi
    done
  done
  rm -f "$one"
}

# compute-sanitizer on what touches every entry of the tables, on the device alone.
sanitizer() {
  step "compute-sanitizer"
  local tool program programs status log=$out/sanitizer.log one=$build/sanitizer.one
  : >"$log"
  if ! command -v compute-sanitizer >/dev/null; then
    say "SKIPPED  compute-sanitizer: not installed"
    return
  fi
  for tool in memcheck racecheck; do
    programs="test_context test_other_spaces test_update_calls test_sparse_kernels"
    [ $tool = memcheck ] || programs="$programs test_relax test_kaczmarz"
    for program in $programs; do
      [ -x "$build/tests/$program" ] || continue
      # a refused allocation is what test_context asks for
      KAON_TEST_BRIEF=1 KAON_TEST_MACHINE=cuda timeout 60 compute-sanitizer --tool "$tool" --error-exitcode 99 \
        $([ $tool = memcheck ] && echo --report-api-errors no) "$build/tests/$program" >"$one" 2>&1
      status=$?
      if grep -qE "Device not supported|not supported on this|Unable to" "$one"; then
        say "SKIPPED  $tool $program: $(grep -m1 -E 'not supported|Unable' "$one" | cut -c1-120)"
      elif [ $status = 124 ]; then
        say "SKIPPED  $tool $program: over its time"
      elif [ $status = 0 ] && grep -q "ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards" "$one"; then
        say "PASSED   $tool $program"
      else
        failed "$tool $program (status $status)"
        grep -m12 "=========" "$one"
      fi
      { printf '\n#### %s %s\n' "$tool" "$program" && tail -200 "$one"; } >>"$log"
    done
  done
}

# bench_one TOPIC SECONDS what...: one benchmark, as a part of its topic's file, if about SECONDS are left for it.
bench_one() {
  local topic=$1 needs=$2 left part status begin=$SECONDS
  shift 2
  left=$((bench_end - SECONDS))
  if [ "$left" -lt "$needs" ]; then
    say "SKIPPED  kaon bench $*: no time left ($left s, it takes about $needs)"
    return
  fi
  bench_count=$((bench_count + 1))
  part=$(printf '%s/%s.%03d.json' "$parts" "$topic" $bench_count)
  printf '\n$ kaon bench %s\n' "$*" | tee -a "$bench_log"
  timeout "$left" "$build/kaon" bench "$@" --backend cuda --json "$part" 2>&1 | tee -a "$bench_log"
  status=${PIPESTATUS[0]}
  case $status in
    0) say "PASSED   bench $topic, $((SECONDS - begin)) s" ;;
    124) say "SKIPPED  kaon bench $*: over its time" ;;
    *) failed "kaon bench $* (status $status)" ;;
  esac
}

# Sums into slots and the kernels of block methods, which the program cannot call: rows of the topic slots.
slots() {
  if cmake --build "$build" --target vector_times >>"$out/build.log" 2>&1 &&
    timeout 60 "$build/tests/vector_times" "$parts/slots.001.json" >>"$bench_log" 2>&1; then
    say "PASSED   vector_times"
  else
    failed "vector_times"
  fi
}

bench_join() {
  join_parts "$parts/$1" "$out/bench/$(date -u +%F)-$(git rev-parse --short=12 HEAD 2>/dev/null || echo 0)-$1.json"
}

# A thermalised configuration (60 sweeps from a cold start) and a solve on it near the light quark's kappa.
critical() {
  local field=$build/critical.ildg report=$build/critical.json sweeps=60 overrelax=4 left=$((bench_end - SECONDS))
  if [ "$left" -lt 40 ]; then
    say "SKIPPED  the thermalised configuration: no time left ($left s, it takes about 40)"
    return
  fi
  printf '\n$ kaon generate --lattice 32 32 32 64 --sweeps %d --overrelax %d\n' $sweeps $overrelax | tee -a "$bench_log"
  if ! timeout "$left" "$build/kaon" generate --backend cuda --lattice 32 32 32 64 --sweeps $sweeps --overrelax $overrelax --every 20 \
    --output "$field" --report "$report" 2>&1 | tee -a "$bench_log"; then
    failed "kaon generate"
    return
  fi
  say "heatbath and over-relaxation: $(sed -n 's/^ *"seconds": *\([0-9.e+-]*\),*$/\1/p' "$report" |
    awk -v n=$((32 * 32 * 32 * 64 * 4 * sweeps * (overrelax + 1))) '{printf "%.2f ns a link update in double, %.2f s", 1e9 * $1 / n, $1}')"
  local problem=(--gauge "$field" --kappa 0.1345 --csw 1.769 --tol 1e-10 --reconstruct 12)
  bench_one critical 15 solve "${problem[@]}" --solver cg --stop normal --precision double,half --columns 1
  bench_one critical 15 solve "${problem[@]}" --solver bicgstab --stop schur --precision half --columns 1
  bench_one critical 30 solve "${problem[@]}" --solver cg --stop normal --precision half --columns 12
  bench_one critical 30 solve "${problem[@]}" --solver blockcg --stop normal --precision single --columns 12
  rm -f "$field"
}

# Sizes from one that a cache holds to one far past it; solves of a size that others have figures for. What matters most comes first.
benchmarks() {
  step "bench"
  if [ ! -x "$build/kaon" ]; then
    say "SKIPPED  bench: the kaon program was not built"
    return
  fi
  parts=$build/bench-parts bench_log=$out/bench/bench.log bench_end=$((SECONDS + ${KAON_BENCH_SECONDS:-240})) bench_count=0
  rm -rf "$parts"
  mkdir -p "$parts" "$out/bench"
  : >"$bench_log"
  local problem=(--lattice 32 32 32 64 --gauge weak:0.3 --kappa 0.130 --csw 1 --tol 1e-10 --reconstruct 12)
  bench_one solve-cg 10 solve "${problem[@]}" --solver cg --stop normal --columns 1
  bench_one dslash 8 dslash --lattice 16 16 16 16 --columns 1
  bench_one dslash 10 dslash --lattice 32 32 32 32 --columns 1
  bench_one dslash 26 dslash --lattice 48 48 48 64 --columns 1
  bench_one solve-bicgstab 10 solve "${problem[@]}" --solver bicgstab --stop schur --columns 1
  bench_one columns 30 dslash --lattice 32 32 32 32 --columns 12 --reconstruct 12
  bench_one vector 7 vector --lattice 48 48 48 64 --columns 1
  slots
  bench_one small 14 solve --lattice 8 8 8 8 --lattice 16 16 16 16 --gauge weak:0.3 --kappa 0.130 --csw 1 --solver cg --stop normal --reconstruct 12 --columns 1
  bench_one solve-columns 20 solve "${problem[@]}" --solver cg --stop normal --precision half --columns 12
  bench_one solve-columns 25 solve "${problem[@]}" --solver blockcg --stop normal --precision single,half --columns 12
  critical
  bench_one dslash 7 dslash --lattice 24 24 24 48 --columns 1
  bench_one columns 30 dslash --lattice 48 48 48 64 --columns 12 --precision single,half --reconstruct 12
  for topic in dslash columns vector slots solve-cg solve-bicgstab solve-columns small critical; do bench_join "$topic"; done
  if ! command -v python3 >/dev/null; then
    say "SKIPPED  the benchmarks' tables: no python3 here; scripts/performance.py --table makes them of OUT/bench/*.json"
  elif python3 scripts/performance.py --table "$out"/bench/*.json >"$out/bench/tables.md"; then
    cat "$out/bench/tables.md"
  else
    failed "the benchmarks' tables"
  fi
}

# Bytes that a hop moves between its multiprocessors, the second-level cache and memory, by the device's counters.
profile() {
  step "profile"
  local metrics=dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex.sum,l1tex__t_sector_hit_rate.pct
  metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active
  metrics=$metrics,gpu__time_duration.sum
  local precision columns one=$build/profile.one
  : >"$out/profile.txt"
  if ! command -v ncu >/dev/null; then
    say "SKIPPED  profile: ncu is not installed"
    return
  fi
  for columns in 1 12; do
    for precision in double single half; do
      printf '\n$ ncu kaon bench dslash --lattice 32 32 32 32 --precision %s --reconstruct 12 --columns %d\n' $precision $columns >>"$out/profile.txt"
      timeout 40 ncu --clock-control none -k regex:^hop_ -c 1 --metrics $metrics "$build/kaon" bench dslash --backend cuda \
        --lattice 32 32 32 32 --precision $precision --reconstruct 12 --columns $columns --samples 1 --calls 1 >"$one" 2>&1
      if grep -q dram__bytes "$one"; then
        grep -E '^ *(void )?hop_[a-z]+<|__.*(sum|pct)' "$one" >>"$out/profile.txt"
        say "PASSED   profile $precision, $columns columns"
      else
        say "SKIPPED  profile $precision, $columns columns: $(grep -m1 -E 'ERROR|error' "$one" | cut -c1-120)"
      fi
    done
  done
}

find_nvcc || { echo "run_gpu.sh: nvcc is not on the path nor below /usr/local/cuda; set CUDA_HOME" >&2; exit 3; }
unpack
machine
[ $# -gt 0 ] || set -- build tests ranks sanitizer bench profile
for what in "$@"; do
  case $what in
    build) build_all || break ;;
    tests) tests ;;
    ranks) ranks ;;
    sanitizer) sanitizer ;;
    bench) benchmarks ;;
    profile) profile ;;
    *) echo "run_gpu.sh: $what is none of build, tests, ranks, sanitizer, bench, profile" >&2; exit 2 ;;
  esac
done
cd "$root" || exit 2
say "TOTAL    $SECONDS s, $failures failed"
[ $failures = 0 ]

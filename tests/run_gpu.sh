#!/usr/bin/env bash
# run_gpu.sh - builds kaon on a machine with a CUDA device, without network, and runs tests and benchmarks there.
#
#   tests/run_gpu.sh [WHAT...]      default: build tests sanitizer bench profile
#     build, tests, bench
#     ranks      tests of several ranks. run_gpu_ranks.sh runs them on several devices
#     sanitizer  compute-sanitizer on short programs
#     races      compute-sanitizer on programs that take long under it
#     profile    the bytes that a hop moves (run_profile.sh)
#     more       a thermalised configuration with multigrid, 12 columns of 48^3x64, small solves on links of 18 and 8 reals
#
# Needs a C compiler with OpenMP, nvcc, CMake 3.22, ninja or make, and zlib, expat, LAPACKE and cmocka with their headers; for the
# program kaon also jansson. Tests of the program (tests/system) need python3.
#
#   KAON_DEPS        a folder with missing packages, unpacked or as .deb files: zlib1g-dev libexpat1-dev libcmocka-dev libcmocka0
#                    libjansson-dev libjansson4 liblapacke-dev liblapacke libopenblas0-pthread libgfortran5 libquadmath0 libtmglib3
#                    (Debian, Ubuntu)
#   KAON_CUDA_ARCHS  compute capabilities; default: the device's
#   KAON_BUILD       build folder; default build-gpu
#   KAON_MPIRUN      command that starts ranks; default: mpirun, with Open MPI's flags for more ranks than cores
#   KAON_RANKS       numbers of ranks; default: 1 2 4, and 8 if there are 8 devices
#   OUT              folder of results; default <build>/results: summary.txt (also printed), tests/ with each program's output, bench/
#                    with files for scripts/performance.py --keep
# Time limits, in seconds:
#   KAON_GPU_SECONDS    for everything; default 530 if no WHAT is given, else none. Each part gets the time that is left
#   KAON_BENCH_SECONDS  for all benchmarks; default 240, of `more` 330
#   KAON_TEST_SECONDS   for tests, ranks, sanitizer and races together, if they run one after another; default 320
#   KAON_TEST_LIMIT     for one test; default 200
# How tests share the device:
#   KAON_TEST_JOBS       concurrent programs; default: half the number of cores, at most 8. Programs that depend on free device
#                        memory or on a clock run alone
#   KAON_TEST_MPS        0: without CUDA's Multi-Process Service. Default: with it if nvidia-cuda-mps-control is on the path
#   KAON_TEST_TURNS      without that service: concurrent programs that keep the device busy; default 1
#   KAON_TEST_MACHINE    cuda (default): tests of the device; all: also of the processor's instruction sets
#   KAON_TEST_TRANSPORT  transport of tests that name none; default: peer if ranks share a device, else auto
#
# Exit status: 0 all passed; 1 something failed; 4 nothing failed, but something was cut off or not started for lack of time; 130
# ended by a signal. What the machine does not support is reported as skipped with the reason, never as passed.
# shellcheck disable=SC2317 # functions that run_jobs.sh calls
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
. tests/join_parts.sh
. tests/run_jobs.sh
. tests/run_mps.sh
. tests/run_profile.sh
root=$PWD
build=${KAON_BUILD:-build-gpu}
out=${OUT:-$build/results}
cores=$(nproc)
mkdir -p "$out" "$build"
out=$(cd "$out" && pwd)
build=$(cd "$build" && pwd)
: >"$out/summary.txt"

say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
step() { printf '\n== %s (%ss)\n' "$*" "$SECONDS"; }

# The end of the summary: counts and names by outcome.
declare -A count=([PASSED]=0 [FAILED]=0 [LATE]=0 ["NOT RUN"]=0 [SKIPPED]=0) which=()
# verdict KIND WHAT TEXT: writes a line of the summary about WHAT.
verdict() {
  count[$1]=$((${count[$1]} + 1))
  which[$1]+=" $2,"
  say "$(printf '%-8s %s' "$1" "$2$3")"
}
passed() { verdict PASSED "$1" "${2:-}"; }
failed() { verdict FAILED "$1" "${2:-}"; }
late() { verdict LATE "$1" "${2:-}"; }
not_run() { verdict "NOT RUN" "$1" "${2:-}"; }
skipped() { verdict SKIPPED "$1" "${2:-}"; }

# end_of SECONDS: the end of a step with this time limit.
end_of() { echo $((SECONDS + $1 < deadline ? SECONDS + $1 : deadline)); }

# run_one NAME END FOLDER words...: runs a command alone, with its output in FOLDER/NAME.log. Returns its status; 124: it was cut
# off at END; 125: there was no time to start it.
run_one() {
  local name=$1 end=$2 folder=$3
  shift 3
  job_add "$name" 1000000 alone "$@"
  jobs_run 1 "$end" "$folder" :
  case ${job_state[$name]} in
    cut) return 124 ;;
    unrun) return 125 ;;
    *) return "${job_status[$name]}" ;;
  esac
}

find_nvcc() {
  command -v nvcc >/dev/null && return 0
  for folder in "${CUDA_HOME:-/usr/local/cuda}/bin" /usr/local/cuda*/bin; do
    [ -x "$folder/nvcc" ] && PATH=$folder:$PATH && export PATH && return 0
  done
  return 1
}

# Packages in KAON_DEPS are unpacked into the build folder; the result is a prefix for CMake. Libraries that no others link by a path,
# such as those behind LAPACKE, are found by LD_LIBRARY_PATH, also when programs are linked.
unpack() {
  local folders
  prefix=
  [ -n "${KAON_DEPS:-}" ] || return 0
  if ls "$KAON_DEPS"/*.deb >/dev/null 2>&1; then
    for package in "$KAON_DEPS"/*.deb; do dpkg -x "$package" "$build/deps" || failed "unpacking of $package"; done
    prefix=$build/deps/usr
  else
    prefix=$(cd "$KAON_DEPS" && pwd)
    [ -d "$prefix/usr" ] && prefix=$prefix/usr
  fi
  folders=$(find "$prefix/lib" -name 'lib*.so.*' -printf '%h\n' | sort -u | paste -sd :)
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders
}

machine() {
  step "machine"
  say "commit   $(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
  say "device   $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo none)"
  say "nvcc     $(nvcc --version 2>/dev/null | tail -1)"
  say "cpu      $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $cores cores"
}

configure() { run_one configure "$deadline" "$out" cmake -S . -B "$build" "$@"; }

build_all() {
  step "build"
  local begin=$SECONDS options=(-DCMAKE_BUILD_TYPE=Release -DKAON_CUDA=ON)
  command -v ninja >/dev/null && options+=(-G Ninja)
  [ -n "${KAON_CUDA_ARCHS:-}" ] && options+=("-DKAON_CUDA_ARCHS=$KAON_CUDA_ARCHS")
  [ -n "$prefix" ] && options+=("-DCMAKE_PREFIX_PATH=$prefix")
  if ! configure "${options[@]}"; then
    # the program is the only part that needs jansson
    if grep -q jansson "$out/configure.log"; then
      skipped "the kaon program" ": no jansson here"
      configure "${options[@]}" -DKAON_BUILD_PROGRAM=OFF
    fi
  fi
  if [ ! -e "$build/build.ninja" ] && [ ! -e "$build/Makefile" ]; then
    failed "configure"
    tail -20 "$out/configure.log"
    return 1
  fi
  run_one build "$deadline" "$out" cmake --build "$build" --parallel "$cores"
  case $? in
    0) passed "build" ", $((SECONDS - begin)) s" ;;
    124 | 125) late "build" ": did not end in $((SECONDS - begin)) s" && return 1 ;;
    *)
      failed "build"
      grep -E -A5 "error|FAILED" "$out/build.log" | head -60
      return 1
      ;;
  esac
  [ -x "$build/kaon" ] && "$build/kaon" info | tee "$out/info.txt"
  return 0
}

# ---- tests, ranks, sanitizer: one queue, so that the shared device is seldom idle ----

# Tests that a concurrent program could make fail: test_context requests more memory than is free, the others read clocks.
alone=" test_context test_energy ranks_patience ranks_device_error "
# Tests that keep the device busy. Without MPS their processes would wait for each other's time slices. The other tests mostly compute
# references on the host.
turns=" test_blockcg test_kaczmarz test_kaczmarz_counts test_multishift_issue test_partition test_precond_counts test_preconditioned
  test_reference_solve test_relax test_relax_uses test_schwarz test_schwarz_async test_solver_begin_end test_solver_histories
  test_solver_issue test_solver_listed test_solver_regimes test_solver_runs test_solvers test_solvers_dirac test_sync "
turns=${turns//$'\n'/}
# Tests that MPS does not support: they need kernels that launch kernels.
without_mps=" test_solver_listed test_solver_histories "

# place NAME: sets $with, how a test program shares the device, and $sharing, the environment for that.
place() {
  sharing=("${apart[@]}") with=beside
  case $alone in *" $1 "*) with=alone && return ;; esac
  case $turns in *" $1 "*) with=turn ;; esac
  if [ -n "$mps" ]; then
    case $without_mps in *" $1 "*) with=turn && return ;; esac
    sharing=(CUDA_MPS_PIPE_DIRECTORY="$mps") with=beside
  fi
}

turn_of() { case $alone in *" $1 "*) echo alone ;; *) echo turn ;; esac; }

# Number of concurrent programs and threads of each. One program if the device accepts one process only.
share_out() {
  at_a_time=$(((cores + 1) / 2))
  at_a_time=${KAON_TEST_JOBS:-$((at_a_time < 8 ? at_a_time : 8))}
  job_turns=${KAON_TEST_TURNS:-1}
  if nvidia-smi --query-gpu=compute_mode --format=csv,noheader 2>/dev/null | grep -qi exclusive; then
    say "device   takes one process at a time, so one test"
    at_a_time=1 mps_tried=1 # the service would be that process
  fi
  threads=${OMP_NUM_THREADS:-$((cores > at_a_time ? cores / at_a_time : 1))}
}

# The longest first, by the last recorded time of each label. Unknown ones count as long.
queue_longest_first() {
  local files=() name
  mapfile -t files < <(find bench/results -name '*-tests.txt' -printf '%f %p\n' 2>/dev/null | sort | cut -d' ' -f2)
  mapfile -t job_queue < <(for name in "${job_queue[@]}"; do printf '%s\t%s\n' "$name" "${label[$name]}"; done | awk -F '\t' '
    names { printf "%d\t%s\n", $2 in seconds ? seconds[$2] : 60, $1; next }
    match($0, /^PASSED +[^,]+/) && / [0-9]+ s$/ {
      what = substr($0, RSTART, RLENGTH)
      sub(/^PASSED +/, "", what)
      seconds[what] = substr($0, match($0, /[0-9]+ s$/)) + 0
    }
  ' "${files[@]}" names=1 - | sort -s -k1,1nr | cut -f2)
}

# The name of a job in the summary.
declare -A label=()

# test_job JOB LABEL: queues the test program $name.
test_job() {
  label[$1]=$2
  job_add "$1" "$limit" "$with" env "${machine[@]}" "${sharing[@]}" OMP_WAIT_POLICY=passive OMP_NUM_THREADS="$threads" "$build/tests/$name"
}

tests() {
  local name with sharing machine=(KAON_TEST_MACHINE="${KAON_TEST_MACHINE:-cuda}") limit=${KAON_TEST_LIMIT:-200}
  mps_begin
  compgen -G "$build/tests/test_*" >/dev/null || failed tests ": there are none in $build/tests; run_gpu.sh build makes them"
  [ "${KAON_TEST_MACHINE:-}" != all ] || machine=(-u KAON_TEST_MACHINE)
  for name in $(find "$build/tests" -maxdepth 1 -type f -name 'test_*' -perm -u+x -printf '%f\n' 2>/dev/null | sort); do
    place "$name"
    test_job "$name" "$name"
    if [ -n "$mps" ] && [ "$name" = test_solver_histories ]; then # it requests such kernels, and must know that they are missing
      sharing=(CUDA_MPS_PIPE_DIRECTORY="$mps") with=beside
      test_job "$name-mps" "$name under MPS"
    fi
  done
  system_tests
}

# Tests of the program that concern a device: tests/system/test_NAME.py. Of test_usage only those of backends, which choose their own.
system_names=(tune invert_program memory solve_program usage)
backend_tests=(Usage.test_a_backend_that_cannot_be_used_says_why_and_what_to_do Usage.test_a_driver_that_is_too_old_is_named)

# Prints the modules that they import and python3 lacks. Fails if python3 does not start.
python_lacks() {
  local modules files=("${system_names[@]/#/tests/system/test_}")
  mapfile -t modules < <(sed -n 's/^import \([a-z]*\)$/\1/p' tests/system/system.py "${files[@]/%/.py}" | sort -u | grep -vx system)
  python3 -c '
import sys
for name in sys.argv[1:]:
    try:
        __import__(name)
    except ImportError:
        print(name)
' "${modules[@]}" 2>&1
}

system_tests() {
  local name part lacks with sharing
  if [ ! -x "$build/kaon" ]; then
    skipped "tests of the program" ": $build/kaon was not built"
  elif ! command -v python3 >/dev/null; then
    skipped "tests of the program" ": python3 is not installed"
  elif ! lacks=$(python_lacks); then
    skipped "tests of the program" ": python3 does not start: $(tail -1 <<<"$lacks" | cut -c1-120)"
  elif [ -n "$lacks" ]; then
    skipped "tests of the program" ": python3 lacks the module ${lacks//$'\n'/, }"
  else
    for name in "${system_names[@]}"; do
      if [ "$name" = "${name%_program}" ]; then system_test "$name" 1/1; else for part in 1/3 2/3 3/3; do system_test "$name" "$part"; done; fi
    done
  fi
}

# system_test NAME PART: long files run as several concurrent parts.
system_test() {
  local what=system_$1 backend=(KAON_BACKEND=cuda) cases=()
  [ "$1" != usage ] || { backend=(-u KAON_BACKEND) && cases=("${backend_tests[@]}"); }
  [ "$2" = 1/1 ] || what=$what-${2%/*}
  label[$what]="$what"
  [ "$2" = 1/1 ] || label[$what]="system_$1 part $2"
  place "$what"
  job_add "$what" "${KAON_TEST_LIMIT:-200}" "$with" env "${backend[@]}" "${sharing[@]}" KAON_PROGRAM="$build/kaon" KAON_BUILD="$build" KAON_SOURCE="$root" \
    KAON_TEST_DATA_DEFAULT="$root/../shared/data" KAON_TEST_PART="$2" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 OMP_NUM_THREADS="$threads" \
    python3 "$root/tests/system/test_$1.py" "${cases[@]}"
}

# Tests on several ranks. Ranks use the devices in turn; if there are more ranks than devices, they share them.
ranks() {
  local name number devices numbers=${KAON_RANKS:-} launcher=() shared
  read -r -a launcher <<<"${KAON_MPIRUN:-mpirun --allow-run-as-root --oversubscribe --bind-to none}"
  if ! command -v "${launcher[0]}" >/dev/null; then
    skipped ranks ": ${launcher[0]} is not installed"
    return
  fi
  devices=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  [ -z "${CUDA_VISIBLE_DEVICES+set}" ] || devices=$(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)
  [ -n "$numbers" ] || { numbers="1 2 4"; [ "$devices" -lt 8 ] || numbers="$numbers 8"; }
  for name in $(find "$build/tests/ranks" -maxdepth 1 -type f -name 'ranks_*' -perm -u+x -printf '%f\n' 2>/dev/null | sort); do
    for number in $numbers; do
      shared=(KAON_TEST_DEVICES="$devices")
      [ "$number" -le "$devices" ] || shared+=(KAON_TEST_TRANSPORT="${KAON_TEST_TRANSPORT:-peer}")
      label[$name-$number]="$name on $number ranks and $devices devices"
      job_add "$name-$number" "${KAON_TEST_LIMIT:-200}" "$(turn_of "$name")" env KAON_TEST_MACHINE=cuda OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 \
        CMOCKA_TEST_ABORT=1 "${shared[@]}" "${launcher[@]}" -n "$number" "$build/tests/ranks/$name"
    done
  done
}

# sanitize TOOL LIMIT programs...: runs compute-sanitizer's TOOL on each for at most LIMIT seconds.
sanitize() {
  local tool=$1 limit=$2 program more=()
  shift 2
  if ! command -v compute-sanitizer >/dev/null; then
    skipped "$tool" ": compute-sanitizer is not installed"
    return
  fi
  [ "$tool" != memcheck ] || more=(--report-api-errors no) # test_context is refused memory
  for program in "$@"; do
    [ -x "$build/tests/$program" ] || continue
    label[$tool-$program]="$tool $program"
    job_add "$tool-$program" "$limit" "$(turn_of "$program")" env "${apart[@]}" KAON_TEST_BRIEF=1 KAON_TEST_MACHINE=cuda \
      compute-sanitizer --tool "$tool" --error-exitcode 99 "${more[@]}" "$build/tests/$program"
  done
}

# Entries of the tables of vectors, matrices, hops, clover blocks and links, on the device alone. racecheck sees shared memory, and takes minutes where
# launches are many.
sanitizer() {
  sanitize memcheck 90 test_context test_row_vectors test_update_calls test_sparse_kernels test_hop_columns test_clover_term test_heatbath
  sanitize racecheck 120 test_context test_sparse_kernels test_hop_columns test_clover_term test_heatbath
}
races() {
  sanitize memcheck 500 test_update_kernels test_staggered
  sanitize racecheck 500 test_update_calls test_relax test_kaczmarz test_row_vectors test_staggered
}

# Of cmocka's programs and of Python's unittest.
complaints() { grep -E -m3 'FAILED|ERROR|error: |^FAIL: |^[A-Za-z.]+Error: ' "$1" | tr '\n' ';' | cut -c1-300; }
cases_left_out() { grep -oE '\(.*skipped=[0-9]+\)$' "$1" | sed 's/.*skipped=\([0-9]*\).*/, \1 of its cases skipped/'; }

# Prints the whole output with a head.
print_whole() {
  printf '\n#### %s: %s\n' "$1" "$2"
  cat "$2"
  printf '#### end of %s\n\n' "$1"
}

# A test program that prints "cuda: skipped" has not used the device.
test_ended() {
  local what=${label[$1]} log=$out/tests/$1.log took=${job_took[$1]}
  case ${job_state[$1]} in
    unrun) not_run "$what" ": no time left" ;;
    passed)
      if grep -q "cuda: skipped" "$log"; then
        skipped "$what" ": passed, but $(grep -m1 -o 'cuda: skipped.*' "$log" | cut -c1-120)"
      else
        passed "$what" "$(cases_left_out "$log"), $took s"
      fi
      ;;
    failed)
      if [ "${job_status[$1]}" = 77 ]; then # no case ran
        skipped "$what" ": $(grep -m1 '^cases: ' "$log")"
      else
        failed "$what" " (status ${job_status[$1]}): $(complaints "$log")" && print_whole "$what" "$log"
      fi
      ;;
    over) failed "$what" ": did not end in ${job_limit[$1]} s; $(complaints "$log")" && print_whole "$what" "$log" ;;
    cut)
      if grep -qE '\[  FAILED|(^|\.\.\. )(FAIL|ERROR)$' "$log"; then
        failed "$what" ": $(complaints "$log")" && print_whole "$what" "$log"
      else
        late "$what" ": ended after $took s; $(grep -cE '^\[       OK|(^|\.\.\. )ok$' "$log") tests passed, none failed till then"
      fi
      ;;
  esac
}

sanitizer_ended() {
  local what=${label[$1]} log=$out/tests/$1.log
  if [ "${job_state[$1]}" = unrun ]; then
    not_run "$what" ": no time left"
  elif grep -qE "Device not supported|not supported on this|Unable to" "$log"; then
    skipped "$what" ": $(grep -m1 -E 'not supported|Unable' "$log" | cut -c1-120)"
  elif [ "${job_state[$1]}" = over ] || [ "${job_state[$1]}" = cut ]; then
    late "$what" ": ended after ${job_took[$1]} s"
  elif [ "${job_state[$1]}" = passed ] && grep -q "ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards" "$log"; then
    passed "$what" ", ${job_took[$1]} s"
  else
    failed "$what" " (status ${job_status[$1]})" && print_whole "$what" "$log"
  fi
}

ended() {
  case $1 in
    memcheck-* | racecheck-*) sanitizer_ended "$1" ;;
    *) test_ended "$1" ;;
  esac
}

run_queue() {
  [ ${#job_queue[@]} -gt 0 ] || { mps_end; return; }
  queue_longest_first
  step "${#job_queue[@]} programs, $at_a_time at a time"
  jobs_run "$at_a_time" "$(end_of "${KAON_TEST_SECONDS:-320}")" "$out/tests" ended
  mps_end
}

# ---- benchmarks, one at a time ----

# bench_one TOPIC SECONDS what...: runs one benchmark for its topic's file, if about SECONDS are left.
bench_one() {
  local topic=$1 needs=$2 left part status begin=$SECONDS
  shift 2
  left=$((bench_end - SECONDS))
  if [ "$left" -lt "$needs" ]; then
    not_run "kaon bench $*" ": no time left ($left s, it takes about $needs)"
    return
  fi
  bench_count=$((bench_count + 1))
  part=$(printf '%s.%03d' "$topic" $bench_count)
  printf '\n$ kaon bench %s\n' "$*" | tee -a "$bench_log"
  run_one "$part" "$bench_end" "$parts" "$build/kaon" bench "$@" --backend cuda --json "$parts/$part.json"
  status=$?
  tee -a "$bench_log" <"$parts/$part.log"
  case $status in
    0) passed "bench $topic" ", $((SECONDS - begin)) s" ;;
    124 | 125) late "kaon bench $*" ": over its time" ;;
    *) failed "kaon bench $*" " (status $status)" ;;
  esac
}

# Rows of the topic slots: sums into slots and kernels of block methods, which the program cannot call.
slots() {
  if [ $((bench_end - SECONDS)) -lt 20 ]; then
    not_run "vector_times" ": no time left"
  elif run_one build-vector_times "$bench_end" "$out" cmake --build "$build" --target vector_times &&
    run_one vector_times "$(end_of 60)" "$parts" "$build/bench/measure/vector_times" "$parts/slots.001.json"; then
    passed "vector_times"
  else
    failed "vector_times"
    tail -20 "$out/build-vector_times.log"
  fi
  cat "$parts/vector_times.log" >>"$bench_log" 2>/dev/null
}

bench_join() {
  join_parts "$parts/$1" "$out/bench/$(date -u +%F)-$(git rev-parse --short=12 HEAD 2>/dev/null || echo 0)-$1.json"
}

# A thermalised configuration (60 sweeps from a cold start) and a solve on it near the light quark's kappa.
critical() {
  local field=$build/critical.ildg report=$build/critical.json sweeps=60 overrelax=4 left=$((bench_end - SECONDS)) status
  if [ "$left" -lt 40 ]; then
    not_run "the thermalised configuration" ": no time left ($left s, it takes about 40)"
    return
  fi
  printf '\n$ kaon generate --lattice 32 32 32 64 --sweeps %d --overrelax %d\n' $sweeps $overrelax | tee -a "$bench_log"
  run_one generate "$bench_end" "$parts" "$build/kaon" generate --backend cuda --lattice 32 32 32 64 --sweeps $sweeps --overrelax $overrelax \
    --every 20 --output "$field" --report "$report"
  status=$?
  tee -a "$bench_log" <"$parts/generate.log"
  case $status in
    0) ;;
    124 | 125) late "kaon generate" ": over its time" && return ;;
    *) failed "kaon generate" " (status $status)" && return ;;
  esac
  say "heatbath and over-relaxation: $(sed -n 's/^ *"seconds": *\([0-9.e+-]*\),*$/\1/p' "$report" |
    awk -v n=$((32 * 32 * 32 * 64 * 4 * sweeps * (overrelax + 1))) '{printf "%.2f ns a link update in double, %.2f s", 1e9 * $1 / n, $1}')"
  local problem=(--gauge "$field" --kappa 0.1345 --csw 1.769 --tol 1e-10 --reconstruct 12)
  bench_one critical 15 solve "${problem[@]}" --method cg --stop normal --precision double,half --columns 1
  bench_one critical 15 solve "${problem[@]}" --method bicgstab --stop schur --precision half --columns 1
  bench_one critical 30 solve "${problem[@]}" --method cg --stop normal --precision half --columns 12
  bench_one critical 30 solve "${problem[@]}" --method blockcg --stop normal --precision single,half --columns 12
  bench_one multigrid 40 solve "${problem[@]}" --method gcr --precond multigrid --precision half --columns 1,12
  bench_one multigrid 20 solve "${problem[@]/0.1345/0.1350}" --method gcr --precond multigrid --precision half --columns 1
  rm -f "$field"
}

bench_begin() {
  if [ ! -x "$build/kaon" ]; then
    skipped bench ": the kaon program was not built"
    return 1
  fi
  rm -rf "$build/bench-parts"
  mkdir -p "$build/bench-parts" "$out/bench"
  [ -n "${bench_log:-}" ] || : >"$out/bench/bench.log"
  parts=$build/bench-parts bench_log=$out/bench/bench.log bench_end=$(end_of "${KAON_BENCH_SECONDS:-${1:-240}}") bench_count=0
}

# Sizes from one that a cache holds to one far past it; solves of a size that others have figures for. What matters most comes first.
benchmarks() {
  step "bench"
  bench_begin || return
  local problem=(--lattice 32 32 32 64 --gauge weak:0.3 --kappa 0.130 --csw 1 --tol 1e-10 --reconstruct 12)
  bench_one solve-cg 10 solve "${problem[@]}" --method cg --stop normal --columns 1
  bench_one dslash 8 dslash --lattice 16 16 16 16 --columns 1
  bench_one dslash 10 dslash --lattice 32 32 32 32 --columns 1
  bench_one dslash 26 dslash --lattice 48 48 48 64 --columns 1
  bench_one solve-bicgstab 10 solve "${problem[@]}" --method bicgstab --stop schur --columns 1
  bench_one columns 30 dslash --lattice 32 32 32 32 --columns 12 --reconstruct 12
  bench_one vector 7 vector --lattice 48 48 48 64 --columns 1
  slots
  bench_one small 14 solve --lattice 8 8 8 8 --lattice 16 16 16 16 --gauge weak:0.3 --kappa 0.130 --csw 1 --method cg --stop normal --reconstruct 12 --columns 1
  bench_one solve-columns 20 solve "${problem[@]}" --method cg --stop normal --precision half --columns 12
  bench_one solve-columns 25 solve "${problem[@]}" --method blockcg --stop normal --precision single,half --columns 12
  bench_one solve-columns 15 solve "${problem[@]}" --method bicgstab --stop schur --precision half --columns 12
  bench_one dslash 7 dslash --lattice 24 24 24 48 --columns 1
  bench_end_all dslash columns vector slots solve-cg solve-bicgstab solve-columns small
}

# Long measurements, on request only.
more() {
  step "more"
  bench_begin 330 || return
  bench_one small-links 25 solve --lattice 8 8 8 8 --lattice 16 16 16 16 --gauge weak:0.3 --kappa 0.130 --csw 1 --method cg --stop normal --reconstruct 18,8 --columns 1
  critical
  bench_one columns-large 30 dslash --lattice 48 48 48 64 --columns 12 --reconstruct 12
  bench_end_all small-links critical multigrid columns-large
}

bench_end_all() {
  local topic
  for topic in "$@"; do bench_join "$topic"; done
  compgen -G "$out/bench/*.json" >/dev/null || not_run "the benchmarks' files" ": nothing was measured"
}

# The summary and the exit status.
conclude() {
  local kind
  say "TOTAL    $SECONDS s, ${count[FAILED]} failed, ${count[LATE]} out of time, ${count["NOT RUN"]} not run, ${count[SKIPPED]} skipped, ${count[PASSED]} passed"
  for kind in FAILED LATE "NOT RUN" SKIPPED; do
    [ "${count[$kind]}" = 0 ] || say "$(printf '%-8s%s' "$kind:" "${which[$kind]%,}")"
  done
  if [ "${count[FAILED]}" != 0 ]; then
    [ -z "$mps_was" ] || say "Tests shared the device by MPS, where what one of them breaks ends all that run with it: KAON_TEST_MPS=0 keeps them apart."
    exit 1
  fi
  [ "${count[LATE]} ${count["NOT RUN"]}" = "0 0" ] || exit 4
  exit 0
}

trap mps_end EXIT
trap 'jobs_kill; mps_end; say "STOPPED  by a signal after $SECONDS s"; exit 130' INT TERM HUP
deadline=${KAON_GPU_SECONDS:-1000000}
[ $# -gt 0 ] || { set -- build tests sanitizer bench profile; deadline=${KAON_GPU_SECONDS:-530}; }
for what in "$@"; do
  case $what in
    build | tests | ranks | sanitizer | races | bench | more | profile) ;;
    *) echo "run_gpu.sh: $what is none of build, tests, ranks, sanitizer, races, bench, more, profile" >&2; exit 2 ;;
  esac
done
if ! find_nvcc && [[ " $* " == *" build "* ]]; then
  echo "run_gpu.sh: nvcc is not on the path nor below /usr/local/cuda; set CUDA_HOME" >&2
  exit 3
fi
unpack
machine
share_out
built=yes
for what in "$@"; do
  if [ $built = no ]; then
    not_run "$what" ": nothing was built"
    continue
  fi
  case $what in
    tests) tests ;; # these four are queued
    ranks) ranks ;;
    sanitizer) sanitizer ;;
    races) races ;;
    *)
      run_queue
      case $what in
        build) build_all || built=no ;;
        bench) benchmarks ;;
        more) more ;;
        profile) profile ;;
      esac
      ;;
  esac
done
run_queue
cd "$root" || exit 2
conclude

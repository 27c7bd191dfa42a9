#!/usr/bin/env bash
# run_gpu_ranks.sh - builds kaon on a machine with several CUDA devices, then runs the tests of ranks and the benchmarks of scaling
# under mpirun. The most important parts run first. Every step has a time limit and stores its results when it ends.
#
#   tests/run_gpu_ranks.sh [WHAT...]   WHAT: build tests dslash staggered solve critical volume pipelined model (default: all, in this
#                                      order)
#
# Needs what run_gpu.sh needs, and an MPI: on the path, in /usr/local/mpi or /opt/hpcx/ompi, or among the packages of KAON_DEPS (Debian:
# libopenmpi-dev openmpi-bin and their dependencies).
#   KAON_RANKS          devices to use; default: all, at most 8. Benchmarks run on 1, 2, 4, ... of them
#   KAON_RANKS_SECONDS  time limit of everything except the build; default 450. Steps left out for lack of time are reported
#   KAON_RANKS_LATTICE  the whole lattice in strong scaling, the part of a rank in weak scaling; default "32 32 32 64"
#   KAON_RANKS_BACKEND  cuda (default); cpu: a trial of this script on a machine without devices
#   KAON_RANKS_MORE     more options for hops, for example "--samples 3"
#   KAON_RANKS_DD       options of GCR-DD; default below
#   KAON_DEPS, KAON_BUILD, KAON_CUDA_ARCHS, OUT (default <build>/ranks): as for run_gpu.sh
# OUT receives DATE-COMMIT-ranks-TOPIC.json for bench/results/DEVICE/, ranks.log with all output, and summary.txt. Exit status: 0 all
# passed. What the machine does not support (an overlap that the transport lacks) is reported as SKIPPED.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
. tests/join_parts.sh
build=${KAON_BUILD:-build-gpu}
out=${OUT:-$build/ranks}
backend=${KAON_RANKS_BACKEND:-cuda}
read -r -a base <<<"${KAON_RANKS_LATTICE:-32 32 32 64}"
read -r -a more <<<"${KAON_RANKS_MORE:-}"
read -r -a dd <<<"${KAON_RANKS_DD:---method gcr --precond schwarz}"
small=(--lattice $((base[0] / 2)) $((base[1] / 2)) $((base[2] / 2)) $((base[3] / 4)) # parts of a rank among many
  --lattice $((base[0] / 2)) $((base[1] / 2)) $((base[2] / 2)) $((base[3] / 8)))
failures=0
mkdir -p "$out" "$build"
out=$(cd "$out" && pwd)
build=$(cd "$build" && pwd)
parts=$build/ranks-parts
log=$out/ranks.log
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo 0)
: >"$log"
: >"$out/summary.txt"
rm -rf "$parts"
mkdir -p "$parts"

say() { printf '%s\n' "$*" | tee -a "$out/summary.txt" "$log"; }
failed() {
  say "FAILED   $*"
  failures=$((failures + 1))
}

find_mpi() {
  local folder
  if [ -n "${KAON_DEPS:-}" ] && compgen -G "$KAON_DEPS/*.deb" >/dev/null; then
    for package in "$KAON_DEPS"/*.deb; do dpkg -x "$package" "$build/deps" || failed "unpacking $package"; done
  fi
  if [ -e "$build/deps/usr/bin/mpirun.openmpi" ]; then
    export OPAL_PREFIX=$build/deps/usr PMIX_INSTALL_PREFIX=$build/deps/usr PATH=$build/deps/usr/bin:$PATH
    for name in mpirun mpiexec mpicc; do # names that Debian's alternatives would provide
      [ -e "$build/deps/usr/bin/$name" ] || ln -s "$name.openmpi" "$build/deps/usr/bin/$name"
    done
    export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1} OMPI_MCA_btl=${OMPI_MCA_btl:-self,vader} # one machine: shared memory, no network
  fi
  if [ -d "$build/deps/usr/lib" ]; then
    folder=$build/deps/usr/lib/$(gcc -dumpmachine)
    export LD_LIBRARY_PATH=$folder:$folder/openmpi/lib:$folder/openblas-pthread:$build/deps/lib/$(gcc -dumpmachine):${LD_LIBRARY_PATH:-}
  fi
  for folder in /usr/local/mpi/bin /opt/hpcx/ompi/bin; do
    command -v mpirun >/dev/null || { [ -x "$folder/mpirun" ] && export PATH=$folder:$PATH; }
  done
  command -v mpirun >/dev/null
}

count_devices() {
  [ -n "${KAON_RANKS:-}" ] && return
  KAON_RANKS=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
  [ "$KAON_RANKS" -le 8 ] || KAON_RANKS=8
}

build_all() {
  local begin=$SECONDS
  if OUT=$build/results bash tests/run_gpu.sh build >>"$log" 2>&1; then
    say "PASSED   build, $((SECONDS - begin)) s"
  else
    failed "build"
    tail -40 "$log"
    exit 1
  fi
}

# ranks N SECONDS words...: runs a program on N ranks. With fewer than 2 processors a rank Open MPI binds all threads to one.
ranks() {
  local n=$1 limit=$2
  shift 2
  timeout -k 5 "$limit" mpirun --allow-run-as-root --oversubscribe --bind-to none -np "$n" "$@"
}

left() { echo $((end - SECONDS)); }

# step TOPIC N SECONDS what...: runs kaon-bench WHAT on N ranks and appends its rows to the topic's file.
step() {
  local topic=$1 n=$2 limit=$3 status begin=$SECONDS part
  shift 3
  if [ "$(left)" -lt 8 ]; then
    say "SKIPPED  $n ranks: kaon bench $*: no time left"
    return
  fi
  [ "$limit" -le "$(left)" ] || limit=$(left)
  count=$((count + 1))
  part=$(printf '%s/%s.%03d.json' "$parts" "$topic" $count)
  printf '\n$ mpirun -np %d kaon bench %s\n' "$n" "$*" | tee -a "$log"
  ranks "$n" "$limit" "$build/kaon" bench "$@" $([ "$1" = solve ] || echo "${more[@]}") --backend "$backend" --json "$part" >"$parts/one.log" 2>&1
  status=$?
  tee -a "$log" <"$parts/one.log"
  case $status in
    0) say "PASSED   $topic, $n ranks, $((SECONDS - begin)) s" ;;
    1) say "NOT CONVERGED  $topic, $n ranks, $((SECONDS - begin)) s: kaon bench $*" ;;
    124 | 137) failed "$topic, $n ranks: over its $limit s: kaon bench $*" ;;
    *) if grep -qE "not built|cannot|needs peer" "$parts/one.log"; then
      say "SKIPPED  $topic, $n ranks: $(grep -m1 '^kaon: ' "$parts/one.log")"
    else
      failed "$topic, $n ranks (status $status): kaon bench $*: $(grep -m1 '^kaon: ' "$parts/one.log")"
    fi ;;
  esac
  join "$topic"
}

join() {
  join_parts "$parts/$1" "$out/$(date -u +%F)-$commit-ranks-$1.json"
}

tests() {
  local program n begin status name
  export KAON_TEST_MACHINE=$backend CMOCKA_TEST_ABORT=1
  [ "$backend" != cuda ] || export KAON_TEST_DEVICES=${KAON_TEST_DEVICES:-$KAON_RANKS}
  for n in $(printf '%s\n' "${sizes[@]}" | sort -rn); do
    for program in "$build"/tests/ranks/ranks_*; do
      [ -f "$program" ] && [ -x "$program" ] || continue
      name=$(basename "$program") begin=$SECONDS
      if [ "$(left)" -lt 240 ]; then
        say "SKIPPED  $name on $n ranks: the benchmarks need the time"
        continue
      fi
      printf '\n#### %s on %d ranks\n' "$name" "$n" >>"$log"
      ranks "$n" 60 "$program" >"$parts/one.log" 2>&1
      status=$?
      cat "$parts/one.log" >>"$log"
      if [ $status = 0 ] && ! grep -q "cuda: skipped" "$parts/one.log"; then
        say "PASSED   $name on $n ranks, $((SECONDS - begin)) s"
      elif [ $status = 0 ] || [ $status = 77 ]; then
        say "SKIPPED  $name on $n ranks: $(grep -m1 -oE 'cuda: skipped.*|^cases: .*' "$parts/one.log" | cut -c1-120)"
      else
        failed "$name on $n ranks (status $status): $(grep -E -m3 'FAILED|ERROR|error: ' "$parts/one.log" | tr '\n' ';' | cut -c1-300)"
      fi
    done
  done
}

# Weak scaling (the base lattice a rank, split in t), strong scaling split in t and in z and t, each way of hiding messages.
dslash() {
  local x=${base[0]} y=${base[1]} z=${base[2]} t=${base[3]} common=(dslash --columns 1 --reconstruct 12) n
  local strong=(--lattice "$x" "$y" "$z" "$t") overlap
  step dslash 1 45 "${common[@]}" "${strong[@]}" --lattice "$x" "$y" "$z" $((t / 2)) --lattice "$x" "$y" "$z" $((t / 4)) "${small[@]}"
  for n in $(printf '%s\n' "${sizes[@]}" | sort -rn); do
    [ "$n" -gt 1 ] || continue
    for overlap in fused staged none; do
      step dslash "$n" 30 "${common[@]}" "${strong[@]}" --lattice "$x" "$y" "$z" $((t * n)) --grid 1 1 1 "$n" --overlap $overlap
      [ "$n" -ge 4 ] && step dslash "$n" 30 "${common[@]}" "${strong[@]}" --grid 1 1 2 $((n / 2)) --overlap $overlap
    done
  done
}

# The same for staggered actions, with the fastest storage of links.
staggered() {
  local x=${base[0]} y=${base[1]} z=${base[2]} t=${base[3]} n action overlap common
  for action in hisq staggered; do
    common=(dslash --action "$action" --columns 1 --reconstruct 12)
    step staggered 1 30 "${common[@]}" --lattice "${base[@]}" --lattice "$x" "$y" "$z" $((t / 4))
    for n in $(printf '%s\n' "${sizes[@]}" | sort -rn); do
      [ "$n" -gt 1 ] || continue
      for overlap in fused staged; do
        step staggered "$n" 45 "${common[@]}" --lattice "${base[@]}" --lattice "$x" "$y" "$z" $((t * n)) --grid 1 1 1 "$n" --overlap $overlap
      done
    done
  done
}

problem() { problem=(solve --lattice "$@" --gauge weak:0.3 --kappa 0.130 --csw 1 --reconstruct 12 --columns 1); }

# Time to solution of one lattice on all devices, on half of them, ..., on one.
solve() {
  local n
  problem "${base[@]}"
  for n in $(printf '%s\n' "${sizes[@]}" | sort -rn); do
    [ "$n" -gt 1 ] || problem+=(--lattice "${base[@]:0:3}" $((base[3] / 4)) "${small[@]}") # parts of a rank among many
    step solve "$n" 30 "${problem[@]}" --tol 1e-10 --method cg --stop normal --precision half --grid 1 1 1 "$n"
    step solve "$n" 30 "${problem[@]}" --tol 1e-10 --method bicgstab --stop schur --precision half --grid 1 1 1 "$n"
    step solve "$n" 30 "${problem[@]}" --tol 1e-10 "${dd[@]}" --precision half --grid 1 1 1 "$n"
  done
}

# A thermalised configuration (60 sweeps from a cold start) near the light quark's kappa: GCR-DD against BiCGStab and CG.
critical() {
  local field=$build/critical.ildg n sweeps=60 near
  [ "$(left)" -ge 40 ] || { say "SKIPPED  critical: no time left"; return; }
  if [ ! -e "$field" ]; then
    printf '\n$ kaon generate --lattice %s --sweeps %d --overrelax 4\n' "${base[*]}" $sweeps | tee -a "$log"
    ranks 1 60 "$build/kaon" generate --backend "$backend" --lattice "${base[@]}" --sweeps $sweeps --overrelax 4 --every 20 \
      --output "$field" 2>&1 | tee -a "$log" || { failed "kaon generate"; return; }
  fi
  near=(solve --gauge "$field" --kappa 0.1345 --csw 1.769 --tol 1e-10 --reconstruct 12 --columns 1 --precision half)
  for n in $(printf '%s\n' "${sizes[@]}" | sort -rn); do
    step critical "$n" 40 "${near[@]}" "${dd[@]}" --grid 1 1 1 "$n"
    step critical "$n" 30 "${near[@]}" --method bicgstab --grid 1 1 1 "$n"
    step critical "$n" 30 "${near[@]}" --method cg --grid 1 1 1 "$n"
  done
}

# Four times the base in t, the hundreds-of-GPUs paper's own: hops, mixed single/half BiCGStab and GCR-DD.
volume() {
  local large=("${base[0]}" "${base[1]}" "${base[2]}" $((4 * base[3]))) n paper
  problem "${large[@]}"
  paper=("${problem[@]}" --outer single --tol 1e-6 --precision half --effective)
  for n in $(printf '%s\n' "${sizes[@]}" | sort -rn); do
    step volume "$n" 40 dslash --columns 1 --reconstruct 12 --lattice "${large[@]}" --grid 1 1 1 "$n"
    step volume "$n" 40 "${paper[@]}" --method bicgstab --grid 1 1 1 "$n"
    step volume "$n" 40 "${paper[@]}" "${dd[@]}" --grid 1 1 1 "$n"
  done
}

# The cost of a sum over ranks in a small solve, and how much of it the pipelined method hides.
pipelined() {
  local n=$((sizes[-1] < 2 ? sizes[-1] : 2)) method side=$((base[0] / 2))
  problem $side $side $side $side
  for method in cg pipecg; do
    step pipelined $n 25 "${problem[@]}" --tol 1e-10 --precision single --method $method --grid 1 1 1 $n
    step pipelined $n 25 "${problem[@]}" --tol 1e-10 --precision single --method $method --grid 1 1 1 $n --reduce-delay 100us
  done
}

model() {
  local files=("$out"/*-ranks-dslash.json "$out"/*-ranks-solve.json "$out"/*-ranks-critical.json "$out"/*-ranks-volume.json) there=() file
  for file in "${files[@]}"; do [ -e "$file" ] && there+=("--model=$file"); done
  [ ${#there[@]} -gt 0 ] || { say "SKIPPED  model: nothing measured"; return; }
  printf '\n$ kaon bench scaling\n' | tee -a "$log"
  if timeout 30 "$build/kaon" bench scaling --backend cpu "${there[@]}" --lattice "${base[@]:0:3}" $((4 * base[3])) --json "$out/$(date -u +%F)-$commit-ranks-model.json" >"$parts/one.log" 2>&1; then
    say "PASSED   model"
  else
    failed "model"
  fi
  tee -a "$log" <"$parts/one.log"
}

find_mpi || { echo "run_gpu_ranks.sh: no mpirun on the path, in /usr/local/mpi, /opt/hpcx/ompi or KAON_DEPS" >&2; exit 3; }
count_devices
[ "${KAON_RANKS:-0}" -ge 1 ] || { echo "run_gpu_ranks.sh: no device; KAON_RANKS says how many to use" >&2; exit 3; }
sizes=()
for n in 1 2 4 8; do [ "$n" -le "$KAON_RANKS" ] && sizes+=("$n"); done
export OMP_WAIT_POLICY=passive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
threads=$(($(nproc) / KAON_RANKS))
export OMP_NUM_THREADS=$((threads < 1 ? 1 : threads > 8 ? 8 : threads))
say "commit   $commit, $KAON_RANKS devices, $(nproc) cores"
say "mpirun   $(command -v mpirun), $(mpirun --version 2>&1 | head -1)"
command -v nvidia-smi >/dev/null && nvidia-smi topo -m >>"$log" 2>&1
[ $# -gt 0 ] || set -- build tests dslash staggered solve critical volume pipelined model
count=0
end=$((SECONDS + ${KAON_RANKS_SECONDS:-450}))
for what in "$@"; do
  printf '\n== %s (%ss)\n' "$what" "$SECONDS"
  case $what in
    build) build_all && end=$((SECONDS + ${KAON_RANKS_SECONDS:-450})) &&
      ranks "$KAON_RANKS" 60 "$build/kaon" info --backend "$backend" 2>&1 | tee -a "$log" ;;
    tests | dslash | staggered | solve | critical | volume | pipelined | model) $what ;;
    *) echo "run_gpu_ranks.sh: $what is none of build, tests, dslash, staggered, solve, critical, volume, pipelined, model" >&2; exit 2 ;;
  esac
done
say "TOTAL    $SECONDS s, $failures failed"
[ $failures = 0 ]

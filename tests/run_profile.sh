#!/usr/bin/env bash
# run_profile.sh - sourced by run_gpu.sh: measures with the device's counters how many bytes a hop moves between multiprocessors,
# second-level cache and memory, with and without clover blocks. Writes OUT/profile.txt.
# shellcheck disable=SC2154 # variables of run_gpu.sh

profile_metrics=dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex.sum,l1tex__t_sector_hit_rate.pct
profile_metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active
profile_metrics+=,gpu__time_duration.sum

# profile_one WHAT PRECISION COLUMNS LATTICE words...: profiles the first kernel that ncu's words select.
profile_one() {
  local what="profile $1, $2, $4, $3 columns" precision=$2 columns=$3 lattice=$4 end one=$build/profile.log
  end=$(end_of 40)
  printf '\n$ ncu kaon bench dslash --lattice %s --precision %s --reconstruct 12 --columns %d: %s\n' "$lattice" "$precision" "$columns" "$1" >>"$out/profile.txt"
  shift 4
  if [ $((end - SECONDS)) -lt 10 ]; then
    not_run "$what" ": no time left"
    return
  fi
  # shellcheck disable=SC2086 # the lattice is four words
  run_one profile "$end" "$build" ncu --clock-control none "$@" -c 1 --metrics $profile_metrics "$build/kaon" bench dslash --backend cuda \
    --lattice $lattice --precision "$precision" --reconstruct 12 --columns "$columns" --samples 1 --calls 1
  if grep -q dram__bytes "$one"; then
    grep -E '^ *(void )?hop_[a-z_]+<|__.*(sum|pct)' "$one" >>"$out/profile.txt"
    passed "$what"
  elif [ "${job_state[profile]}" = cut ]; then
    late "$what" ": over its time"
  else
    skipped "$what" ": $(grep -m1 -E 'ERROR|error|No kernels' "$one" | cut -c1-120)"
  fi
}

# The third argument of hop_kernel says whether it has clover blocks. ncu writes names with or without types.
profile() {
  local case precision columns space time clover='hop_kernel<(\(int\))?12, (\(int\))?1, (\(bool\))?(1|true),'
  step "profile"
  : >"$out/profile.txt"
  if ! command -v ncu >/dev/null; then
    skipped profile ": ncu is not installed"
    return
  fi
  for case in 1:32:32 1:48:64 12:32:32; do
    IFS=: read -r columns space time <<<"$case"
    for precision in double single half; do
      profile_one hop "$precision" "$columns" "$space $space $space $time" -k regex:^hop_
      [ "$columns" != 1 ] || profile_one "hop with clover blocks" "$precision" 1 "$space $space $space $time" --kernel-name-base demangled -k "regex:$clover"
    done
  done
}

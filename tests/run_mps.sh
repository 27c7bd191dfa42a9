# shellcheck shell=bash disable=SC2034,SC2154 # shared with run_gpu.sh
# run_mps.sh - sourced by run_gpu.sh: CUDA's Multi-Process Service for programs that share a device. Without it processes get the
# device in time slices, and a kernel of microseconds waits for the slices of others. With it kernels of several processes run
# concurrently. The service runs as the user, with sockets in a folder of its own. Settings of the device do not change.
#
# mps_begin   starts the service once. $mps is then its folder, or empty: the service is not installed, does not work (the summary
#             says so), is not wanted (KAON_TEST_MPS=0), or the caller has one (CUDA_MPS_PIPE_DIRECTORY).
#             $apart: environment of a program that must not use any service
# mps_end     ends the service. Its log is in $out/mps.log
mps='' mps_tried='' mps_was='' apart=()

# True if a program finds the device through the service, or if there is no program to try.
mps_serves() {
  [ ! -x "$build/kaon" ] || CUDA_MPS_PIPE_DIRECTORY=$mps timeout 60 "$build/kaon" info 2>/dev/null | grep -q 'compute capability'
}

mps_begin() {
  [ -z "$mps_tried" ] || return 0
  mps_tried=1
  [ "${KAON_TEST_MPS:-1}" != 0 ] && [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || return 0
  command -v nvidia-cuda-mps-control >/dev/null || return 0
  mps=$(mktemp -d /tmp/kaon-mps.XXXXXX) || { mps='' && return 0; } # short: a socket's name has 108 letters
  if CUDA_MPS_PIPE_DIRECTORY=$mps CUDA_MPS_LOG_DIRECTORY=$mps timeout 20 nvidia-cuda-mps-control -d </dev/null >"$out/mps.log" 2>&1; then
    if mps_serves; then
      mps_was=1 apart=(CUDA_MPS_PIPE_DIRECTORY="$mps/none")
      say "device   shared by MPS"
    else
      say "device   shared in turn: MPS starts, but kaon info does not find the device by it"
      mps_end
    fi
  else
    say "device   shared in turn: MPS does not start: $(head -1 "$out/mps.log" | cut -c1-120)"
    rm -rf "$mps"
    mps=''
  fi
}

mps_end() {
  [ -n "$mps" ] || return 0
  local pid=
  [ ! -e "$mps/nvidia-cuda-mps-control.pid" ] || pid=$(tr -cd 0-9 <"$mps/nvidia-cuda-mps-control.pid")
  echo 'quit -t 10' | CUDA_MPS_PIPE_DIRECTORY=$mps timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1
  [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null # it has ended, unless it did not receive the request
  cat "$mps"/*.log >"$out/mps.log" 2>/dev/null
  rm -rf "$mps"
  mps=''
}

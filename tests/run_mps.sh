# shellcheck shell=bash disable=SC2034,SC2154 # what run_gpu.sh reads and sets
# run_mps.sh - sourced by run_gpu.sh: CUDA's Multi-Process Service for programs that share a device. Without it the device gives
# each process slices of its time, and a kernel of microseconds waits for the others' slices; with it kernels of several processes run
# side by side. It is a process of the user's, with sockets in a folder of its own; the device's settings stay as they are.
#
# mps_begin   starts it, once; $mps is its folder then, or empty: it is not installed, did not start or serves nobody (which is said),
#             was not wanted (KAON_TEST_MPS=0), or the caller has one of his own (CUDA_MPS_PIPE_DIRECTORY). apart: what the
#             environment of a program says that is to be without it, without one at the default place as well
# mps_end     ends it; its log is left in $out/mps.log
mps='' mps_tried='' mps_was='' apart=()

# Whether a program finds the device by it; where there is none to ask, it is believed.
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
  [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null # has ended, unless it could not be told
  cat "$mps"/*.log >"$out/mps.log" 2>/dev/null
  rm -rf "$mps"
  mps=''
}

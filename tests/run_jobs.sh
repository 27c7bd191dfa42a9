# shellcheck shell=bash disable=SC2034 # the script that sources this reads the results
# run_jobs.sh - sourced by run_gpu.sh: runs several programs at a time. Each has its own process group, output file and time limit;
# all have a common end.
#
# job_add NAME SECONDS WITH words...   queues a command with a limit of SECONDS. WITH: beside (runs beside others), turn (at most
#                                      job_turns of this kind at a time) or alone
# jobs_run MOST END FOLDER FUNCTION    runs the queue in order, at most MOST at a time, until the shell's SECONDS reach END. A job that
#                                      may not start yet lets later ones pass. Output goes to FOLDER/NAME.log. FUNCTION NAME is
#                                      called when a job has ended or was not started
# jobs_kill                            ends running jobs and their children
#
# Results by name:
#   job_state    passed; failed (job_status has the exit status); over (exceeded its limit); cut (ended by END); unrun (not started)
#   job_took     seconds
#   job_limit    as given
declare -A job_words=() job_limit=() job_with=() job_pid=() job_begin=() job_killed=() job_state=() job_status=() job_took=()
job_queue=() job_folder=. job_is_alone='' job_turns=1 job_turning=0

job_add() {
  job_queue+=("$1") job_limit[$1]=$2 job_with[$1]=$3 job_state[$1]=unrun job_took[$1]=0
  local name=$1
  shift 3
  job_words[$name]=$(printf '%q ' "$@")
}

# The process group made by setsid has the number of the process, which leads no group before.
job_start() {
  (eval "exec setsid ${job_words[$1]}") >"$job_folder/$1.log" 2>&1 </dev/null {job_stderr}>&- &
  job_pid[$1]=$! job_begin[$1]=$SECONDS
}

# job_end NAME STATE: sends TERM, and KILL three seconds later.
job_end() {
  if [ -z "${job_killed[$1]:-}" ]; then
    job_state[$1]=$2 job_killed[$1]=$SECONDS
    kill -TERM -- "-${job_pid[$1]}" 2>/dev/null
  elif [ $((SECONDS - job_killed[$1])) -gt 3 ]; then
    kill -KILL -- "-${job_pid[$1]}" 2>/dev/null
  fi
}

job_ended() {
  local pid=${job_pid[$1]}
  wait "$pid" 2>/dev/null
  job_status[$1]=$? job_took[$1]=$((SECONDS - job_begin[$1]))
  kill -KILL -- "-$pid" 2>/dev/null # what it left behind
  if [ -z "${job_killed[$1]:-}" ]; then
    job_state[$1]=passed
    [ "${job_status[$1]}" = 0 ] || job_state[$1]=failed
  fi
  [ "${job_with[$1]}" != alone ] || job_is_alone=
  [ "${job_with[$1]}" != turn ] || job_turning=$((job_turning - 1))
  unset "job_pid[$1]" "job_killed[$1]"
}

# jobs_look END FUNCTION: handles jobs that have ended, and ends those whose time is over.
jobs_look() {
  local name
  for name in "${!job_pid[@]}"; do
    if ! kill -0 "${job_pid[$name]}" 2>/dev/null; then
      job_ended "$name"
      "$2" "$name" 2>&"$job_stderr"
    elif [ $((SECONDS - job_begin[$name])) -ge "${job_limit[$name]}" ]; then
      job_end "$name" over
    elif [ "$SECONDS" -ge "$1" ]; then
      job_end "$name" cut
    fi
  done
}

# job_may NAME: true if it may start beside the running jobs.
job_may() {
  case ${job_with[$1]} in
    alone) [ ${#job_pid[@]} -eq 0 ] ;;
    turn) [ "$job_turning" -lt "$job_turns" ] ;;
  esac
}

# jobs_fill MOST END: starts queued jobs while there is room.
jobs_fill() {
  local i name
  while [ "$SECONDS" -lt "$2" ] && [ ${#job_pid[@]} -lt "$1" ] && [ -z "$job_is_alone" ]; do
    name=
    for i in "${!job_queue[@]}"; do
      if job_may "${job_queue[i]}"; then
        name=${job_queue[i]}
        break
      fi
    done
    [ -n "$name" ] || return
    unset "job_queue[$i]"
    job_queue=("${job_queue[@]}")
    case ${job_with[$name]} in
      alone) job_is_alone=1 ;;
      turn) job_turning=$((job_turning + 1)) ;;
    esac
    job_start "$name"
  done
}

# Bash's own messages about programs that a signal ended are hidden.
jobs_run() {
  local name
  job_folder=$3
  mkdir -p "$job_folder"
  exec {job_stderr}>&2 2>/dev/null
  while :; do
    jobs_look "$2" "$4"
    jobs_fill "$1" "$2"
    [ ${#job_pid[@]} -gt 0 ] || break
    sleep 0.1
  done
  exec 2>&"$job_stderr" {job_stderr}>&-
  for name in "${job_queue[@]}"; do "$4" "$name"; done
  job_queue=()
}

jobs_kill() {
  local name pid
  for pid in "${job_pid[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
  local wait=30 left=1 # three seconds: a launcher ends its ranks, which are in groups of their own
  while [ "$wait" -gt 0 ] && [ -n "$left" ]; do
    left=''
    for pid in "${job_pid[@]}"; do if kill -0 -- "-$pid" 2>/dev/null; then left=1; fi; done
    wait=$((wait - 1))
    [ -z "$left" ] || sleep 0.1
  done
  for name in "${!job_pid[@]}"; do
    kill -KILL -- "-${job_pid[$name]}" 2>/dev/null
    wait "${job_pid[$name]}" 2>/dev/null
  done
  job_pid=() job_queue=()
}

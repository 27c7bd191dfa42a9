# shellcheck shell=bash disable=SC2034 # what is found out is for who sources it
# run_jobs.sh - sourced by run_gpu.sh: several programs at a time, each in a process group of its own, its output in a file of
# its own, with a limit of its own and one end for all.
#
# job_add NAME SECONDS WITH words...   puts a command into the queue; it may take so long. WITH: beside (others), turn (with job_turns of
#                                      that kind at a time) or alone
# jobs_run MOST END FOLDER FUNCTION    runs the queue, the first first that may begin, MOST at a time, until SECONDS is END. Each one's output is in
#                                      FOLDER/NAME.log; FUNCTION NAME is called when it has ended, or had no turn
# jobs_kill                            ends those that run, and what they started
# job_state[NAME]: passed, failed (job_status[NAME] says how), over (it took longer than it may), cut (by the end of all),
# unrun (it had no turn). job_took[NAME]: seconds. job_limit[NAME]: as given.
declare -A job_words=() job_limit=() job_with=() job_pid=() job_begin=() job_killed=() job_state=() job_status=() job_took=()
job_queue=() job_folder=. job_is_alone='' job_turns=1 job_turning=0

job_add() {
  job_queue+=("$1") job_limit[$1]=$2 job_with[$1]=$3 job_state[$1]=unrun job_took[$1]=0
  local name=$1
  shift 3
  job_words[$name]=$(printf '%q ' "$@")
}

# setsid's process group has the number of the process itself, since that leads none yet.
job_start() {
  (eval "exec setsid ${job_words[$1]}") >"$job_folder/$1.log" 2>&1 </dev/null {job_stderr}>&- &
  job_pid[$1]=$! job_begin[$1]=$SECONDS
}

# job_end NAME STATE: asks it to end, and makes it three seconds later.
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

# jobs_look END FUNCTION: which have ended, and which have to.
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

# job_may NAME: whether it may begin beside those that run.
job_may() {
  case ${job_with[$1]} in
    alone) [ ${#job_pid[@]} -eq 0 ] ;;
    turn) [ "$job_turning" -lt "$job_turns" ] ;;
  esac
}

# jobs_fill MOST END
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

# What bash says of a program that a signal ended is not shown.
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

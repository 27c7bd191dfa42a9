# shellcheck shell=bash
# join_parts.sh - sourced by run_gpu.sh and run_gpu_ranks.sh: joins the JSON lists of several runs.

# join_parts PREFIX FILE: joins the lists in PREFIX.*.json, if there are any, into one in FILE. The first line of each is "[", the last
# one "]".
join_parts() {
  local part between=
  compgen -G "$1.*.json" >/dev/null || return 0
  { echo "[" && for part in "$1".*.json; do
    printf '%s' "$between" && sed '1d;$d' "$part"
    between=$'  ,\n'
  done && echo "]"; } >"$2"
}

# shellcheck shell=bash
# join_parts.sh - sourced by the scripts that measure: benchmarks' parts in one file.

# join_parts PREFIX FILE: the lists in PREFIX.*.json become one in FILE, if there are any. Each begins with a line [ and ends
# with a line ].
join_parts() {
  local part between=
  compgen -G "$1.*.json" >/dev/null || return 0
  { echo "[" && for part in "$1".*.json; do
    printf '%s' "$between" && sed '1d;$d' "$part"
    between=$'  ,\n'
  done && echo "]"; } >"$2"
}

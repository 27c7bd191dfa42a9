# Completion of kaon and kaon-bench for bash. Commands, options and values are read from the program's own help, which prints its
# tables of options.

# _kaon_option OPTION: of the help on stdin, the placeholder of the option, then its named values, a word a line. Values are
# those of "--action=wilson|clover", or a list at the end of the text: "Values: cg, cgnr (default cg)". Of "weak:EPS" it is "weak:".
_kaon_option() {
  awk -v start="      $1=" '
    function name(word) { sub(/:.*/, ":", word); return word ~ /^[a-z0-9][a-z0-9-]*:?$/ ? word : "" }
    /^      --/ || !NF { inside = index($0, start) == 1; if (inside) $0 = substr($0, length(start) + 1) }
    inside { sub(/^ +/, ""); text = text $0 " " }
    END {
      split(text, words, " "); print words[1]
      values = split(words[1], value, "|")
      for (i = 1; i <= values && values > 1; i++) if (name(value[i]) != "") { print name(value[i]); found = 1 }
      if (found) exit
      sub(/( \(default[^()]*\))?\.? *$/, "", text); sub(/.*: /, "", text)
      values = split(text, value, /, /)
      for (i = 1; i <= values; i++) if (name(value[i]) == "") exit
      for (i = 1; i <= values && values > 1; i++) print name(value[i])
    }'
}

_kaon() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} help listed= depth=1 i
  local -a command=()
  [[ ${COMP_WORDS[1]} == bench ]] && depth=2
  for ((i = 1; i <= depth && i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -* ]] && break
    command+=("${COMP_WORDS[i]}")
  done
  help=$("$program" "${command[@]}" --help-all 2>/dev/null) || help=$("$program" "${command[@]}" --help 2>/dev/null)
  COMPREPLY=()
  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $before == --* ]]; then
    local -a found
    mapfile -t found < <(_kaon_option "$before" <<<"$help")
    [[ $word == *,* ]] && listed=${word%,*}, # a list with commas: its last word is completed
    mapfile -t COMPREPLY < <(compgen -P "$listed" -W "${found[*]:1}" -- "${word##*,}")
    if [[ ${found[0]} =~ FILE|OUT ]]; then
      [[ -z $word && ${#found[@]} -gt 1 ]] && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f)
    elif [[ -n ${found[0]} ]]; then
      compopt +o default 2>/dev/null # no file
    fi
    [[ ${#COMPREPLY[@]} -eq 1 && $COMPREPLY == *: ]] && compopt -o nospace 2>/dev/null
    [[ -n ${found[0]} ]] && return
  fi
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE -- '--[a-z][a-z0-9-]*' <<<"$help" | sort -u)" -- "$word")
  elif [[ ${#command[@]} -eq $((COMP_CWORD - 1)) && ${#command[@]} -lt $depth ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -nE 's/^  ([a-z][a-z0-9-]*)  +[A-Z].*/\1/p' <<<"$help")" -- "$word")
  fi
}
complete -o default -F _kaon kaon kaon-bench

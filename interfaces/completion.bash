# Completion of kaon and kaon-bench for bash. Commands, options and their values are read from the program's own help.
_kaon() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= help values
  [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]] && command=${COMP_WORDS[1]}
  help=$("$program" $command --help-all 2>/dev/null) || help=$("$program" $command --help 2>/dev/null)
  COMPREPLY=()
  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $before == --* ]]; then
    # as in "--action=wilson|clover": the values that have a name; anything else is a file
    values=$(sed -nE "s/^.*${before}[= ]([a-z0-9][^ ]*\|[^ ]*).*/\1/p" <<<"$help" | head -n 1 | tr '|' '\n' | grep -E '^[a-z0-9-]+$')
    if [[ -n $values ]]; then
      COMPREPLY=($(compgen -W "$values" -- "$word"))
      return
    fi
  fi
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(grep -oE -- '--[a-z][a-z0-9-]*' <<<"$help" | sort -u)" -- "$word"))
  elif [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "$(sed -nE 's/^  ([a-z][a-z0-9-]*)  +[A-Z].*/\1/p' <<<"$help")" -- "$word"))
  fi
}
complete -o default -F _kaon kaon kaon-bench

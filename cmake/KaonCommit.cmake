# Writes a header with the commit that reports name: cmake -DKAON_SOURCE=... -DKAON_GIT=... -DKAON_HEADER=... -P KaonCommit.cmake
# The commit is "unknown" outside a checkout. "-dirty" follows it if sources differ from the commit; documents, results of benchmarks
# and untracked files do not count. The header is written only if it changes.
set(commit unknown)
if(KAON_GIT AND EXISTS ${KAON_SOURCE}/.git)
  execute_process(COMMAND ${KAON_GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${KAON_SOURCE}
                  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND found)
    set(commit ${found})
    execute_process(COMMAND ${KAON_GIT} --no-optional-locks status --porcelain --untracked-files=no --
                            . ":(exclude)docs" ":(exclude)bench/results" ":(exclude)bench/peers" ":(exclude)*.md"
                    WORKING_DIRECTORY ${KAON_SOURCE} OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND commit -dirty)
    endif()
  endif()
endif()
set(text "/* Written by cmake/KaonCommit.cmake. */\n#define KAON_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS ${KAON_HEADER})
  file(READ ${KAON_HEADER} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${KAON_HEADER} "${text}")
endif()

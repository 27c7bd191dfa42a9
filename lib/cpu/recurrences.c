/* recurrences.c - the recurrences that follow a kernel's sums. There is one copy for each
 * instruction set, which saves compile time: otherwise every file with sums would contain one. */
#include "lib/cpu/reduce.h"
#include "lib/math/steps/recurrences.h"

void KAON_EXPORT_ISA(kaon_run_recurrence)(int id, kaon_column_state *state) {
  kaon_recurrence_run(id, state);
}

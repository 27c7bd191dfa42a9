/* recurrences.c - the recurrences that follow a kernel's sums, one copy for each instruction set:
 * in every file with sums they are a third of a second of the compiler's work. */
#include "lib/cpu/reduce.h"
#include "lib/math/steps/recurrences.h"

void KAON_EXPORT_ISA(kaon_run_recurrence)(int id, kaon_column_state *state) {
  kaon_recurrence_run(id, state);
}

/* shifts.h - limits of sweeps by blocks of rows (lib/operator/row_sweeps.h) that kernels know too. */
#ifndef KAON_LIB_SHIFTS_H
#define KAON_LIB_SHIFTS_H

/* Rows of a block at most: on a GPU a thread each. Shifts beyond the ends of the histogram are
 * counted there. */
enum { KAON_ROW_BLOCK = 1024, KAON_SHIFTS = 32, KAON_SHIFT_BINS = 2 * KAON_SHIFTS + 1 };

#endif

/* shifts.h - limits of block sweeps (lib/operator/row_sweeps.h), for kernels too. */
#pragma once

/* KAON_ROW_BLOCK: maximum rows of a block (on a GPU one thread each). Shifts beyond the ends of the
 * histogram are counted in its end bins. */
enum { KAON_ROW_BLOCK = 1024, KAON_SHIFTS = 32, KAON_SHIFT_BINS = 2 * KAON_SHIFTS + 1 };

/* regimes_table.h - compares regimes: variations of time and energy against a baseline, case by
 * case, with minimum, maximum and mean. The form is that of Table 2 of J. Aliaga, D. Davidovic, J.
 * Perez, E. S. Quintana-Orti, "Harnessing CUDA Dynamic Parallelism for the Solution of Sparse
 * Linear Systems" (ParCo 2015). */
#ifndef KAON_BENCH_REGIMES_TABLE_H
#define KAON_BENCH_REGIMES_TABLE_H

/* One measured row. The first four members identify its case. */
typedef struct regime_row {
  char matrix[64], precision[32], method[32], precond[32];
  char regime[32], sync[32]; /* as asked for */
  char ran[32];              /* the regime that it became */
  double seconds;            /* mean of a solve */
  double joules;             /* mean, of device and processors together; NaN: not known */
  double cpu;                /* mean processor seconds */
  int iterations, solves;
  double residual;
  int of_device_alone; /* 1: joules are of the device alone */
} regime_row;

/* Variations against the baseline of the case, in per cent; NaN: not known. */
typedef struct regime_change {
  double time, energy;
  int disagrees; /* iterations differ from the baseline by more than 1 */
} regime_change;

/* Minimum and maximum by absolute value, and the mean; NaN where there is nothing. */
typedef struct regime_range {
  double least, largest, mean;
  int count;
} regime_range;

/* 1: both belong to one case; to one case except for the matrix. */
int regime_same_case(const regime_row *a, const regime_row *b);
int regime_same_group(const regime_row *a, const regime_row *b);
/* Finds the baseline of `row`: the row of its case with `regime` and `sync`; NULL: none. */
const regime_row *regime_baseline(const regime_row *rows, int count, const regime_row *row,
                                  const char *regime, const char *sync);
regime_change regime_compare(const regime_row *row, const regime_row *baseline);
/* Adds a number; NaN changes nothing. Begin with {NAN, NAN, NAN, 0}. */
void regime_range_add(regime_range *range, double x);

#endif

/* regimes_table.h - how regimes compare: time and energy of each against a baseline, case by case,
 * and the least, the largest and the mean of these variations, as Table 2 of J. Aliaga, D.
 * Davidovic, J. Perez, E. S. Quintana-Orti, "Harnessing CUDA Dynamic Parallelism for the Solution
 * of Sparse Linear Systems" (ParCo 2015) has them. */
#ifndef KAON_BENCH_REGIMES_TABLE_H
#define KAON_BENCH_REGIMES_TABLE_H

/* One measured row. The first four say which case it belongs to. */
typedef struct regime_row {
  char matrix[64], precision[32], method[32], precond[32];
  char regime[32], sync[32]; /* as asked for */
  char ran[32];              /* the regime that it came to */
  double seconds;            /* of a solve, mean */
  double joules;             /* likewise, of device and processors together; NaN: not known */
  double cpu;                /* processor seconds, likewise */
  int iterations, solves;
  double residual;
  int of_device_alone; /* joules are */
} regime_row;

/* Variations against the baseline of the same case, in per cent; NaN: not known. */
typedef struct regime_change {
  double time, energy;
  int disagrees; /* its iterations are more than 1 off the baseline's */
} regime_change;

/* Least and largest by absolute value, and the mean; NaN where there is nothing. */
typedef struct regime_range {
  double least, largest, mean;
  int count;
} regime_range;

/* 1: the two are of one case; of one case but for the matrix. */
int regime_same_case(const regime_row *a, const regime_row *b);
int regime_same_group(const regime_row *a, const regime_row *b);
/* The row that `row` is held against: of its case, by `regime` and `sync`; NULL: there is none. */
const regime_row *regime_baseline(const regime_row *rows, int count, const regime_row *row,
                                  const char *regime, const char *sync);
regime_change regime_compare(const regime_row *row, const regime_row *baseline);
/* Takes one more number in; NaN changes nothing. Begin with {NAN, NAN, NAN, 0}. */
void regime_range_add(regime_range *range, double x);

#endif

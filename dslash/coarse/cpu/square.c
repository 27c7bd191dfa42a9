/* square.c - between vectors and one dense matrix for a whole lattice on the CPU (coarse_ops.h).
 * Threads share out the blocks and numbers of the vector, or the columns of the matrix. */
#include <math.h>

#include "dslash/coarse/cpu/kernels.h"
#include "lib/cpu/team.h"

typedef struct square_job {
  const kaon_square_args *args;
  int take;
} square_job;

/* Number c of a site in all columns. element: of the matrix, for column 0. */
static void square_move(const square_job *job, real *number, double *element) {
  const kaon_square_args *a = job->args;
  const int64_t step = (int64_t)a->reals * KAON_W;
  for (int k = 0; k < a->nrhs; k++, number += step, element += 2) {
    if (job->take) {
      number[0] = (real)element[0];
      number[KAON_W] = (real)element[1];
    } else {
      element[0] += (double)number[0];
      element[1] += (double)number[KAON_W];
    }
  }
}

static void square_clear(const kaon_square_args *a, real *number) {
  const int64_t step = (int64_t)a->reals * KAON_W;
  for (int k = 0; k < a->nrhs; k++, number += step) number[0] = number[KAON_W] = 0;
}

static void square_share(const void *job_, int t, int threads) {
  const square_job *job = job_;
  const kaon_square_args *a = job->args;
  const int64_t numbers = a->reals / 2, units = a->blocks * numbers,
                end = units * (t + 1) / threads;
  for (int64_t unit = units * t / threads; unit < end; unit++)
    for (int lane = 0; lane < KAON_W; lane++) {
      const int64_t block = unit / numbers, c = unit % numbers, place = block * KAON_W + lane;
      real *number = (real *)a->vector.data +
                     kaon_field_index(block, 0, (int)(2 * c), lane, a->nrhs, a->reals, KAON_W);
      if (a->order[place] < 0) {
        if (job->take) square_clear(a, number);
        continue;
      }
      const int64_t row = a->order[place] * numbers + c;
      const int64_t column = a->reads != NULL ? a->reads[place] * numbers : 0;
      square_move(job, number, a->matrix + 2 * (row * a->rows + column));
    }
}

static void square_run(const kaon_launch *launch, const kaon_square_args *args, int take) {
  const square_job job = {args, take};
  const int64_t reals = args->blocks * KAON_W * args->reals * args->nrhs;
  kaon_team_run(kaon_team_of(launch, reals), square_share, &job);
}

void KAON_EXPORT(kaon_coarse_add_to_matrix)(const kaon_launch *launch,
                                            const kaon_square_args *args) {
  square_run(launch, args, 0);
}

void KAON_EXPORT(kaon_coarse_take_from_matrix)(const kaon_launch *launch,
                                               const kaon_square_args *args) {
  square_run(launch, args, 1);
}

static void square_norms_share(const void *job, int t, int threads) {
  const kaon_square_args *a = job;
  const int64_t first = a->rows * t / threads, last = a->rows * (t + 1) / threads;
  for (int64_t j = first; j < last; j++) a->norms[j] = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t j = first; j < last; j++) {
      const double *z = a->matrix + 2 * (i * a->rows + j);
      a->norms[j] += hypot(z[0], z[1]);
    }
}

void KAON_EXPORT(kaon_coarse_column_norms)(const kaon_launch *launch,
                                           const kaon_square_args *args) {
  kaon_team_run(kaon_team_of(launch, 2 * args->rows * args->rows), square_norms_share, args);
}

/* relax.c - Jacobi sweeps within blocks of rows on the CPU. Blocks do one global iteration each, or
 * iterate asynchronously (kaon_relax_args in sparse_ops.h; formulas: lib/math/steps/relaxed_row.h).
 *
 * A block's right-hand side and iterate are held in `work` between its read and its write. So a
 * thread may read for many blocks before it writes the first, as a GPU does with its resident
 * blocks. The count of global iterations is raised after the data are written (release), and read
 * before the data are read (acquire). So data are at least as new as their count, and the bound on
 * the lag holds. Shifts noted before a block reads are upper bounds. Those noted after it are lower
 * bounds, except for iterations that complete later.
 *
 * Asynchronous blocks: threads take blocks by tickets, round after round. So a thread that the
 * system suspends delays only one block (bench/notes/papers-relaxation-variation.md).
 *
 * Blocks of other ranks are read and notified in the same way, through the addresses in
 * kaon_block_ghosts. If the host must act for values to arrive (`move`), the first thread does so:
 * between its iterations, while it waits, and until the other threads have ended. So no thread
 * waits forever. */
#include <sched.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "lib/cpu/reduce.h"
#include "lib/math/steps/relaxed_row.h"
#include "sparse/cpu/kernels.h"
#include "sparse/cpu/lanes.h"

typedef struct job {
  const kaon_relax_args *a;
  const kaon_row_blocks *m;
  const real *b;
  real *x, *t, *y; /* t, y: by position in the block */
  source from;     /* how x is stored */
  int64_t skip;    /* of the column */
  int32_t *count;
  double *seen;
  int32_t *stop;
  int column, first; /* first: this thread calls `move` */
  /* of this thread */
  int64_t shifts[KAON_SHIFT_BINS], shifts_after[KAON_SHIFT_BINS], rank_shifts[KAON_SHIFT_BINS];
} job;

static job job_of(const kaon_relax_args *a, int column) {
  const kaon_row_blocks *m = a->rows;
  const int64_t offset = (int64_t)column * m->blocks;
  job j = {.a = a, .m = m, .b = a->b.data, .x = a->x.data, .column = column};
  j.from.stride = (int64_t)a->nrhs * m->reals * KAON_W;
  j.skip = (int64_t)column * m->reals * KAON_W;
  j.t = a->work;
  j.y = j.t + m->rows * m->reals;
  j.count = a->count + offset;
  j.seen = a->seen + offset;
  j.stop = a->stop + column;
  return j;
}

KAON_INLINE int64_t rows_of(const kaon_row_blocks *m, int64_t block) {
  const int64_t left = m->rows - block * m->block;
  return left < m->block ? left : m->block;
}

/* Offset of component 0 of a row of the space. */
KAON_INLINE int64_t place_of(const job *j, int64_t row) {
  return j->skip + source_offset(&j->from, row);
}

/* ---- a block's three parts ---- */

KAON_INLINE int bin_of(int32_t shift) {
  const int32_t bin = shift + KAON_SHIFTS;
  return bin < 0 ? 0 : bin >= KAON_SHIFT_BINS ? KAON_SHIFT_BINS - 1 : bin;
}

/* The counter of another rank's block for this column. */
KAON_INLINE int32_t count_there(const job *j, uint64_t address) {
  const int32_t *counter = (const int32_t *)(uintptr_t)address;
  return __atomic_load_n(counter + j->column, __ATOMIC_ACQUIRE);
}

static void note_shifts(job *j, int64_t block) {
  const kaon_row_blocks *m = j->m;
  const kaon_block_ghosts *g = j->a->ghosts;
  const int32_t own = j->count[block];
  for (int64_t n = m->reads[block]; n < m->reads[block + 1]; n++)
    j->shifts[bin_of(own - __atomic_load_n(&j->count[m->other[n]], __ATOMIC_ACQUIRE))]++;
  if (g == NULL) return;
  for (int64_t n = g->reads[block]; n < g->reads[block + 1]; n++)
    j->rank_shifts[bin_of(own - (count_there(j, g->there[n]) & ~KAON_BLOCK_FINISHED))]++;
}

/* After the reads: iterations that others have completed by now may have been read. */
static void note_shifts_after(job *j, int64_t block) {
  const kaon_row_blocks *m = j->m;
  const int32_t own = j->count[block];
  __atomic_thread_fence(__ATOMIC_ACQUIRE); /* the counters are read after the values */
  for (int64_t n = m->reads[block]; n < m->reads[block + 1]; n++)
    j->shifts_after[bin_of(own - __atomic_load_n(&j->count[m->other[n]], __ATOMIC_RELAXED))]++;
}

/* t -= the entries of row i of the block in other ranks' columns. */
KAON_INLINE void read_ghosts(const job *j, int64_t slice, real *t, const int reals) {
  const kaon_block_ghosts *g = j->a->ghosts;
  const real *value = g->value;
  for (int64_t n = g->start[slice]; n < g->start[slice + 1]; n++) {
    const real *from = (const real *)(uintptr_t)g->from[n] + j->column * reals;
    real other[2] = {kaon_far_load(from), 0};
    if (reals == 2) other[1] = kaon_far_load(from + 1);
    kaon_relax_subtract(t, value + n * reals, other, reals);
  }
}

/* Sends the block's rows that other ranks read, then its counter. y: its values by position. */
KAON_INLINE void give_rows(const job *j, int64_t block, const real *y, const int reals) {
  const kaon_block_ghosts *g = j->a->ghosts;
  for (int64_t n = g->sends[block]; n < g->sends[block + 1]; n++) {
    real *to = (real *)(uintptr_t)g->to[n] + j->column * reals;
    for (int c = 0; c < reals; c++) kaon_far_store(to + c, y[(int64_t)g->place[n] * reals + c]);
  }
}

static void notify(const job *j, int64_t block, int32_t count) {
  const kaon_block_ghosts *g = j->a->ghosts;
  for (int64_t n = g->notifications[block]; n < g->notifications[block + 1]; n++)
    __atomic_store_n((int32_t *)(uintptr_t)g->notify[n] + j->column, count, __ATOMIC_RELEASE);
}

KAON_INLINE void read_rows(job *j, int64_t block, const int reals) {
  const kaon_row_blocks *m = j->m;
  const kaon_block_entries *e = &m->outside;
  const real *value = e->value;
  const int64_t first = block * m->block, rows = rows_of(m, block);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t p = first + i, slice = block * m->slices + i, at = place_of(j, m->row[p]);
    real *t = j->t + p * reals, *y = j->y + p * reals;
    for (int c = 0; c < reals; c++) {
      t[c] = j->b[at + c * KAON_W];
      y[c] = j->a->cut ? 0 : j->x[at + c * KAON_W]; /* only this thread writes it */
    }
    if (j->a->cut) continue;
    for (int64_t n = e->start[slice]; n < e->start[slice + 1]; n++) {
      const real *from = j->x + place_of(j, e->column[n]);
      real other[2] = {kaon_race_load(from), 0};
      if (reals == 2) other[1] = kaon_race_load(from + KAON_W);
      kaon_relax_subtract(t, value + n * reals, other, reals);
    }
    if (j->a->ghosts != NULL) read_ghosts(j, slice, t, reals);
  }
}

/* One local sweep from y into next. Returns the sum of |b - A x|^2 before it. */
KAON_INLINE double relax_rows(const job *j, int64_t block, real *next, int from_zero,
                              const int reals) {
  const kaon_row_blocks *m = j->m;
  const kaon_block_entries *e = &m->inside;
  const real *value = e->value, *inverse = m->inverse, *diagonal = m->diagonal;
  const int64_t first = block * m->block, rows = rows_of(m, block);
  const real *y = j->y + first * reals, factor = (real)j->a->omega;
  double residual2 = 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t p = first + i, slice = block * m->slices + i;
    real t[2] = {j->t[p * reals], reals == 2 ? j->t[p * reals + reals - 1] : 0};
    real *x = next + i * reals;
    for (int64_t n = e->start[slice]; n < e->start[slice + 1] && !from_zero; n++)
      kaon_relax_subtract(t, value + n * reals, y + (int64_t)e->column[n] * reals, reals);
    for (int c = 0; c < reals; c++) x[c] = y[i * reals + c];
    residual2 += kaon_relax_residual2(t, diagonal + p * reals, x, reals);
    if (j->a->frozen != NULL && j->a->frozen[m->row[p]]) continue;
    kaon_relax_row(x, t, inverse + p * reals, factor, reals);
  }
  return residual2;
}

KAON_INLINE void work_rows(const job *j, int64_t block, const int reals) {
  const kaon_row_blocks *m = j->m;
  const int64_t first = block * m->block, rows = rows_of(m, block);
  real next[2 * KAON_ROW_BLOCK], *y = j->y + first * reals;
  for (int k = 0; k < j->a->inner; k++) {
    double residual2 = relax_rows(j, block, next, j->a->cut && k == 0, reals);
    if (k == 0 && j->a->rounds > 1) __atomic_store(&j->seen[block], &residual2, __ATOMIC_RELAXED);
    for (int64_t i = 0; i < rows * reals; i++) y[i] = next[i];
  }
  for (int64_t i = 0; i < rows; i++) {
    const int64_t at = place_of(j, m->row[first + i]);
    for (int c = 0; c < reals; c++) kaon_race_store(&j->x[at + c * KAON_W], y[i * reals + c]);
  }
  if (j->a->ghosts != NULL) give_rows(j, block, y, reals);
}

static void read_block(job *j, int64_t block) {
  if (!j->a->cut) note_shifts(j, block);
  if (j->m->reals == 1)
    read_rows(j, block, 1);
  else
    read_rows(j, block, 2);
  if (!j->a->cut) note_shifts_after(j, block);
}

static void work_block(const job *j, int64_t block) {
  if (j->m->reals == 1)
    work_rows(j, block, 1);
  else
    work_rows(j, block, 2);
  if (j->a->cut) return;
  const int32_t count = j->count[block] + 1;
  if (j->a->ghosts != NULL) notify(j, block, count);
  __atomic_store_n(&j->count[block], count, __ATOMIC_RELEASE); /* for the block's next thread */
}

/* Sends a block's initial values to the ranks that read them. */
static void give_block(job *j, int64_t block) {
  const kaon_row_blocks *m = j->m;
  const int64_t first = block * m->block, rows = rows_of(m, block);
  real *y = j->y + first * m->reals;
  for (int64_t i = 0; i < rows; i++)
    for (int c = 0; c < m->reals; c++)
      y[i * m->reals + c] = j->x[place_of(j, m->row[first + i]) + c * KAON_W];
  give_rows(j, block, y, m->reals);
  notify(j, block, j->count[block]);
}

/* ---- waiting for other ranks ---- */

static int over(const job *j) {
  return __atomic_load_n(j->stop, __ATOMIC_RELAXED);
}

static void end_all(const job *j) {
  __atomic_store_n(j->stop, 1, __ATOMIC_RELAXED);
}

static void move(const job *j) {
  if (j->first && j->a->move != NULL && j->a->move(j->a->user) != 0) end_all(j);
}

static uint64_t nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Waits until no remote block that this one reads is more than rank_lag behind it. Returns 0 if all
 * has ended. A rank that is farthest behind never waits. */
static int await_ranks(const job *j, int64_t block) {
  const kaon_block_ghosts *g = j->a->ghosts;
  const int32_t own = j->count[block];
  uint64_t begin = 0;
  if (j->a->rank_lag < 0) return 1;
  for (int64_t n = g->reads[block]; n < g->reads[block + 1]; n++)
    while (count_there(j, g->there[n]) < own - j->a->rank_lag) {
      const uint64_t now = nanoseconds();
      if (begin == 0) begin = now;
      if (now - begin > j->a->patience) end_all(j);
      if (over(j)) return 0;
      move(j);
      sched_yield();
    }
  return 1;
}

/* Marks blocks that ended early, so that no block waits for them. */
static void leave(const kaon_relax_args *a, int column) {
  const job j = job_of(a, column);
  if (a->ghosts == NULL || !over(&j)) return;
  for (int64_t n = 0; n < a->rows->blocks; n++) notify(&j, n, j.count[n] | KAON_BLOCK_FINISHED);
}

static void take_pause(const kaon_relax_args *a) {
  const int64_t pause = a->ghosts != NULL ? a->pause : 0;
  const struct timespec t = {(time_t)(pause / 1000000000), (long)(pause % 1000000000)};
  if (pause > 0) nanosleep(&t, NULL);
}

/* ---- one global iteration ---- */

static void leave_shifts(const job *j) {
  for (int i = 0; i < KAON_SHIFT_BINS; i++) {
    if (j->shifts[i] != 0) __atomic_fetch_add(&j->a->shifts[i], j->shifts[i], __ATOMIC_RELAXED);
    if (j->shifts_after[i] != 0)
      __atomic_fetch_add(&j->a->shifts_after[i], j->shifts_after[i], __ATOMIC_RELAXED);
    if (j->rank_shifts[i] != 0)
      __atomic_fetch_add(&j->a->rank_shifts[i], j->rank_shifts[i], __ATOMIC_RELAXED);
  }
}

static void iterate(const kaon_launch *launch, const kaon_relax_args *a, int column) {
  const int64_t blocks = a->rows->blocks;
  const int64_t group = a->together > 0 ? a->together : 1, groups = (blocks + group - 1) / group;
  const int ranks = a->ghosts != NULL;
  take_pause(a);
#pragma omp parallel num_threads(launch->threads) if (groups > 1)
  {
    job j = job_of(a, column);
#pragma omp for schedule(dynamic, 1)
    for (int64_t g = 0; g < groups; g++) {
      const int64_t end = (g + 1) * group < blocks ? (g + 1) * group : blocks;
      int on = !ranks || !over(&j);
      for (int64_t n = g * group; n < end && ranks && on; n++)
        on = await_ranks(&j, kaon_relax_turn(n, blocks, a->shuffle));
      if (!on) continue;
      for (int64_t n = g * group; n < end; n++)
        read_block(&j, kaon_relax_turn(n, blocks, a->shuffle));
      for (int64_t n = g * group; n < end; n++)
        work_block(&j, kaon_relax_turn(n, blocks, a->shuffle));
    }
    leave_shifts(&j);
  }
  leave(a, column);
}

/* ---- asynchronous blocks ---- */

/* Waits until the block has done `round` iterations, and none that it reads is more than `lag`
 * behind. Returns 0 if all has ended. The block with the lowest ticket never waits, so there is
 * progress. */
static int wait_for_neighbours(const job *j, int64_t block, int32_t round) {
  const kaon_row_blocks *m = j->m;
  while (__atomic_load_n(&j->count[block], __ATOMIC_ACQUIRE) < round) {
    if (over(j)) return 0;
    move(j);
    sched_yield();
  }
  for (int64_t n = m->reads[block]; n < m->reads[block + 1]; n++)
    while (__atomic_load_n(&j->count[m->other[n]], __ATOMIC_RELAXED) < round - j->a->lag) {
      if (over(j)) return 0;
      move(j);
      sched_yield();
    }
  if (j->a->ghosts != NULL && !await_ranks(j, block)) return 0;
  return !over(j);
}

/* One thread adds up the residuals that all blocks saw. */
static void monitor(const job *j) {
  double sum = 0;
  for (int64_t n = 0; n < j->m->blocks; n++) {
    double seen;
    if (__atomic_load_n(&j->count[n], __ATOMIC_ACQUIRE) == 0) return;
    __atomic_load(&j->seen[n], &seen, __ATOMIC_RELAXED);
    sum += seen;
  }
  if (sum <= j->a->goal || !(sum <= j->a->limit)) end_all(j);
}

/* The first thread calls `move` until all have ended. */
static void end_turns(const job *j, int *left) {
  __atomic_fetch_sub(left, 1, __ATOMIC_RELEASE);
  if (!j->first || j->a->move == NULL) return;
  while (__atomic_load_n(left, __ATOMIC_ACQUIRE) > 0) {
    move(j);
    sched_yield();
  }
}

/* Takes blocks by tickets until `rounds` of each were handed out. */
static void take_turns(job *j, int64_t *ticket) {
  const kaon_relax_args *a = j->a;
  const int64_t blocks = a->rows->blocks;
  int64_t last = -1;
  while (!over(j)) {
    const int64_t t = __atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED);
    const int64_t round = t / blocks, block = kaon_relax_turn(t % blocks, blocks, a->shuffle);
    if (round >= a->rounds) return;
    if (round != last) {
      move(j);
      take_pause(a);
    }
    last = round;
    if (!wait_for_neighbours(j, block, (int32_t)round)) return;
    read_block(j, block);
    work_block(j, block);
    if (t % blocks == blocks - 1) monitor(j);
  }
}

static void run_free(const kaon_launch *launch, const kaon_relax_args *a) {
  int64_t ticket = 0;
  int left = 0;
#pragma omp parallel num_threads(launch->threads)
  {
    job j = job_of(a, a->column);
#ifdef _OPENMP
    j.first = omp_get_thread_num() == 0;
#else
    j.first = 1;
#endif
    __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
#pragma omp barrier
    if (a->rows->blocks > 0) take_turns(&j, &ticket);
    end_turns(&j, &left);
    leave_shifts(&j);
  }
  leave(a, a->column);
  if (a->move != NULL) a->move(a->user); /* the last values */
}

static void give(const kaon_relax_args *a, int column) {
  job j = job_of(a, column);
  for (int64_t n = 0; n < a->rows->blocks; n++) give_block(&j, n);
}

void KAON_EXPORT(kaon_relax)(const kaon_launch *launch, const kaon_relax_args *args) {
  if (args->rounds > 1) {
    if (kaon_gate_open(&args->gate, args->column)) run_free(launch, args);
    return;
  }
  for (int k = 0; k < args->nrhs; k++) {
    if (!kaon_gate_open(&args->gate, k) || (args->column >= 0 && args->column != k)) continue;
    if (args->rounds == 0)
      give(args, k);
    else
      iterate(launch, args, k);
  }
}

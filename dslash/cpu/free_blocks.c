/* free_blocks.c - asynchronous Schwarz blocks on the CPU (lib/operator/free_blocks.h,
 * kaon_free_args in dslash_ops.h).
 *
 * Threads take parts by tickets, cycle after cycle, as asynchronous relaxation does
 * (sparse/cpu/relax.c). Only z is read while others write it. A part copies all of z that its
 * residual needs, real by real with relaxed atomic accesses. It works on the copy with the ordinary
 * kernels, and writes its own blocks back in the same way. All else that it writes is private to
 * it.
 *
 * Each part has a count of completed cycles. A writer raises it after its data (release), and a
 * reader reads it before the data (acquire). So the data are at least as new as the count says. In
 * half precision integers mean nothing without their scales. Therefore each part has a version
 * number that is odd while the part writes, and a reader repeats its copy if the version was odd or
 * changed. A part writes once in a cycle, so the repetitions end. */
#include <sched.h>
#include <string.h>

#include "blas/blas_ops.h"
#include "blas/domain_ops.h"
#include "dslash/cpu/kernels.h"
#include "lib/math/steps/relaxed_row.h"

typedef uint64_t __attribute__((may_alias)) wide_word; /* adjacent values as one word */
typedef uint32_t __attribute__((may_alias)) half_word;

typedef struct job {
  const kaon_free_args *a;
  kaon_launch launch;   /* for one thread */
  kaon_view z, between; /* private to this thread */
  kaon_hop_args whole[2], local[2];
  kaon_free_lags lags;
} job;

/* ---- blocks of vectors ---- */

static int64_t reals_of(const kaon_free_args *a) {
  return (int64_t)a->shape.nrhs * a->shape.ncomp * KAON_W;
}

static kaon_view block_of(const kaon_free_args *a, kaon_view v, int64_t block) {
  v.data = (stored *)v.data + block * reals_of(a);
  if (v.scale != NULL) v.scale += block * a->shape.nrhs * KAON_W;
  return v;
}

/* Copies a block whose source or target other threads access concurrently. Each access is a whole
 * word, so it never sees part of a value. */
static void copy_block(const kaon_free_args *a, kaon_view from, kaon_view to) {
  const size_t bytes = (size_t)reals_of(a) * sizeof(stored);
  const wide_word *source = from.data;
  wide_word *target = to.data;
  for (size_t i = 0; i < bytes / sizeof *source; i++)
    __atomic_store_n(&target[i], __atomic_load_n(&source[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  if (from.scale == NULL) return;
  for (int i = 0; i < a->shape.nrhs * KAON_W; i++)
    __atomic_store_n((half_word *)&to.scale[i],
                     __atomic_load_n((const half_word *)&from.scale[i], __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
}

/* ---- one cycle of a part ---- */

static int32_t count_of(const job *j, int part) {
  return __atomic_load_n(&j->a->count[part], __ATOMIC_ACQUIRE);
}

static void copy_from(const job *j, int64_t place) {
  const kaon_free_args *a = j->a;
  const kaon_part_lists *copied = &a->tables->copied;
  for (int64_t n = copied->first[place]; n < copied->first[place + 1]; n++)
    copy_block(a, block_of(a, a->z, copied->list[n]), block_of(a, j->z, copied->list[n]));
}

static void note_lag(job *j, int part, int other) {
  if (part == other) return;
  const int behind = count_of(j, part) - count_of(j, other);
  j->lags.reads++;
  if (behind <= 0) return;
  j->lags.late++;
  if (behind > j->lags.oldest) j->lags.oldest = behind;
}

static void read_part(job *j, int part) {
  const kaon_free_args *a = j->a;
  const kaon_part_lists *others = &a->tables->others;
  for (int64_t n = others->first[part]; n < others->first[part + 1]; n++) {
    const int other = others->list[n];
    note_lag(j, part, other);
    for (;;) {
      const int32_t version = __atomic_load_n(&a->version[other], __ATOMIC_ACQUIRE);
      if (!KAON_IS_HALF || version % 2 == 0) copy_from(j, n);
      if (!KAON_IS_HALF) break;
      /* adds 0, so that the reads above are ordered before this one */
      const int32_t after = __atomic_fetch_add(&a->version[other], 0, __ATOMIC_ACQ_REL);
      if (version % 2 == 0 && after == version) break;
      sched_yield();
    }
  }
}

static void write_part(const job *j, int part) {
  const kaon_free_args *a = j->a;
  const kaon_part_lists *own = &a->tables->own;
  __atomic_fetch_add(&a->version[part], 1, __ATOMIC_ACQ_REL);
  for (int64_t n = own->first[part]; n < own->first[part + 1]; n++)
    copy_block(a, block_of(a, j->z, own->list[n]), block_of(a, a->z, own->list[n]));
  __atomic_fetch_add(&a->version[part], 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&a->count[part], 1, __ATOMIC_RELEASE);
}

static void run_hop(const job *j, kaon_hop_args *hop, const kaon_part_lists *lists, int part) {
  hop->list = lists->list + lists->first[part];
  hop->listed = lists->first[part + 1] - lists->first[part];
  if (hop->listed > 0) KAON_EXPORT(kaon_dslash_hop)(&j->launch, hop);
}

/* r = b - r on a block. */
static void take_residual(const job *j, int64_t block) {
  const kaon_free_args *a = j->a;
  kaon_update_args update = {.shape = a->shape, .gate = a->gate};
  update.shape.nblocks = 1;
  update.v[0] = block_of(a, a->b, block);
  update.v[1] = block_of(a, a->r, block);
  update.c.slot[0] = KAON_NO_SLOT;
  update.c.sign[0] = -1;
  a->blas->xpay(&j->launch, &update);
}

static void work_part(job *j, int part) {
  const kaon_free_args *a = j->a;
  const kaon_free_tables *t = a->tables;
  const kaon_part_lists *own = &t->own, *domains = &t->domains;
  const kaon_domain_args step = {.shape = a->shape,
                                 .domains = a->domains,
                                 .x = j->z,
                                 .r = a->r,
                                 .q = a->q,
                                 .relaxation = a->how.relaxation,
                                 .work = a->work,
                                 .gate = a->gate,
                                 .blocks = own->list + own->first[part],
                                 .nblocks = own->first[part + 1] - own->first[part],
                                 .list = domains->list + domains->first[part],
                                 .listed = (int)(domains->first[part + 1] - domains->first[part])};
  for (int i = 0; i < 2; i++) run_hop(j, &j->whole[i], &t->whole[i], part);
  for (int64_t n = own->first[part]; n < own->first[part + 1]; n++) take_residual(j, own->list[n]);
  for (int i = 0; i < a->how.steps; i++) {
    for (int k = 0; k < 2; k++) run_hop(j, &j->local[k], &t->local[k], part);
    a->domain->mr(&j->launch, &step);
  }
}

/* Waits until the part has completed its previous cycles, and no part that it reads is more than
 * `lag` behind. The part with the lowest ticket never waits, so there is always progress. */
static void await_turn(const job *j, int part, int32_t cycle) {
  const kaon_part_lists *others = &j->a->tables->others;
  while (count_of(j, part) < cycle) sched_yield();
  for (int64_t n = others->first[part]; n < others->first[part + 1]; n++)
    while (count_of(j, others->list[n]) < cycle - j->a->how.lag) sched_yield();
}

static void take_turns(job *j, int64_t *ticket) {
  const kaon_free_args *a = j->a;
  const int64_t parts = a->tables->parts;
  for (;;) {
    const int64_t t = __atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED), cycle = t / parts;
    if (cycle >= a->how.cycles) return;
    const uint64_t seed = (a->how.seed + (uint64_t)cycle + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    const int part = (int)kaon_relax_turn(t % parts, parts, seed);
    await_turn(j, part, (int32_t)cycle);
    read_part(j, part);
    work_part(j, part);
    write_part(j, part);
  }
}

/* ---- threads ---- */

/* Moves a view from the memory of `there` to the same offset in `here`. */
static void move_view(const kaon_free_args *a, kaon_view *v, kaon_view there, kaon_view here,
                      int64_t blocks) {
  const stored *at = v->data, *first = there.data;
  if (at == NULL || first == NULL || at < first || at >= first + blocks * reals_of(a)) return;
  *v = block_of(a, here, (at - first) / reals_of(a));
}

static job job_of(const kaon_free_args *a, const kaon_launch *launch, int thread) {
  job j = {.a = a, .launch = *launch, .z = a->copies[thread]};
  j.launch.threads = 1;
  j.launch.stream_stores = 0;
  j.launch.prefetch = 0;
  if (a->between.data != NULL) j.between = a->betweens[thread];
  memcpy(j.whole, a->whole, sizeof j.whole);
  memcpy(j.local, a->local, sizeof j.local);
  for (int i = 0; i < 2; i++) {
    kaon_view *views[] = {&j.whole[i].in, &j.whole[i].x, &j.whole[i].out};
    for (int n = 0; n < 3; n++) {
      move_view(a, views[n], a->z, j.z, a->shape.nblocks);
      move_view(a, views[n], a->between, j.between, a->shape.nblocks);
    }
  }
  return j;
}

static void leave_lags(const job *j) {
  kaon_free_lags *all = j->a->lags;
  all->reads += j->lags.reads;
  all->late += j->lags.late;
  if (j->lags.oldest > all->oldest) all->oldest = j->lags.oldest;
}

void KAON_EXPORT(kaon_dslash_free_blocks)(const kaon_launch *launch, const kaon_free_args *a) {
  int64_t ticket = 0;
  const int threads = launch->threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; thread++) {
    job j = job_of(a, launch, thread);
    take_turns(&j, &ticket);
#pragma omp critical(kaon_free_lags)
    leave_lags(&j);
  }
}

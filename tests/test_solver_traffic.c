/* test_solver_traffic.c - how many vectors a step of each method reads and writes beside the
 * operator's own, how many kernels that takes, and how often the operator is applied. They are
 * counted at the kernel tables and compared with the head of the method's file. Two operands in
 * the same memory count once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/precond_ops.h"
#include "dslash/dslash_ops.h"
#include "solvers/engine/runner.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/methods.h"
#include "tests/util/relax_case.h"
#include "tests/util/test_util.h"

/* ---- counting tables ---- */

static struct {
  int reads, writes, kernels; /* of vector kernels */
  int hops, besides;          /* of the operator; vectors that a hop reads for its sums alone */
} seen;

/* Products leave their dot products to kernels of their own, as they do on many sites
 * (hop_writes). */
static int apart;

static int hop_writes(const kaon_stencil *stencil, int columns) {
  (void)stencil;
  return KAON_SUMS_NORM | (apart && columns == 1 ? 0 : KAON_SUMS_DOT);
}

static const kaon_backend *own;

/* Operands that each entry reads and writes, as bits; n: for the multi_ entries, by args->n. */
typedef struct {
  unsigned reads, writes;
  int multi;
} operands;

static operands operands_of(const char *entry) {
  static const struct {
    const char *entry;
    operands o;
  } table[] = {{"zero", {0, 1, 0}},
               {"copy", {1, 2, 0}},
               {"scale", {1, 1, 0}},
               {"axpy", {3, 2, 0}},
               {"xpay", {3, 2, 0}},
               {"axpby", {3, 2, 0}},
               {"axpy_xpay", {7, 6, 0}},
               {"bicgstab_direction", {7, 2, 0}},
               {"bicgstab_solution", {15, 10, 0}},
               {"pipecg", {0x7f, 0x7e, 0}},
               {"pipecgnr", {0x1f, 0x1e, 0}},
               {"pipebicgstab_direction", {0xff, 0x3b, 0}},
               {"pipebicgstab_solution", {0x7f, 0x26, 0}},
               {"scaled", {5, 2, 0}},
               {"residual_scaled", {0xb, 6, 0}},
               {"pipepcg", {0x3ff, 0x37e, 0}},
               {"pipecg_scaled", {0xff, 0x17e, 0}},
               {"groppcg_direction", {0xf, 0xa, 0}},
               {"groppcg_residual", {0x3f, 0x2a, 0}},
               {"chrongear", {0x3f, 0x3a, 0}},
               {"chrongear_scaled", {0x5f, 0x3e, 0}},
               {"rbicgstab_half", {0xf, 0xa, 0}},
               {"rbicgstab_end", {0x7f, 0x17, 0}},
               {"multi_axpy", {0, 0, 1}},
               {"dot", {3, 0, 0}},
               {"multi_dot", {0, 0, 2}},
               {"site_ratio", {3, 0, 0}},
               {"gram", {3, 0, 0}},
               {"block_axpy", {3, 2, 0}},
               {"block_rotate", {7, 7, 0}},
               {"recur", {0, 0, 3}}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(table[i].entry, entry) == 0) return table[i].o;
  fail_msg("nobody said what '%s' reads and writes", entry);
  return (operands){0, 0, 0};
}

static int distinct(const kaon_update_args *args, uint64_t mask) {
  int n = 0;
  for (int i = 0; i < KAON_MAX_OPERANDS; i++) {
    int fresh = (mask >> i & 1) && args->v[i].data != NULL;
    for (int j = 0; j < i && fresh; j++)
      fresh = !(mask >> j & 1) || args->v[j].data != args->v[i].data;
    n += fresh;
  }
  return n;
}

static void count(const kaon_update_args *args, operands o) {
  uint64_t reads = o.reads, writes = o.writes;
  if (o.multi == 3) return; /* no vectors */
  if (o.multi > 0) reads = (UINT64_C(2) << args->n) - 1;
  if (o.multi == 1) writes = UINT64_C(1) << args->n;
  for (int i = 0; i < 8 && o.multi == 0; i++)
    if (args->v[i].data != NULL && !((o.reads | o.writes) >> i & 1)) reads |= UINT64_C(1) << i;
  seen.kernels++;
  seen.reads += distinct(args, reads);
  seen.writes += distinct(args, writes);
}

#define WRAP(entry, letter, number)                                                       \
  static void entry##_##letter(const kaon_launch *launch, const kaon_update_args *args) { \
    count(args, operands_of(#entry));                                                     \
    own->blas[number]->entry(launch, args);                                               \
  }
#define KAON_X(entry, formula) WRAP(entry, d, KAON_DOUBLE)
KAON_BLAS_OPS(KAON_X)
#undef KAON_X
#define KAON_X(entry, formula) WRAP(entry, s, KAON_SINGLE)
KAON_BLAS_OPS(KAON_X)
#undef KAON_X
#define KAON_X(entry, formula) WRAP(entry, h, KAON_HALF)
KAON_BLAS_OPS(KAON_X)
#undef KAON_X

#define WRAP_PRECOND(entry, letter, number)                              \
  static void precond_##entry##_##letter(const kaon_launch *launch,      \
                                         const kaon_update_args *args) { \
    count(args, operands_of(#entry));                                    \
    own->precond[number]->entry(launch, args);                           \
  }
#define KAON_X(entry, formula)        \
  WRAP_PRECOND(entry, d, KAON_DOUBLE) \
  WRAP_PRECOND(entry, s, KAON_SINGLE)
KAON_PRECOND_OPS(KAON_X)
#undef KAON_X
#define KAON_X(entry_, formula) .entry_ = precond_##entry_##_d,
static const kaon_precond_ops precond_d = {KAON_PRECOND_OPS(KAON_X)};
#undef KAON_X
#define KAON_X(entry_, formula) .entry_ = precond_##entry_##_s,
static const kaon_precond_ops precond_s = {KAON_PRECOND_OPS(KAON_X)};
#undef KAON_X

#define KAON_X(entry_, formula) .entry_ = entry_##_d,
static const kaon_blas_ops blas_d = {KAON_BLAS_OPS(KAON_X)};
#undef KAON_X
#define KAON_X(entry_, formula) .entry_ = entry_##_s,
static const kaon_blas_ops blas_s = {KAON_BLAS_OPS(KAON_X)};
#undef KAON_X
#define KAON_X(entry_, formula) .entry_ = entry_##_h,
static const kaon_blas_ops blas_h = {KAON_BLAS_OPS(KAON_X)};
#undef KAON_X

static void convert(const kaon_launch *launch, const kaon_convert_args *args) {
  seen.kernels++;
  seen.reads += 1 + args->add;
  seen.writes += 1 + args->clear;
  own->convert->convert(launch, args);
}

static const kaon_convert_ops converts = {.convert = convert};

static void count_hop(const kaon_hop_args *args) {
  seen.hops++;
  if (args->sum.state != NULL && args->sum.slot[1] != KAON_NO_SLOT &&
      args->w.data != args->x.data && args->w.data != args->in.data)
    seen.besides++;
}

#define HOP(letter, number)                                                        \
  static void hop_##letter(const kaon_launch *launch, const kaon_hop_args *args) { \
    count_hop(args);                                                               \
    own->dslash[number]->hop(launch, args);                                        \
  }
HOP(d, KAON_DOUBLE)
HOP(s, KAON_SINGLE)
HOP(h, KAON_HALF)

/* ---- a step of a bound solver ---- */

typedef struct {
  kaon_backend table;
  kaon_dslash_ops dslash[KAON_PRECISIONS];
} counting_tables;

typedef struct {
  dirac_case c;
  counting_tables counts;
  kaon_operator *M, *R, *K;
  kaon_operator fake; /* K, or what K is the inverse diagonal of */
  kaon_vector *b, *x;
  kaon_solver *s;
} world;

/* A preconditioner that does nothing and is not counted; the reads of its sums count as its own. */
static kaon_status fake_apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass) {
  const kaon_backend *counting = K->ctx->backend;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  (void)mode;
  if (own != NULL) K->ctx->backend = own;
  kaon_status status = kaon_blas_copy(x, y, &gate);
  if (status == KAON_OK) status = kaon_pass_sum_separately(y, pass);
  K->ctx->backend = counting;
  return status;
}

static kaon_status fake_diagonal(kaon_operator *A, kaon_vector *d) {
  static double ones[4 * 4 * 4 * 4 * 24];
  (void)A;
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1 + (i % 2 == 0);
  return kaon_vector_import(d, 0, ones, KAON_BASIS_UKQCD);
}

static kaon_status fake_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)precision, (void)reconstruct, (void)twin;
  return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED, "no twin");
}

static kaon_cost fake_cost(const kaon_operator *A, int columns) {
  (void)A, (void)columns;
  return (kaon_cost){0, 0};
}

static const kaon_operator_ops fake_ops = {.name = "fake",
                                           .apply = fake_apply,
                                           .twin = fake_twin,
                                           .diagonal = fake_diagonal,
                                           .cost = fake_cost};

enum { NO_K, ANY_K, SCALING_K };

static void make_preconditioner(world *w, int kind, kaon_precision precision) {
  w->fake = (kaon_operator){.ops = &fake_ops,
                            .ctx = w->c.ctx,
                            .space = kaon_operator_space(w->R),
                            .precision = precision,
                            .references = 1};
  if (kind == ANY_K) w->K = &w->fake;
  if (kind == SCALING_K) must(w->c.ctx, kaon_precond_jacobi(&w->fake, &w->K));
}

static void count_from_here(kaon_context *ctx, counting_tables *to) {
  own = ctx->backend;
  to->table = *own;
  for (int p = 0; p < KAON_PRECISIONS; p++) {
    to->dslash[p] = *own->dslash[p];
    to->dslash[p].hop_writes = hop_writes;
    to->dslash[p].hop = p == KAON_DOUBLE ? hop_d : p == KAON_SINGLE ? hop_s : hop_h;
    to->table.dslash[p] = &to->dslash[p];
  }
  to->table.blas[KAON_DOUBLE] = &blas_d;
  to->table.blas[KAON_SINGLE] = &blas_s;
  to->table.blas[KAON_HALF] = &blas_h;
  to->table.convert = &converts;
  to->table.precond[KAON_DOUBLE] = &precond_d;
  to->table.precond[KAON_SINGLE] = &precond_s;
  ctx->backend = &to->table;
  memset(&seen, 0, sizeof seen);
}

static int is_block(kaon_method method) {
  return method_has((int)method, KAON_METHOD_BLOCK);
}

static int open_world(world *w, int machine, kaon_method method, kaon_precision sloppy, int kind) {
  static const int extents[4] = {4, 4, 4, 4};
  const int columns = is_block(method) ? 3 : 1;
  memset(w, 0, sizeof *w);
  own = NULL;
  if (!case_open(&w->c, machine, extents, 1, LINKS_WEAK, 5)) return 0;
  w->M = case_dirac(&w->c, 0.12, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  w->R = case_even_odd(&w->c, w->M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  w->b = case_vector(&w->c, KAON_FULL, KAON_DOUBLE, columns);
  w->x = case_vector(&w->c, KAON_FULL, KAON_DOUBLE, columns);
  must(w->c.ctx, kaon_source_gauss(w->b, 3));
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.sloppy = sloppy;
  o.subspace = 5;
  make_preconditioner(w, kind, sloppy);
  o.preconditioner = w->K;
  o.max_iterations = 2; /* it binds the vectors: no more is wanted of it */
  must(w->c.ctx, kaon_solver_create(w->R, columns, &o, &w->s));
  must(w->c.ctx, kaon_vector_zero(w->x));
  must(w->c.ctx, kaon_solver_solve(w->s, w->b, w->x, NULL, NULL));

  count_from_here(w->c.ctx, &w->counts);
  return 1;
}

static void close_world(world *w) {
  w->c.ctx->backend = own;
  kaon_solver_destroy(&w->s);
  if (w->K != &w->fake) kaon_operator_destroy(&w->K);
  kaon_vector_destroy(&w->b);
  kaon_vector_destroy(&w->x);
  kaon_operator_destroy(&w->R);
  kaon_operator_destroy(&w->M);
  case_close(&w->c);
}

/* The head of the method's file, with blanks in place of line ends and stars. */
static void read_head(kaon_method method, const char *name, char *head, size_t size) {
  static const char *const folders[] = {"methods", "relax"};
  FILE *file = NULL;
  for (int i = 0; i < 2 && file == NULL; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/solvers/%s/%s.c", KAON_SOURCE_DIR, folders[i],
             is_block(method) ? "blockcg" : name);
    file = fopen(path, "r");
  }
  assert_non_null(file);
  const size_t length = fread(head, 1, size - 1, file);
  fclose(file);
  head[length] = '\0';
  char *end = strstr(head, "*/"), *to = head;
  assert_non_null(end);
  for (const char *from = head; from < end; from++) {
    const int blank = *from == '\n' || *from == '*' || *from == ' ';
    if (blank && to > head && to[-1] == ' ') continue;
    *to++ = blank ? ' ' : *from;
  }
  *to = '\0';
}

/* The number after `words` in the head, or the one for separate dot products if the head has it. */
static int said(const char *head, const char *words) {
  const char *at = strstr(head, words);
  int number[2] = {-1, -1};
  const int n =
      at == NULL ? 0 : sscanf(at + strlen(words), "%d (separately %d)", number, number + 1);
  if (n < 1) printf("  the head does not say \"%s<number>\"\n", words);
  return number[apart && n == 2];
}

/* Where the head states the numbers of a step without preconditioner. blockcg.c describes two
 * methods; blockcgnr retains r in one precision. */
static const char *place_of(const char *head, kaon_method method, kaon_precision sloppy) {
  const char *words = "ectors read", *at = head;
  if (is_block(method))
    at = strstr(head, method == KAON_BLOCKCG ? "blockcg: 1 A" : "blockcgnr: 1 A");
  if (method == KAON_BLOCKCGNR && sloppy == KAON_DOUBLE) words = "with r: read";
  if (at != NULL) at = strstr(at, words);
  if (at == NULL) fail_msg("the head does not say \"%s\"", words);
  return at;
}

static void one_step(int machine, kaon_method method, kaon_precision sloppy) {
  world w;
  char head[4096];
  if (!open_world(&w, machine, method, sloppy, NO_K)) return;
  read_head(method, method_name((int)method), head, sizeof head);
  const char *at = place_of(head, method, sloppy);
  const int last = w.s->process.cycle > 0 ? w.s->process.cycle - 1 : 0; /* position j */
  must(w.c.ctx, w.s->method->step(w.s, last));
  printf("  %-8s %-6s %d vectors read, %d written by %d kernels; %d hops, reading %d beside\n",
         method_name((int)method), precision_names[sloppy], seen.reads, seen.writes, seen.kernels,
         seen.hops, seen.besides);
  if (w.s->process.cycle > 0)
    assert_int_equal(seen.reads, 2 * last + said(at, "read 2j + "));
  else
    assert_int_equal(seen.reads, said(at, "read "));
  assert_int_equal(seen.writes, said(at, ", written "));
  assert_int_equal(seen.kernels, said(at, " by kernels "));
  assert_int_equal(seen.hops, 2 * w.s->method->products.step);
  if (!apart && !w.s->process.cycle &&
      !is_block(method)) { /* nor is the cost of a block's single column */
    assert_int_equal(seen.reads, method_info((int)method).cost.read);
    assert_int_equal(seen.writes, method_info((int)method).cost.written);
  }
  const int beside = method == KAON_BICGSTAB || method == KAON_RBICGSTAB || method == KAON_BICG;
  assert_int_equal(seen.besides, apart ? 0 : beside); /* r0 or p', as the head says */
  close_world(&w);
}

/* Without the preconditioner's own reads and writes; or with d, if it is one vector. */
static void one_preconditioned_step(int machine, kaon_method method, kaon_precision sloppy,
                                    int kind) {
  world w;
  char head[4096];
  if (!open_world(&w, machine, method, sloppy, kind)) return;
  read_head(method, method_name((int)method), head, sizeof head);
  const char *at = strstr(head, kind == ANY_K ? "besides K's: read" : "with d: read");
  must(w.c.ctx, w.s->method->step(w.s, 0));
  printf("  %-12s %-6s %-10s %d vectors read, %d written by %d kernels\n", method_name((int)method),
         precision_names[sloppy], kind == ANY_K ? "any K" : "Jacobi", seen.reads, seen.writes,
         seen.kernels);
  assert_non_null(at);
  assert_int_equal(seen.reads, said(at, ": read "));
  assert_int_equal(seen.writes, said(at, ", written "));
  assert_int_equal(seen.hops, 2 * w.s->method->products.step);
  const kaon_method_info info = method_info((int)method);
  const kaon_method_cost *cost = kind == ANY_K ? &info.with : &info.diagonal;
  if (!apart) assert_int_equal(seen.reads, cost->read);
  assert_int_equal(seen.writes, cost->written);
  close_world(&w);
}

static void a_preconditioned_step_does_so_too(void **state) {
  apart = *state != NULL;
  for (int i = 0; i < 2; i++) {
    const int machine = i == 0 ? MACHINE_CPU : MACHINE_CUDA;
    if (machine == MACHINE_CUDA && machine_lacks(machine)) continue;
    for (int m = 0; m < METHODS; m = next_krylov(m)) {
      const kaon_method_info info = method_info(m);
      for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
        if (info.with.read > 0 && !info.cycles)
          one_preconditioned_step(machine, (kaon_method)m, (kaon_precision)p, ANY_K);
        if (info.diagonal.read > 0)
          one_preconditioned_step(machine, (kaon_method)m, (kaon_precision)p, SCALING_K);
      }
    }
  }
}

static void a_step_reads_and_writes_what_its_head_says(void **state) {
  apart = *state != NULL;
  for (int i = 0; i < 2; i++) {
    const int machine = i == 0 ? MACHINE_CPU : MACHINE_CUDA;
    if (machine == MACHINE_CUDA && machine_lacks(machine)) continue;
    for (int m = 0; m < METHODS; m++)
      for (int p = KAON_DOUBLE; p <= coarsest(m) && !method_has(m, KAON_METHOD_RELAXATION); p++)
        one_step(machine, (kaon_method)m, (kaon_precision)p);
  }
}

static int dots_in_one_pass(void **state) {
  (void)state;
  apart = 0;
  return 0;
}

/* x += sum_j y_j z_j in one pass. */
static void an_end_of_cycle_does_so_too(void **state) {
  char head[4096];
  (void)state;
  read_head(KAON_GCR, "gcr", head, sizeof head);
  const char *at = strstr(head, "an end of cycle");
  assert_non_null(at);
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    world w;
    if (machine == MACHINE_CUDA && machine_lacks(machine)) continue;
    if (!open_world(&w, machine, KAON_GCR, KAON_SINGLE, NO_K)) continue;
    must(w.c.ctx, kaon_method_finish(w.s, KAON_GATE_STEP));
    assert_int_equal(seen.kernels, 1);
    assert_int_equal(seen.reads, w.s->process.cycle + said(at, "reads k + "));
    assert_int_equal(seen.writes, said(at, ", writes "));
    close_world(&w);
  }
}

/* By the difference of polynomials of two degrees. */
static void a_degree_of_chebyshev_does_so_too(void **state) {
  char head[4096];
  (void)state;
  read_head(KAON_CG, "chebyshev", head, sizeof head);
  for (int scaled = 0; scaled < 2; scaled++) {
    const char *at = strstr(head, scaled ? "with D: read" : "vectors read");
    world w;
    int reads[2], writes[2];
    assert_non_null(at);
    if (!open_world(&w, MACHINE_CPU, KAON_CG, KAON_DOUBLE, ANY_K)) continue;
    for (int i = 0; i < 2; i++) {
      kaon_chebyshev_options o = KAON_CHEBYSHEV_OPTIONS_INIT;
      kaon_operator *K = NULL;
      o.degree = 3 + i;
      o.scaled = scaled;
      o.low = 1;
      o.high = 3;
      must(w.c.ctx, kaon_precond_chebyshev(&w.fake, &o, &K));
      memset(&seen, 0, sizeof seen);
      must(w.c.ctx, kaon_operator_apply(K, KAON_PLAIN, w.s->work[0], w.s->work[1]));
      reads[i] = seen.reads;
      writes[i] = seen.writes;
      kaon_operator_destroy(&K);
    }
    assert_int_equal(reads[1] - reads[0], said(at, "read "));
    assert_int_equal(writes[1] - writes[0], said(at, ", written "));
    close_world(&w);
  }
}

/* In addition to the sweep, whose own vectors jacobi's D^-1 reads and writes by a counted kernel.
 */
static void one_sweep(int machine, kaon_method method) {
  const int own_reads = method == KAON_JACOBI ? 2 : 0, own_writes = method == KAON_JACOBI;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *s = NULL;
  relax_case c;
  counting_tables counts;
  char head[4096];
  own = NULL;
  if (!relax_case_open(&c, machine, 1, row_case_laplace(8, 8, 1), KAON_DOUBLE, 1)) return;
  read_head(method, "relax", head, sizeof head);
  const char *at = strstr(head, method == KAON_ASYNC ? "async on one rank: read" : "vectors read");
  assert_non_null(at);
  o.method = method;
  o.sloppy = KAON_DOUBLE;
  o.max_iterations = 2;
  must(c.ctx, kaon_solver_create(c.A, 1, &o, &s));
  must(c.ctx, kaon_vector_zero(c.solution));
  must(c.ctx, kaon_solver_solve(s, c.right, c.solution, NULL, NULL));
  count_from_here(c.ctx, &counts);
  must(c.ctx, s->method->step(s, 0));
  printf("  %-9s %d vectors read, %d written by %d kernels\n", method_name((int)method), seen.reads,
         seen.writes, seen.kernels);
  assert_int_equal(seen.reads, said(at, "read ") + own_reads);
  assert_int_equal(seen.writes, said(at, ", written ") + own_writes);
  c.ctx->backend = own;
  kaon_solver_destroy(&s);
  relax_case_close(&c);
}

static void a_step_of_relaxation_does_so_too(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU)
    for (int m = 0; m < METHODS; m++)
      if (method_has(m, KAON_METHOD_RELAXATION) &&
          (machine == MACHINE_CPU || !machine_lacks(machine)))
        one_sweep(machine, (kaon_method)m);
}

/* x += x_inner and x_inner = 0 in one pass. */
static void a_flush_is_one_pass(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    const int machine = i == 0 ? MACHINE_CPU : MACHINE_CUDA;
    world w;
    if (machine == MACHINE_CUDA && machine_lacks(machine)) continue;
    if (!open_world(&w, machine, KAON_CGNR, KAON_HALF, NO_K)) continue;
    w.s->states.host[0].gate = KAON_GATE_FLUSH;
    must(w.c.ctx, kaon_scalars_write(w.s->states.scalars, w.s->states.host));
    must(w.c.ctx, kaon_runner_flush(w.s));
    printf("  %d vectors read, %d written by %d kernels\n", seen.reads, seen.writes, seen.kernels);
    assert_int_equal(seen.kernels, 1);
    assert_int_equal(seen.reads, 2);
    assert_int_equal(seen.writes, 2);
    close_world(&w);
  }
}

int main(void) {
  static int yes = 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_reads_and_writes_what_its_head_says),
      cmocka_unit_test(a_preconditioned_step_does_so_too),
      {"a_step_with_dots_apart_does_so_too", a_step_reads_and_writes_what_its_head_says, NULL,
       dots_in_one_pass, &yes},
      {"a_preconditioned_step_with_dots_apart_does_so_too", a_preconditioned_step_does_so_too, NULL,
       dots_in_one_pass, &yes},
      cmocka_unit_test(an_end_of_cycle_does_so_too),
      cmocka_unit_test(a_degree_of_chebyshev_does_so_too),
      cmocka_unit_test(a_step_of_relaxation_does_so_too),
      cmocka_unit_test(a_flush_is_one_pass),
  };
  return test_main(tests, NULL, NULL);
}

/* milc_staggered.c - MILC's staggered operators and solves. Contract: quda_milc_interface.h.
 *
 * Fat and long links arrive with the signs of MILC inside. They are removed on import, and the
 * operator puts the same ones back. Links in which these signs are not are still right: they are
 * any 3x3 matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "milc.h"
#include "system.h"

/* ---- resident links ---- */

/* What the last call passed, and the same as kaon has it. Equal pointers with other numbers behind
 * them are noticed by a sample of the numbers. */
typedef struct fn_links {
  const void *client[2]; /* fat, long; NULL: not there */
  uint64_t digest[2];
  kaon_precision precision;
  int loaded;
  kaon_gauge *gauge[2];
  kaon_vector *hop[2]; /* of even and odd sites, for qudaDslash() */
  kaon_reconstruct
      sloppy; /* of long links inside solvers: 12 (as 13 reals) until that is refused */
} fn_links;

static fn_links fn;

static void destroy_links(void) {
  for (int i = 0; i < 2; i++) {
    if (fn.gauge[i] != NULL) kaon_quda_forget(fn.gauge[i]);
    kaon_gauge_destroy(&fn.gauge[i]);
    kaon_vector_destroy(&fn.hop[i]);
  }
  memset(&fn, 0, sizeof fn);
}

static kaon_status import_links(int which, kaon_lattice *lattice, const void *array,
                                kaon_precision precision) {
  kaon_status status = KAON_OK;
  if (fn.gauge[which] == NULL)
    status = kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &fn.gauge[which]);
  if (status == KAON_OK)
    status = kaon_gauge_import_matrices(fn.gauge[which], KAON_ORDER_MILC, precision, &array);
  if (status == KAON_OK)
    status = kaon_staggered_fold(fn.gauge[which], which == 0 ? 1 : 3, KAON_PHASES_MILC);
  return status;
}

static kaon_status load(const void *const client[2], kaon_precision precision) {
  kaon_lattice *lattice;
  kaon_status status = kaon_quda_milc_lattice(KAON_ANTIPERIODIC, &lattice);
  kaon_quda_at_end(destroy_links);
  for (int i = 0; i < 2; i++)
    if (fn.gauge[i] != NULL) kaon_quda_forget(fn.gauge[i]);
  if (client[1] == NULL) kaon_gauge_destroy(&fn.gauge[1]);
  for (int i = 0; i < 2 && status == KAON_OK; i++)
    if (client[i] != NULL) status = import_links(i, lattice, client[i], precision);
  return status;
}

/* Takes the links of a call, unless they are there already. `fresh`: they are new. */
static kaon_status take_links(const void *fat, const void *naik, kaon_precision precision,
                              int fresh) {
  const void *const client[2] = {fat, naik};
  const int64_t reals = 72 * kaon_quda_milc_sites();
  uint64_t digest[2] = {0, 0};
  if (kaon_quda()->ctx == NULL || reals == 0)
    return kaon_quda_refuse(KAON_ERR_STATE, "qudaInit() must be called first");
  if (fat == NULL) return kaon_quda_refuse(KAON_ERR_ARGUMENT, "the fat links are NULL");
  for (int i = 0; i < 2; i++)
    if (client[i] != NULL) digest[i] = kaon_quda_milc_digest(client[i], reals, precision, 1);
  fresh |= !fn.loaded || precision != fn.precision ||
           memcmp(client, fn.client, sizeof client) != 0 ||
           memcmp(digest, fn.digest, sizeof digest) != 0;
  kaon_status status = kaon_quda_milc_any(fresh, &fresh);
  if (status != KAON_OK || !fresh) return status;
  fn.loaded = 0;
  status = load(client, precision);
  if (status != KAON_OK) return status;
  memcpy(fn.client, client, sizeof client);
  memcpy(fn.digest, digest, sizeof digest);
  fn.precision = precision;
  fn.sloppy = naik != NULL ? KAON_RECONSTRUCT_12 : KAON_RECONSTRUCT_18;
  fn.loaded = 1;
  return KAON_OK;
}

/* ---- operators ---- */

/* The operator of a mass, and its reduction to a parity: 4 mass^2 - D D there. */
static kaon_status make(const kaon_quda_key *key, kaon_operator **M, kaon_operator **A) {
  kaon_staggered_options options = KAON_STAGGERED_OPTIONS_INIT;
  options.mass = key->number[0];
  kaon_status status = kaon_staggered_create(fn.gauge[0], fn.gauge[1], &options, M);
  *A = *M;
  if (status != KAON_OK || key->option[0] == KAON_FULL) return status;
  status = kaon_staggered_even_odd(*M, (kaon_parity)key->option[0], A);
  if (status == KAON_OK) return KAON_OK;
  *A = NULL;
  kaon_operator_destroy(M);
  return status;
}

/* `parity` KAON_FULL: the operator alone. */
static kaon_status find(double mass, kaon_parity parity, kaon_quda_system **system) {
  kaon_quda_key key = KAON_QUDA_KEY;
  key.kind = KAON_QUDA_MILC_FN;
  key.option[0] = (int)parity;
  key.number[0] = mass;
  memcpy(key.links, fn.gauge, sizeof key.links);
  return kaon_quda_find(&key, make, system);
}

/* ---- vectors ---- */

/* Arrays have all sites, even ones first. Only the half of one parity is touched. */
typedef struct half_array {
  kaon_vector_layout layout;
  size_t bytes; /* of a half */
  size_t skip;  /* bytes before it */
} half_array;

static half_array half_of(kaon_precision host, kaon_parity parity) {
  half_array half = {.layout = KAON_VECTOR_LAYOUT_INIT};
  half.layout.sites = KAON_SITES_ONE_PARITY;
  half.layout.precision = host;
  half.bytes = (size_t)kaon_quda_milc_sites() / 2 * 6 * (host == KAON_DOUBLE ? 8 : 4);
  half.skip = parity == KAON_ODD ? half.bytes : 0;
  return half;
}

static kaon_status import_half(kaon_vector *vector, int column, const void *array,
                               const half_array *half) {
  return kaon_vector_import_ordered(vector, column, (const char *)array + half->skip, half->bytes,
                                    &half->layout);
}

static kaon_status export_half(const kaon_vector *vector, int column, void *array,
                               const half_array *half) {
  return kaon_vector_export_ordered(vector, column, (char *)array + half->skip, half->bytes,
                                    &half->layout);
}

static kaon_status import_halves(kaon_vector *vector, int columns, void *const *arrays,
                                 const half_array *half) {
  kaon_status status = KAON_OK;
  for (int k = 0; k < columns && status == KAON_OK; k++)
    status = import_half(vector, k, arrays[k], half);
  return status;
}

static kaon_status export_halves(const kaon_vector *vector, int columns, void *const *arrays,
                                 const half_array *half) {
  kaon_status status = KAON_OK;
  for (int k = 0; k < columns && status == KAON_OK; k++)
    status = export_half(vector, k, arrays[k], half);
  return status;
}

/* ---- solves of one mass ---- */

/* A solve as a call asks for it. */
typedef struct fn_solve {
  kaon_quda_milc_call call;
  double mass, tol, heavy_quark_tol;
  int max_iterations, columns;
  void *const *source, *const *solution;
} fn_solve;

/* What goes back. */
typedef struct fn_result {
  double residual, heavy_quark; /* of the last column */
  int iterations;               /* of the slowest one */
} fn_result;

/* Half or single precision with long links in 13 reals, if they are a number times U(3). */
static kaon_status prepare(kaon_quda_system *system, const fn_solve *solve) {
  const kaon_space *space = kaon_operator_space(system->A);
  kaon_solver_options options;
  kaon_quda_solver_defaults(&options);
  options.method = KAON_CG;
  options.tol = solve->tol;
  options.heavy_quark_tol = solve->heavy_quark_tol;
  options.max_iterations = solve->max_iterations;
  options.sloppy = solve->call.sloppy;
  options.reconstruct = fn.sloppy;
  kaon_status status = kaon_quda_prepare(system, &options, solve->columns, space);
  if (status != KAON_ERR_UNITARITY || fn.sloppy == KAON_RECONSTRUCT_18) return status;
  fn.sloppy = options.reconstruct = KAON_RECONSTRUCT_18;
  return kaon_quda_prepare(system, &options, solve->columns, space);
}

/* The heavy-quark residuals, which a solve reports if they are its stop. */
static kaon_status measure(kaon_quda_system *system, const fn_solve *solve,
                           const kaon_column_report *columns, double *heavy_quark) {
  if (solve->heavy_quark_tol == 0)
    return kaon_quda_heavy_quark(system->A, NULL, system->b, system->x, heavy_quark);
  for (int k = 0; k < solve->columns; k++) heavy_quark[k] = columns[k].heavy_quark;
  return KAON_OK;
}

static kaon_status run(kaon_quda_system *system, const fn_solve *solve, fn_result *result,
                       kaon_column_report *columns, double *heavy_quark) {
  const half_array half = half_of(solve->call.host, solve->call.parity);
  const int n = solve->columns;
  kaon_status status = import_halves(system->b, n, solve->source, &half);
  if (status == KAON_OK) status = import_halves(system->x, n, solve->solution, &half);
  if (status == KAON_OK)
    status = kaon_solver_solve(system->solver, system->b, system->x, columns, NULL);
  if (status == KAON_OK) status = measure(system, solve, columns, heavy_quark);
  if (status == KAON_OK) status = export_halves(system->x, n, solve->solution, &half);
  if (status != KAON_OK) return status;
  result->iterations = 0;
  for (int k = 0; k < n; k++) {
    if (columns[k].iterations > result->iterations) result->iterations = columns[k].iterations;
    kaon_quda_warn("qudaInvert", &columns[k], solve->tol);
  }
  result->residual = columns[n - 1].residual;
  result->heavy_quark = heavy_quark[n - 1];
  return KAON_OK;
}

static kaon_status check_targets(const fn_solve *solve) {
  if (solve->columns < 1)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "%d sources were passed, but there must be one",
                            solve->columns);
  if (solve->tol == 0 && solve->heavy_quark_tol == 0)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "target_residual and target_fermilab_residual are 0; one of them must "
                            "be above 0");
  return KAON_OK;
}

static kaon_status solve_all(const fn_solve *solve, fn_result *result) {
  kaon_quda_system *system;
  kaon_status status = find(solve->mass, solve->call.parity, &system);
  if (status == KAON_OK) status = prepare(system, solve);
  if (status != KAON_OK) return status;
  kaon_column_report *columns = calloc((size_t)solve->columns, sizeof *columns);
  double *heavy_quark = calloc((size_t)solve->columns, sizeof *heavy_quark);
  if (columns != NULL && heavy_quark != NULL)
    status = run(system, solve, result, columns, heavy_quark);
  else
    status = kaon_quda_refuse(KAON_ERR_MEMORY, "no room for reports of %d columns", solve->columns);
  free(columns);
  free(heavy_quark);
  return status;
}

void qudaInvertMsrc(int external_precision, int quda_precision, double mass,
                    QudaInvertArgs_t inv_args, double target_residual,
                    double target_fermilab_residual, const void *const fatlink,
                    const void *const longlink, void **sourceArray, void **solutionArray,
                    double *const final_residual, double *const final_fermilab_residual,
                    int *num_iters, int num_src) {
  fn_solve solve = {.mass = mass,
                    .tol = target_residual,
                    .heavy_quark_tol = target_fermilab_residual,
                    .max_iterations = inv_args.max_iter,
                    .columns = num_src,
                    .source = sourceArray,
                    .solution = solutionArray};
  fn_result result = {.residual = NAN, .heavy_quark = NAN, .iterations = -1};
  kaon_status status = check_targets(&solve);
  if (status == KAON_OK)
    status = kaon_quda_milc_precisions(external_precision, quda_precision, inv_args.mixed_precision,
                                       &solve.call);
  if (status == KAON_OK) status = kaon_quda_milc_parity(inv_args.evenodd, &solve.call);
  if (status == KAON_OK) status = take_links(fatlink, longlink, solve.call.host, *num_iters == -1);
  if (status == KAON_OK) status = solve_all(&solve, &result);
  kaon_quda_ended(num_src == 1 ? "qudaInvert" : __func__, status, 1);
  *final_residual = result.residual;
  *final_fermilab_residual = result.heavy_quark;
  *num_iters = result.iterations;
}

void qudaInvert(int external_precision, int quda_precision, double mass, QudaInvertArgs_t inv_args,
                double target_residual, double target_fermilab_residual,
                const void *const milc_fatlink, const void *const milc_longlink, void *source,
                void *solution, double *const final_resid, double *const final_rel_resid,
                int *num_iters) {
  qudaInvertMsrc(external_precision, quda_precision, mass, inv_args, target_residual,
                 target_fermilab_residual, milc_fatlink, milc_longlink, &source, &solution,
                 final_resid, final_rel_resid, num_iters, 1);
}

/* ---- solves of several shifts ---- */

/* Solves (offset[i] - D D) x_i = b. */
typedef struct fn_shifts {
  kaon_quda_milc_call call;
  int shifts, max_iterations;
  const double *offset, *tol, *heavy_quark_tol;
  void *source, *const *solution;
} fn_shifts;

static kaon_status check_shifts(const fn_shifts *shifts) {
  if (shifts->shifts < 1 || shifts->shifts > KAON_MULTISHIFT_MAX)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "%d offsets were passed, but must be 1 to %d",
                            shifts->shifts, (int)KAON_MULTISHIFT_MAX);
  for (int i = 0; i < shifts->shifts; i++)
    if (!(shifts->offset[i] > 0))
      return kaon_quda_refuse(KAON_ERR_ARGUMENT, "offset %d is %g, but must be above 0", i,
                              shifts->offset[i]);
  return KAON_OK;
}

/* The operator has the smallest offset as its mass; sigma is what the others have more. */
static kaon_status find_shifts(const fn_shifts *shifts, double *sigma, kaon_quda_system **system) {
  double least = shifts->offset[0];
  for (int i = 1; i < shifts->shifts; i++) least = fmin(least, shifts->offset[i]);
  const double mass = sqrt(least) / 2;
  for (int i = 0; i < shifts->shifts; i++)
    sigma[i] = shifts->offset[i] == least ? 0 : shifts->offset[i] - 4 * mass * mass;
  return find(mass, shifts->call.parity, system);
}

static kaon_status prepare_shifts(kaon_quda_system *system, const fn_shifts *shifts,
                                  const double *sigma) {
  const kaon_space *space = kaon_operator_space(system->A);
  kaon_multishift_options options;
  kaon_quda_shift_defaults(&options);
  options.max_iterations = shifts->max_iterations;
  options.sloppy = shifts->call.sloppy;
  options.reconstruct = fn.sloppy;
  kaon_status status = kaon_quda_prepare_shifts(system, &options, shifts->shifts, sigma, space);
  if (status == KAON_ERR_UNITARITY && fn.sloppy != KAON_RECONSTRUCT_18) {
    fn.sloppy = options.reconstruct = KAON_RECONSTRUCT_18;
    status = kaon_quda_prepare_shifts(system, &options, shifts->shifts, sigma, space);
  }
  if (status == KAON_OK) status = kaon_multishift_set_tol(system->shifts, shifts->tol);
  return status;
}

static int wants_heavy_quark(const fn_shifts *shifts) {
  for (int i = 0; i < shifts->shifts; i++)
    if (shifts->heavy_quark_tol[i] > 0) return 1;
  return 0;
}

static kaon_status run_shifts(const fn_shifts *shifts, kaon_column_report *columns,
                              double *heavy_quark) {
  const half_array half = half_of(shifts->call.host, shifts->call.parity);
  double sigma[KAON_MULTISHIFT_MAX];
  kaon_quda_system *system;
  kaon_status status = find_shifts(shifts, sigma, &system);
  if (status == KAON_OK) status = prepare_shifts(system, shifts, sigma);
  if (status == KAON_OK) status = import_half(system->b, 0, shifts->source, &half);
  if (status == KAON_OK)
    status = kaon_multishift_solve(system->shifts, system->b, system->x, columns, NULL);
  if (status == KAON_OK && wants_heavy_quark(shifts))
    status = kaon_quda_heavy_quark(system->A, sigma, system->b, system->x, heavy_quark);
  if (status == KAON_OK) status = export_halves(system->x, shifts->shifts, shifts->solution, &half);
  return status;
}

/* Shifts whose heavy-quark residual is too large go on, each by itself. */
static kaon_status refine(const fn_shifts *shifts, kaon_column_report *columns,
                          double *heavy_quark) {
  kaon_status status = KAON_OK;
  for (int i = 0; i < shifts->shifts && status == KAON_OK; i++) {
    const fn_solve solve = {.call = shifts->call,
                            .mass = sqrt(shifts->offset[i]) / 2,
                            .tol = shifts->tol[i],
                            .heavy_quark_tol = shifts->heavy_quark_tol[i],
                            .max_iterations = shifts->max_iterations,
                            .columns = 1,
                            .source = &shifts->source,
                            .solution = &shifts->solution[i]};
    fn_result result = {0, 0, 0};
    if (!(solve.heavy_quark_tol > 0 && heavy_quark[i] > solve.heavy_quark_tol)) continue;
    status = solve_all(&solve, &result);
    columns[i].iterations += result.iterations;
    columns[i].residual = result.residual;
    heavy_quark[i] = result.heavy_quark;
  }
  return status;
}

void qudaMultishiftInvert(int external_precision, int precision, int num_offsets,
                          double *const offset, QudaInvertArgs_t inv_args,
                          const double *target_residual, const double *target_fermilab_residual,
                          const void *const milc_fatlink, const void *const milc_longlink,
                          void *source, void **solutionArray, double *const final_residual,
                          double *const final_fermilab_residual, int *num_iters) {
  fn_shifts shifts = {.shifts = num_offsets,
                      .max_iterations = inv_args.max_iter,
                      .offset = offset,
                      .tol = target_residual,
                      .heavy_quark_tol = target_fermilab_residual,
                      .source = source,
                      .solution = solutionArray};
  kaon_column_report columns[KAON_MULTISHIFT_MAX];
  double heavy_quark[KAON_MULTISHIFT_MAX] = {0}; /* where no shift asks for it */
  kaon_status status = check_shifts(&shifts);
  if (status == KAON_OK)
    status = kaon_quda_milc_precisions(external_precision, precision, inv_args.mixed_precision,
                                       &shifts.call);
  if (status == KAON_OK) status = kaon_quda_milc_parity(inv_args.evenodd, &shifts.call);
  if (status == KAON_OK)
    status = take_links(milc_fatlink, milc_longlink, shifts.call.host, *num_iters == -1);
  if (status == KAON_OK) status = run_shifts(&shifts, columns, heavy_quark);
  if (status == KAON_OK) status = refine(&shifts, columns, heavy_quark);
  const int ended = kaon_quda_ended(__func__, status, 1);
  *num_iters = ended ? 0 : -1;
  for (int i = 0; i < num_offsets; i++) {
    final_residual[i] = ended ? columns[i].residual : NAN;
    final_fermilab_residual[i] = ended ? heavy_quark[i] : NAN;
    if (ended && columns[i].iterations > *num_iters) *num_iters = columns[i].iterations;
    if (ended) kaon_quda_warn(__func__, &columns[i], target_residual[i]);
  }
}

/* ---- the operator alone ---- */

static kaon_status hop(const kaon_quda_milc_call *call, const void *source, void *solution) {
  const kaon_parity other = call->parity == KAON_EVEN ? KAON_ODD : KAON_EVEN;
  const half_array to = half_of(call->host, call->parity), from = half_of(call->host, other);
  kaon_quda_system *system;
  kaon_status status = find(1.0, KAON_FULL, &system);
  for (int p = 0; p < 2 && status == KAON_OK; p++)
    if (fn.hop[p] == NULL) {
      kaon_lattice *lattice = kaon_gauge_lattice(fn.gauge[0]);
      const kaon_space *space = kaon_lattice_staggered(lattice, p == 0 ? KAON_EVEN : KAON_ODD);
      status = kaon_vector_create(kaon_quda()->ctx, space, KAON_DOUBLE, 1, &fn.hop[p]);
    }
  if (status != KAON_OK) return status;
  kaon_vector *out = fn.hop[call->parity == KAON_ODD], *in = fn.hop[call->parity != KAON_ODD];
  status = import_half(in, 0, source, &from);
  if (status == KAON_OK) status = kaon_staggered_hop(system->M, call->parity, in, out);
  if (status == KAON_OK) status = export_half(out, 0, solution, &to);
  return status;
}

void qudaDslash(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                const void *const milc_fatlink, const void *const milc_longlink, void *source,
                void *solution, int *num_iters) {
  kaon_quda_milc_call call;
  kaon_status status = kaon_quda_milc_precisions(external_precision, quda_precision, 0, &call);
  if (status == KAON_OK) status = kaon_quda_milc_parity(inv_args.evenodd, &call);
  if (status == KAON_OK)
    status = take_links(milc_fatlink, milc_longlink, call.host, *num_iters == -1);
  if (status == KAON_OK) status = hop(&call, source, solution);
  kaon_quda_check(__func__, status);
}

/* ---- multigrid ---- */

static kaon_status no_multigrid(void) {
  return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                          "kaon has no multigrid for staggered quarks; choose the solver CG in "
                          "MILC's input (inv_type CG or UML)");
}

void *qudaMultigridCreate(int external_precision, int quda_precision, double mass,
                          QudaInvertArgs_t inv_args, const void *const milc_fatlink,
                          const void *const milc_longlink, const char *const mg_param_file) {
  (void)external_precision, (void)quda_precision, (void)mass, (void)inv_args, (void)milc_fatlink;
  (void)milc_longlink, (void)mg_param_file;
  kaon_quda_ended(__func__, no_multigrid(), 1);
  return NULL;
}

void qudaInvertMG(int external_precision, int quda_precision, double mass,
                  QudaInvertArgs_t inv_args, double target_residual,
                  double target_fermilab_residual, const void *const milc_fatlink,
                  const void *const milc_longlink, void *mg_pack_ptr, int mg_rebuild_type,
                  void *source, void *solution, double *const final_residual,
                  double *const final_fermilab_residual, int *num_iters) {
  (void)external_precision, (void)quda_precision, (void)mass, (void)inv_args, (void)source;
  (void)target_residual, (void)target_fermilab_residual, (void)milc_fatlink, (void)milc_longlink;
  (void)mg_pack_ptr, (void)mg_rebuild_type, (void)solution;
  kaon_quda_ended(__func__, no_multigrid(), 1);
  *final_residual = *final_fermilab_residual = NAN;
  *num_iters = -1;
}

void qudaMultigridDestroy(void *mg_pack_ptr) {
  (void)mg_pack_ptr;
}

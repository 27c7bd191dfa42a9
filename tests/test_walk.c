/* Every public function answers a wrong argument, whichever it is, with a status and a sentence:
 * NULL, an object of another context, space, precision, kind or number of columns, an options struct
 * of another kind or size, a value that an enumeration does not have. Nothing crashes, no object is
 * left behind, and after a success kaon_last_error() is "". make_walk.py writes the calls from the
 * headers, so no function is left out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "tests/util/test_util.h"

enum { NUMBERS = 1 << 16, PATH = 128, MOST = 40 };
static const int four[4] = {4, 4, 4, 4};

/* What the calls are made with. Arrays named after a type have every other object of that type. */
static struct {
  kaon_context *ctx, *other;
  kaon_lattice *lattice, *same, *elsewhere;
  const kaon_space *space;
  kaon_space *own_space;
  kaon_vector *x, *y, *z, *even, *odd, *chi, *chi_even, *chi_odd, *twelve, *rows, *closed_rows;
  kaon_gauge *own, *improved[2], *links, *fat, *naik;
  kaon_operator *dirac, *clover, *given, *reduced, *staggered, *laplace, *normal, *chebyshev,
      *shell, *ic0, *schwarz, *kaczmarz, *multigrid;
  kaon_matrix *matrix, *closed;
  kaon_solver *solver, *relaxation;
  kaon_multishift *shifts;
  kaon_rational_function *function;
  int64_t places;
  int extents[4], zeros[4], ones[4], ints[64], more_ints[64];
  int64_t longs[NUMBERS / 8], more_longs[64];
  size_t sizes[4];
  double numbers[NUMBERS], more[NUMBERS], sigma[4];
  void *arrays[4];
  char text[256], folder[PATH];
  char out[PATH + 32], matrix_out[PATH + 32], gauge_file[PATH + 32], propagator_file[PATH + 32],
      multigrid_file[PATH + 32], matrix_file[PATH + 32], array_file[PATH + 32],
      vectors_file[PATH + 32], rational_file[PATH + 32];
  kaon_solver_options solver_options;
  kaon_schwarz_options schwarz_options;
  kaon_multigrid_options multigrid_options;
  kaon_propagator_write_options propagator_options;
  kaon_shell_methods methods;
  kaon_rational rational;
  kaon_fatten_coefficients coefficients;
  kaon_gauge_content content;
  kaon_link_factors factors;
  kaon_file_format format;
  kaon_csr_arrays csr;
  kaon_triplet_arrays triplets;
  kaon_ldu_arrays ldu;
  kaon_cost cost;
  kaon_traffic traffic;
  kaon_column_report reports[64];
  kaon_consistency consistency[64];
  kaon_failure failure;
  kaon_remedy remedies[KAON_REMEDIES];
  const void *contexts[MOST], *lattices[MOST], *spaces[MOST], *vectors[MOST], *gauges[MOST],
      *operators[MOST], *matrixs[MOST], *solvers[MOST], *multishifts[MOST],
      *rational_functions[MOST];
  int context_count, lattice_count, space_count, vector_count, gauge_count, operator_count,
      matrix_count, solver_count, multishift_count, rational_function_count;
} w;

/* ---- what a call is checked for ---- */

typedef enum expectation { ANY, OK, REFUSED, ARGUMENT, MAY_BE_NULL } expectation;
static const char *call_of, *what_of;
static int wrong;

static void begin(const char *function, const char *what) {
  call_of = function;
  what_of = what;
}

/* Says which call it was, for a debugger as well as for the log. */
static void complain(const char *why, kaon_status status) {
  printf("  %s, %s: %s: %s \"%s\"\n", call_of, what_of, why, kaon_status_name(status),
         kaon_last_error(NULL));
  wrong++;
}

/* made: the address of a new object, which held no NULL before the call. */
static void end(kaon_status status, expectation expected, void *const *made) {
  const char *sentence = kaon_last_error(NULL);
  if (status == KAON_ERR_INTERNAL || strcmp(kaon_status_name(status), "KAON_ERR_?") == 0)
    complain("not a status of its own", status);
  if ((status == KAON_OK) != (sentence[0] == '\0'))
    complain("the sentence does not go with it", status);
  if (status != KAON_OK && made != NULL && *made != NULL)
    complain("it failed, but an object is left", status);
  if (expected == OK && status != KAON_OK) complain("it should succeed", status);
  if (expected == REFUSED && status == KAON_OK) complain("it should be refused", status);
  if (expected == ARGUMENT && status != KAON_ERR_ARGUMENT)
    complain("it should be ARGUMENT, or the comment says what NULL means", status);
  if (expected == MAY_BE_NULL && status != KAON_OK && status != KAON_ERR_ARGUMENT)
    complain("NULL should be accepted or ARGUMENT", status);
}

static void finish(void) {
  const int found = wrong;
  wrong = 0;
  assert_int_equal(found, 0);
}

/* A struct of this size and version, whatever it should be. */
static void *stranger(size_t size, int version) {
  static union {
    struct {
      size_t size;
      int version;
    } head;
    double number;
    char bytes[1 << 16];
  } room;
  memset(&room, 0, sizeof room);
  room.head.size = size;
  room.head.version = version;
  return &room;
}

/* ---- functions of the application ---- */

static void walk_link_put(void *sink, int64_t site, int mu, const double u[18]) {
  (void)sink, (void)site, (void)mu, (void)u;
}

static void walk_link_get(void *source, int64_t site, int mu, double u[18]) {
  (void)source, (void)site, (void)mu;
  for (int c = 0; c < 18; c++) u[c] = c % 8 == 0;
}

static void walk_spinor_put(void *sink, int column, int64_t site, const double psi[24]) {
  (void)sink, (void)column, (void)site, (void)psi;
}

static void walk_spinor_get(void *source, int column, int64_t site, double psi[24]) {
  (void)source, (void)column, (void)site;
  for (int c = 0; c < 24; c++) psi[c] = 1;
}

static void walk_source_put(void *sink, int column, int64_t site, const double *values) {
  (void)sink, (void)column, (void)site, (void)values;
}

static void walk_source_get(void *source, int column, int64_t site, double *values) {
  (void)source, (void)column, (void)site;
  values[0] = values[1] = 0;
}

static kaon_status walk_shell_apply(void *user, kaon_mode mode, const kaon_vector *x,
                                    kaon_vector *y) {
  (void)user, (void)mode;
  return kaon_vector_copy(y, x);
}

/* ---- the fixture ---- */

#define REMEMBER(list, object) (w.list##s[w.list##_count++] = (object))

static kaon_vector *vector(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                           int columns) {
  kaon_vector *v = NULL;
  must(ctx, kaon_vector_create(ctx, space, precision, columns, &v));
  REMEMBER(vector, v);
  return v;
}

static kaon_gauge *gauge(kaon_lattice *lattice, kaon_precision precision,
                         kaon_reconstruct reconstruct) {
  kaon_gauge *g = NULL;
  must(NULL, kaon_gauge_create(lattice, precision, reconstruct, &g));
  must(NULL, kaon_gauge_weak(g, 0.2, 3));
  REMEMBER(gauge, g);
  return g;
}

static void make_lattices(void) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU; /* arrays of functions for device memory are on the host */
  options.threads = 1;
  must(NULL, kaon_context_create(&options, &w.ctx));
  must(NULL, kaon_context_create(&options, &w.other));
  must(NULL, kaon_lattice_create(w.ctx, four, KAON_ANTIPERIODIC, &w.lattice));
  must(NULL, kaon_lattice_create(w.ctx, four, KAON_ANTIPERIODIC, &w.same));
  must(NULL, kaon_lattice_create(w.other, four, KAON_ANTIPERIODIC, &w.elsewhere));
  must(NULL, kaon_space_create(w.ctx, 7, 3, 1, &w.own_space));
  w.space = kaon_lattice_spinors(w.lattice, KAON_FULL);
  REMEMBER(context, w.other);
  REMEMBER(lattice, w.same);
  REMEMBER(lattice, w.elsewhere);
  for (int parity = KAON_EVEN; parity <= KAON_FULL; parity++)
    REMEMBER(space, kaon_lattice_staggered(w.lattice, (kaon_parity)parity));
  REMEMBER(space, kaon_lattice_spinors(w.same, KAON_FULL));
  REMEMBER(space, kaon_lattice_spinors(w.elsewhere, KAON_FULL));
  REMEMBER(space, w.own_space);
}

static void make_vectors(void) {
  const kaon_space *staggered = kaon_lattice_staggered(w.lattice, KAON_FULL);
  w.x = vector(w.ctx, w.space, KAON_DOUBLE, 1);
  w.y = vector(w.ctx, w.space, KAON_DOUBLE, 1);
  w.z = vector(w.ctx, w.space, KAON_DOUBLE, 1);
  vector(w.ctx, w.space, KAON_SINGLE, 1);
  vector(w.ctx, w.space, KAON_HALF, 1);
  w.twelve = vector(w.ctx, w.space, KAON_DOUBLE, 12);
  w.even = vector(w.ctx, kaon_lattice_spinors(w.lattice, KAON_EVEN), KAON_DOUBLE, 1);
  w.odd = vector(w.ctx, kaon_lattice_spinors(w.lattice, KAON_ODD), KAON_DOUBLE, 1);
  w.chi = vector(w.ctx, staggered, KAON_DOUBLE, 1);
  vector(w.ctx, staggered, KAON_DOUBLE, 3);
  w.chi_even = vector(w.ctx, kaon_lattice_staggered(w.lattice, KAON_EVEN), KAON_DOUBLE, 1);
  w.chi_odd = vector(w.ctx, kaon_lattice_staggered(w.lattice, KAON_ODD), KAON_DOUBLE, 1);
  vector(w.ctx, w.own_space, KAON_DOUBLE, 1);
  vector(w.ctx, kaon_lattice_spinors(w.same, KAON_FULL), KAON_DOUBLE, 1);
  vector(w.other, kaon_lattice_spinors(w.elsewhere, KAON_FULL), KAON_DOUBLE, 1);
}

static void make_gauges(void) {
  must(NULL, kaon_gauge_create(w.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &w.own));
  must(NULL, kaon_gauge_weak(w.own, 0.2, 1));
  for (int i = 0; i < 2; i++)
    must(NULL, kaon_gauge_create(w.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &w.improved[i]));
  must(NULL, kaon_fatten(w.own, NULL, w.improved[0], w.improved[1], NULL));
  w.factors = (kaon_link_factors){{1, 1, 1, 1}, 0};
  w.links = gauge(w.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  w.fat = gauge(w.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  w.naik = gauge(w.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  gauge(w.lattice, KAON_SINGLE, KAON_RECONSTRUCT_12);
  gauge(w.lattice, KAON_HALF, KAON_RECONSTRUCT_8);
  gauge(w.same, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  gauge(w.elsewhere, KAON_DOUBLE, KAON_RECONSTRUCT_18);
}

static void make_matrices(void) {
  must(NULL, kaon_matrix_generate(w.ctx, "laplace2d:4", NULL, &w.matrix, NULL));
  kaon_matrix *different = NULL, *elsewhere = NULL;
  must(NULL, kaon_matrix_generate(w.ctx, "banded:9,2", NULL, &different, NULL));
  must(NULL, kaon_matrix_generate(w.other, "laplace2d:4", NULL, &elsewhere, NULL));
  REMEMBER(matrix, w.matrix);
  REMEMBER(matrix, different);
  REMEMBER(matrix, elsewhere);
  REMEMBER(space, kaon_matrix_space(w.matrix));
  w.rows = vector(w.ctx, kaon_matrix_space(w.matrix), KAON_DOUBLE, 1);
  static const int64_t row[] = {0, 0, 1, 1}, column[] = {0, 1, 0, 1};
  static const double closed[] = {1, -1, -1, 1}; /* columns add up to 0 */
  const kaon_triplet_arrays a = {2, 0, 2, 1, 0, 4, row, column, closed};
  must(NULL, kaon_matrix_create_triplets(w.ctx, &a, NULL, &w.closed));
  REMEMBER(matrix, w.closed);
  w.closed_rows = vector(w.ctx, kaon_matrix_space(w.closed), KAON_DOUBLE, 1);
}

/* Makes an operator by the call, in which it is *made, and remembers it. */
#define OPERATOR(call)                            \
  do {                                            \
    kaon_operator *made_ = NULL, **made = &made_; \
    must(NULL, call);                             \
    REMEMBER(operator, made_);                    \
  } while (0)
#define LAST ((kaon_operator *)(uintptr_t)w.operators[w.operator_count - 1])

static void make_operators(void) {
  kaon_dirac_options d = KAON_DIRAC_OPTIONS_INIT;
  kaon_gauge *elsewhere = NULL;
  OPERATOR(kaon_dirac_create(w.own, &d, made));
  w.dirac = LAST;
  OPERATOR(kaon_dirac_even_odd(w.dirac, NULL, made));
  w.reduced = LAST;
  OPERATOR(kaon_operator_normal(w.dirac, made));
  w.normal = LAST;
  OPERATOR(kaon_operator_adjoint(w.dirac, made));
  OPERATOR(kaon_schwarz_create(w.dirac, NULL, made));
  w.schwarz = LAST;
  kaon_multigrid_options m = KAON_MULTIGRID_OPTIONS_INIT;
  m.vectors[0] = 2;
  m.setup = 1;
  OPERATOR(kaon_multigrid_create(w.dirac, &m, made));
  w.multigrid = LAST;
  OPERATOR(kaon_operator_local_part(w.dirac, w.zeros, KAON_DOUBLE, KAON_RECONSTRUCT_18, made));
  d.csw = 1;
  OPERATOR(kaon_dirac_create(w.own, &d, made));
  w.clover = LAST;
  d.mu = 0.1;
  OPERATOR(kaon_dirac_create(w.own, &d, made));
  d = (kaon_dirac_options)KAON_DIRAC_OPTIONS_INIT;
  OPERATOR(kaon_dirac_create_clover(w.own, &d, KAON_ORDER_NATURAL, KAON_DOUBLE, w.numbers, made));
  w.given = LAST;
  d.precision = KAON_HALF;
  OPERATOR(kaon_dirac_create(w.own, &d, made));
  OPERATOR(kaon_staggered_create(w.own, NULL, NULL, made));
  w.staggered = LAST;
  OPERATOR(kaon_staggered_even_odd(w.staggered, KAON_EVEN, made));
  OPERATOR(kaon_matrix_operator(w.matrix, NULL, made));
  w.laplace = LAST;
  OPERATOR(kaon_precond_jacobi(w.laplace, made));
  OPERATOR(kaon_precond_chebyshev(w.laplace, NULL, made));
  w.chebyshev = LAST;
  OPERATOR(kaon_precond_create(w.matrix, NULL, made));
  w.ic0 = LAST;
  OPERATOR(kaon_kaczmarz_reduce(w.laplace, NULL, made));
  w.kaczmarz = LAST;
  OPERATOR(kaon_kaczmarz_preconditioner(w.laplace, NULL, 1, made));
  OPERATOR(kaon_operator_create_shell(w.space, walk_shell_apply, NULL, NULL, made));
  w.shell = LAST;
  OPERATOR(kaon_shell_create(w.space, w.own_space, &w.methods, NULL, NULL, made));
  must(NULL, kaon_gauge_create(w.elsewhere, KAON_DOUBLE, KAON_RECONSTRUCT_18, &elsewhere));
  OPERATOR(kaon_dirac_create(elsewhere, NULL, made));
  kaon_gauge_destroy(&elsewhere);
}

static void make_solvers(void) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *three = NULL, *elsewhere = NULL;
  kaon_multishift_options shifts = KAON_MULTISHIFT_OPTIONS_INIT;
  kaon_multishift *two = NULL;
  kaon_rational_function *of_reduced = NULL;
  kaon_rational r;
  must(NULL, kaon_solver_create(w.dirac, 1, &o, &w.solver));
  must(NULL, kaon_solver_create(w.reduced, 3, &o, &three));
  must(NULL, kaon_solver_create(LAST, 1, &o, &elsewhere));
  o.method = KAON_JACOBI;
  must(NULL, kaon_solver_create(w.laplace, 1, &o, &w.relaxation));
  REMEMBER(solver, w.solver);
  REMEMBER(solver, w.relaxation);
  REMEMBER(solver, three);
  REMEMBER(solver, elsewhere);
  OPERATOR(kaon_solver_as_operator(w.solver, made));
  w.sigma[0] = 0.1;
  w.sigma[1] = 1;
  must(NULL, kaon_multishift_create(w.normal, 1, w.sigma, &shifts, &w.shifts));
  shifts.normal = 1;
  must(NULL, kaon_multishift_create(w.reduced, 2, w.sigma, &shifts, &two));
  REMEMBER(multishift, w.shifts);
  REMEMBER(multishift, two);
  must(NULL, kaon_rational_inverse_root(2, 0.01, 10, &r));
  w.rational = r;
  must(NULL, kaon_rational_create(w.normal, &r, NULL, &w.function));
  must(NULL, kaon_rational_create(w.reduced, &r, &shifts, &of_reduced));
  REMEMBER(rational_function, w.function);
  REMEMBER(rational_function, of_reduced);
}

static void name_file(char path[PATH + 32], const char *name) {
  snprintf(path, PATH + 32, "%s/%s", w.folder, name);
}

static void write_rational(void) {
  const kaon_rational *r = &w.rational;
  FILE *file = fopen(w.rational_file, "w");
  assert_non_null(file);
  fprintf(file, "kaon-rational 1\npower %.17g interval %.17g %.17g error %.17g constant %.17g",
          r->power, r->lo, r->hi, 1.01 * r->error, r->constant);
  fprintf(file, " terms %d\n", r->terms);
  for (int i = 0; i < r->terms; i++) fprintf(file, "%.17g %.17g\n", r->residue[i], r->pole[i]);
  fclose(file);
}

static void write_files(void) {
  snprintf(w.folder, sizeof w.folder, "/tmp/kaon_walk_XXXXXX");
  assert_non_null(mkdtemp(w.folder));
  name_file(w.out, "out");
  name_file(w.matrix_out, "out.mtx");
  name_file(w.gauge_file, "gauge");
  name_file(w.propagator_file, "propagator");
  name_file(w.multigrid_file, "multigrid");
  name_file(w.matrix_file, "matrix.mtx");
  name_file(w.array_file, "array.mtx");
  name_file(w.vectors_file, "vectors");
  name_file(w.rational_file, "rational");
  w.propagator_options = (kaon_propagator_write_options)KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
  memcpy(w.propagator_options.extents, four, sizeof four);
  must(NULL, kaon_gauge_write(w.own, w.gauge_file, NULL));
  must(NULL, kaon_multigrid_save(w.multigrid, w.multigrid_file));
  must(NULL, kaon_propagator_file_write(NULL, w.propagator_file, &w.propagator_options,
                                        walk_spinor_get, walk_source_get, NULL));
  must(NULL, kaon_matrix_write(w.matrix, w.matrix_file));
  must(NULL, kaon_array_write(w.ctx, w.array_file, 2, 1, 1, w.numbers));
  must(NULL, kaon_staggered_write_vectors(w.chi, w.vectors_file, 64, NULL));
  write_rational();
}

/* A matrix of one row, in all forms, and other values that nothing changes. */
static void make_values(void) {
  static const int64_t start[2] = {0, 1}, zero[1] = {0};
  static const double one[1] = {1};
  w.csr = (kaon_csr_arrays){
      .global_rows = 1, .rows = 1, .reals = 1, .start64 = start, .column64 = zero, .values = one};
  w.triplets = (kaon_triplet_arrays){.global_rows = 1,
                                     .rows = 1,
                                     .reals = 1,
                                     .entries = 1,
                                     .row = zero,
                                     .column = zero,
                                     .values = one};
  w.ldu = (kaon_ldu_arrays){.cells = 1, .diagonal = one};
  w.methods = (kaon_shell_methods)KAON_SHELL_METHODS_INIT;
  w.methods.apply = walk_shell_apply;
  memcpy(w.content.extents, four, sizeof four);
  w.content.plaquette = w.content.link_trace = 1;
  w.failure = (kaon_failure){.precond = "none", .reason = KAON_BREAKDOWN};
}

static int setup(void **state) {
  (void)state;
  make_values();
  make_lattices();
  make_vectors();
  make_gauges();
  make_matrices();
  make_operators();
  make_solvers();
  write_files();
  kaon_vector_storage storage = KAON_VECTOR_STORAGE_INIT;
  must(NULL, kaon_vector_locate(w.x, &storage));
  w.places = storage.places;
  return 0;
}

/* Numbers of vectors and links, which calls change. */
static int reset(void **state) {
  (void)state;
  for (int i = 0; i < w.vector_count; i++)
    must(NULL, kaon_vector_zero((kaon_vector *)(uintptr_t)w.vectors[i]));
  must(NULL, kaon_source_gauss(w.x, 1));
  must(NULL, kaon_source_gauss(w.y, 2));
  must(NULL, kaon_source_gauss(w.z, 3));
  must(NULL, kaon_source_gauss(w.twelve, 4));
  must(NULL, kaon_source_gauss(w.chi, 5));
  for (int i = 0; i < w.gauge_count; i++)
    must(NULL, kaon_gauge_weak((kaon_gauge *)(uintptr_t)w.gauges[i], 0.2, 3));
  memset(w.numbers, 0, sizeof w.numbers);
  for (int i = 0; i < NUMBERS; i++) w.more[i] = i % 18 % 8 == 0; /* unit links */
  for (int i = 0; i < 4; i++) w.arrays[i] = w.more;
  memcpy(w.extents, four, sizeof four);
  memset(w.zeros, 0, sizeof w.zeros);
  for (int mu = 0; mu < 4; mu++) w.ones[mu] = 1;
  memset(w.ints, 0, sizeof w.ints);
  w.solver_options = (kaon_solver_options)KAON_SOLVER_OPTIONS_INIT;
  w.multigrid_options = (kaon_multigrid_options)KAON_MULTIGRID_OPTIONS_INIT;
  w.multigrid_options.vectors[0] = 2;
  w.multigrid_options.setup = 1;
  w.schwarz_options = (kaon_schwarz_options)KAON_SCHWARZ_OPTIONS_INIT;
  w.coefficients = (kaon_fatten_coefficients){.one = 1};
  return 0;
}

static int teardown(void **state) {
  (void)state;
#define DESTROY(list, type, function)             \
  for (int i = 0; i < w.list##_count; i++) {      \
    type *gone = (type *)(uintptr_t)w.list##s[i]; \
    function(&gone);                              \
  }
  /* what others were made from first: they keep it alive */
  kaon_context_destroy(&w.ctx);
  kaon_context_destroy(&w.other);
  DESTROY(lattice, kaon_lattice, kaon_lattice_destroy)
  kaon_lattice_destroy(&w.lattice);
  kaon_gauge_destroy(&w.own);
  for (int i = 0; i < 2; i++) kaon_gauge_destroy(&w.improved[i]);
  DESTROY(gauge, kaon_gauge, kaon_gauge_destroy)
  DESTROY(matrix, kaon_matrix, kaon_matrix_destroy)
  kaon_space_destroy(&w.own_space);
  DESTROY(operator, kaon_operator, kaon_operator_destroy)
  DESTROY(solver, kaon_solver, kaon_solver_destroy)
  DESTROY(multishift, kaon_multishift, kaon_multishift_destroy)
  DESTROY(rational_function, kaon_rational_function, kaon_rational_destroy)
  DESTROY(vector, kaon_vector, kaon_vector_destroy)
  char command[PATH + 16];
  snprintf(command, sizeof command, "rm -rf %s", w.folder);
  return system(command);
}

#include "walk_calls.h"

int main(void) {
  return test_main(walks, setup, teardown);
}

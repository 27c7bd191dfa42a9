/* load_clover.c - clover terms of clients: handed over, or made from the Wilson links. Contract:
 * fields.h. */
#include "fields.h"

#include <kaon/operator.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

enum { REALS = 72, BLOCK = 36, ROWS = 6, SPINOR = 24 };

/* ---- orders ---- */

/* A client's array. In the order QDPJIT it is two pointers, to the elements below the diagonal and
 * to the diagonal. */
typedef struct client {
  const void *array;
  QudaCloverFieldOrder order;
  QudaPrecision precision;
  size_t sites; /* of a parity */
} client;

/* Real i of a block counts 6 diagonal elements, then re and im of those below it, column by column.
 * QDPJIT counts these row by row. */
static size_t place_qdpjit(const client *c, int parity, size_t site, int chirality, int i) {
  static const int by_rows[15] = {0, 1, 3, 6, 10, 2, 4, 7, 11, 5, 8, 12, 9, 13, 14};
  const int element = i < ROWS ? i : 15 * (i % 2) + by_rows[(i - ROWS) / 2];
  return (((size_t)element * 2 + (size_t)chirality) * 2 + (size_t)parity) * c->sites + site;
}

/* BQCD has the half of each element, permuted, and another phase of the components. */
static int place_bqcd(int i, double *by) {
  static const int place[BLOCK] = {21, 32, 33, 0,  1,  20, 28, 29, 30, 31, 6,  7,
                                   14, 15, 22, 23, 34, 35, 8,  9,  16, 17, 24, 25,
                                   10, 11, 18, 19, 26, 27, 2,  3,  4,  5,  12, 13};
  const int negative = (i >= 10 && i < 16) || (i >= 18 && i < 30);
  *by = 2.0;
  if (i >= ROWS && (negative || i % 2 == 1)) *by = -2.0;
  return place[i];
}

static double real_at(const client *c, const void *array, size_t place) {
  return c->precision == QUDA_DOUBLE_PRECISION ? ((const double *)array)[place]
                                               : (double)((const float *)array)[place];
}

static double take(const client *c, int parity, size_t site, int chirality, int i) {
  const size_t block = ((size_t)parity * c->sites + site) * REALS + (size_t)(chirality * BLOCK);
  double by;
  switch (c->order) {
    case QUDA_QDPJIT_CLOVER_ORDER:
      return real_at(c, ((void *const *)c->array)[i < ROWS ? 1 : 0],
                     place_qdpjit(c, parity, site, chirality, i));
    case QUDA_BQCD_CLOVER_ORDER: {
      const int at = place_bqcd(i, &by);
      return by * real_at(c, c->array, block + (size_t)at);
    }
    default:
      return real_at(c, c->array, block + (size_t)i);
  }
}

/* Writes a term in the order PACKED. */
static void give(const double *term, void *array, QudaPrecision precision, size_t sites) {
  for (size_t i = 0; i < 2 * sites * REALS; i++)
    if (precision == QUDA_DOUBLE_PRECISION)
      ((double *)array)[i] = term[i];
    else
      ((float *)array)[i] = (float)term[i];
}

static kaon_status check(const QudaInvertParam *param, int handed_over, int returned) {
  const QudaCloverFieldOrder order = param->clover_order;
  if (!handed_over && !returned) return KAON_OK;
  if (param->clover_cpu_prec != QUDA_DOUBLE_PRECISION &&
      param->clover_cpu_prec != QUDA_SINGLE_PRECISION)
    return kaon_quda_refuse(
        KAON_ERR_ARGUMENT, "clover_cpu_prec is %d, but must be %d (double) or %d (single)",
        (int)param->clover_cpu_prec, (int)QUDA_DOUBLE_PRECISION, (int)QUDA_SINGLE_PRECISION);
  if (order < QUDA_PACKED_CLOVER_ORDER || order > QUDA_BQCD_CLOVER_ORDER ||
      (returned && order != QUDA_PACKED_CLOVER_ORDER))
    return kaon_quda_refuse(
        KAON_ERR_UNSUPPORTED,
        "clover_order is %d, but must be %d (PACKED), %d (QDPJIT) or %d (BQCD); "
        "returned terms need %d (PACKED)",
        (int)order, (int)QUDA_PACKED_CLOVER_ORDER, (int)QUDA_QDPJIT_CLOVER_ORDER,
        (int)QUDA_BQCD_CLOVER_ORDER, (int)QUDA_PACKED_CLOVER_ORDER);
  if (kaon_quda_on_device(param->clover_location))
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "the clover term is in GPU memory; copy it to host memory and set "
                            "clover_location to %d",
                            (int)QUDA_CPU_FIELD_LOCATION);
  return KAON_OK;
}

/* ---- where the term comes from ---- */

/* Sites of a parity. */
static size_t sites_of(const kaon_quda_links *links) {
  return kaon_quda_sites(links->param.X) / 2;
}

static kaon_status make_room(size_t sites, double **term) {
  return kaon_quda_allocate(2 * sites * REALS * sizeof **term, term);
}

static kaon_status take_over(const client *c, double **term) {
  const kaon_status status = make_room(c->sites, term);
  if (status != KAON_OK) return status;
  double *to = *term;
  for (int parity = 0; parity < 2; parity++)
    for (size_t site = 0; site < c->sites; site++)
      for (int chirality = 0; chirality < 2; chirality++)
        for (int i = 0; i < BLOCK; i++) *to++ = take(c, parity, site, chirality, i);
  return KAON_OK;
}

/* M = A - kappa D with the links' own term of this coefficient kappa csw, or with a given one. */
static kaon_status make_operator(const kaon_quda_links *links, double coefficient,
                                 const double *term, kaon_operator **M) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.csw = term == NULL ? coefficient / options.kappa : 0.0;
  return term == NULL ? kaon_dirac_create(links->gauge, &options, M)
                      : kaon_dirac_create_clover(links->gauge, &options, KAON_ORDER_MILC,
                                                 KAON_DOUBLE, term, M);
}

/* Places for a column of A, of both chiralities: y has A times unit vectors. */
static void read_column(const double *y, size_t sites, int column, double *term) {
  for (size_t site = 0; site < sites; site++)
    for (int chirality = 0; chirality < 2; chirality++) {
      const double *from = y + site * SPINOR + chirality * 2 * ROWS;
      double *block = term + site * REALS + chirality * BLOCK;
      double *below = block + ROWS + 2 * (column * (2 * ROWS - 1 - column) / 2);
      block[column] = from[2 * column];
      for (int row = column + 1; row < ROWS; row++, below += 2)
        memcpy(below, from + 2 * row, 2 * sizeof *below);
    }
}

/* Reads A off M: on the sites of one parity, M acts as A on vectors that are 0 on the others. */
static kaon_status read_term(kaon_operator *M, kaon_vector *x, kaon_vector *y, double *array,
                             size_t sites, double *term) {
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  const size_t half = sites * SPINOR, bytes = 2 * half * sizeof *array;
  kaon_status status = KAON_OK;
  layout.sites = KAON_SITES_EVEN_ODD;
  layout.basis = KAON_BASIS_DEGRAND_ROSSI;
  for (int i = 0; i < 2 * ROWS && status == KAON_OK; i++) {
    const size_t parity = (size_t)i / ROWS, column = (size_t)i % ROWS;
    memset(array, 0, bytes);
    for (size_t site = 0; site < sites; site++) {
      array[parity * half + site * SPINOR + 2 * column] = 1.0;
      array[parity * half + site * SPINOR + 2 * (column + ROWS)] = 1.0;
    }
    status = kaon_vector_import_ordered(x, 0, array, bytes, &layout);
    if (status == KAON_OK) status = kaon_operator_apply(M, KAON_PLAIN, x, y);
    if (status == KAON_OK) status = kaon_vector_export_ordered(y, 0, array, bytes, &layout);
    if (status == KAON_OK)
      read_column(array + parity * half, sites, (int)column, term + parity * sites * REALS);
  }
  return status;
}

static kaon_status compute(const kaon_quda_links *links, double coefficient, double **term) {
  kaon_context *ctx = kaon_quda()->ctx;
  kaon_operator *M = NULL;
  kaon_vector *x = NULL, *y = NULL;
  const size_t sites = sites_of(links);
  const kaon_space *space = kaon_lattice_spinors(links->lattice, KAON_FULL);
  double *array = NULL;
  kaon_status status = make_room(sites, term);
  if (status == KAON_OK) status = kaon_quda_allocate(2 * sites * SPINOR * sizeof *array, &array);
  if (status == KAON_OK) status = make_operator(links, coefficient, NULL, &M);
  if (status == KAON_OK) status = kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &x);
  if (status == KAON_OK) status = kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &y);
  if (status == KAON_OK) status = read_term(M, x, y, array, sites, *term);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&M);
  free(array);
  return status;
}

/* ---- the term of links that changed ---- */

kaon_status kaon_quda_clover_keeps(kaon_quda_links *links, int move) {
  kaon_quda_clover *clover = &kaon_quda()->clover;
  kaon_quda_links *former = &clover->former;
  if (former->gauge != NULL || links->gauge == NULL || clover->of != links->gauge ||
      clover->term != NULL)
    return KAON_OK;
  *former = *links;
  if (move) {
    kaon_quda_forget(links->gauge);
    memset(links, 0, sizeof *links);
    return KAON_OK;
  }
  former->gauge = NULL;
  kaon_status status = kaon_quda_make_links(links->lattice, &former->gauge);
  if (status == KAON_OK) status = kaon_gauge_copy(former->gauge, links->gauge);
  if (status != KAON_OK) kaon_gauge_destroy(&former->gauge);
  return status;
}

/* Sets *other to 1 if the links differ by more than the rounding of the client's precision. */
static kaon_status compare(const kaon_quda_links *a, const kaon_quda_links *b, int *other) {
  const size_t bytes = 72 * sizeof(double) * kaon_quda_sites(a->param.X);
  const int single =
      a->param.cpu_prec == QUDA_SINGLE_PRECISION || b->param.cpu_prec == QUDA_SINGLE_PRECISION;
  double *u[2] = {NULL, NULL}, different = 0;
  kaon_status status = kaon_quda_allocate(bytes, &u[0]);
  if (status == KAON_OK) status = kaon_quda_allocate(bytes, &u[1]);
  for (int i = 0; i < 2 && status == KAON_OK; i++)
    status = kaon_gauge_export(i == 0 ? a->gauge : b->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE,
                               (void *const[]){u[i]});
  for (size_t i = 0; i < bytes / sizeof(double) && status == KAON_OK; i++)
    if (!(fabs(u[0][i] - u[1][i]) <= (single ? 1e-5 : 1e-12))) different = 1;
  if (status == KAON_OK) status = kaon_quda_sum_ranks(&different);
  free(u[0]);
  free(u[1]);
  *other = different > 0;
  return status;
}

/* The loaded links replace those that the term was loaded with: if they are the same but for signs
 * and factors, the operator makes the term from them, else the term is made here. */
static kaon_status settle(kaon_quda_clover *clover) {
  const kaon_quda_links *links = &kaon_quda()->links[QUDA_WILSON_LINKS];
  int other = 1;
  kaon_status status = KAON_OK;
  if (clover->former.gauge == NULL) return KAON_OK;
  if (links->gauge != NULL) status = compare(&clover->former, links, &other);
  if (status == KAON_OK && other)
    status = compute(&clover->former, clover->param.clover_coeff, &clover->term);
  if (status != KAON_OK) return status;
  clover->of = links->gauge != NULL ? links->gauge : clover->of;
  kaon_gauge_destroy(&clover->former.gauge);
  return KAON_OK;
}

kaon_status kaon_quda_loaded_clover(const kaon_quda_clover **clover) {
  *clover = &kaon_quda()->clover;
  if ((*clover)->of != NULL) return settle(&kaon_quda()->clover);
  return kaon_quda_refuse(KAON_ERR_STATE, "no clover term is loaded; call loadCloverQuda() first");
}

/* ---- what is handed back ---- */

/* Gauss and Jordan's inverse of a Hermitian positive block, in place: a[row][column][re, im]. */
static void invert(double _Complex a[ROWS][ROWS]) {
  for (int k = 0; k < ROWS; k++) {
    const double _Complex pivot = 1.0 / a[k][k];
    a[k][k] = 1.0;
    for (int j = 0; j < ROWS; j++) a[k][j] *= pivot;
    for (int i = 0; i < ROWS; i++) {
      if (i == k) continue;
      const double _Complex factor = a[i][k];
      a[i][k] = 0.0;
      for (int j = 0; j < ROWS; j++) a[i][j] -= factor * a[k][j];
    }
  }
}

static void invert_block(double *block) {
  double _Complex a[ROWS][ROWS];
  double *below = block + ROWS;
  for (int column = 0; column < ROWS; column++) {
    a[column][column] = block[column];
    for (int row = column + 1; row < ROWS; row++, below += 2) {
      memcpy(&a[row][column], below, sizeof a[0][0]);
      const double conjugate[2] = {below[0], -below[1]};
      memcpy(&a[column][row], conjugate, sizeof conjugate);
    }
  }
  invert(a);
  below = block + ROWS;
  for (int column = 0; column < ROWS; column++) {
    memcpy(&block[column], &a[column][column], sizeof(double));
    for (int row = column + 1; row < ROWS; row++, below += 2)
      memcpy(below, &a[row][column], sizeof a[0][0]);
  }
}

static kaon_status hand_back(const kaon_quda_links *links, void *clover, void *inverse,
                             const QudaInvertParam *param) {
  const size_t sites = sites_of(links);
  if ((param->return_clover && clover == NULL) || (param->return_clover_inverse && inverse == NULL))
    return kaon_quda_refuse(
        KAON_ERR_ARGUMENT, "%s is set, but its array is NULL; pass an array or set it to 0",
        param->return_clover && clover == NULL ? "return_clover" : "return_clover_inverse");
  if (param->return_clover) give(kaon_quda()->clover.term, clover, param->clover_cpu_prec, sites);
  if (!param->return_clover_inverse) return KAON_OK;
  double *copy = NULL;
  const kaon_status status = make_room(sites, &copy);
  if (status != KAON_OK) return status;
  memcpy(copy, kaon_quda()->clover.term, 2 * sites * REALS * sizeof *copy);
  for (size_t block = 0; block < 4 * sites; block++) invert_block(copy + block * BLOCK);
  give(copy, inverse, param->clover_cpu_prec, sites);
  free(copy);
  return KAON_OK;
}

/* Sum over the sites of each parity of log |det A|. */
static kaon_status take_logs(const kaon_quda_links *links, QudaInvertParam *param) {
  kaon_operator *M = NULL;
  int64_t negative;
  param->trlogA[0] = param->trlogA[1] = NAN;
  if (param->dslash_type == QUDA_TWISTED_CLOVER_DSLASH) return KAON_OK; /* kaon has det A alone */
  kaon_status status = make_operator(links, param->clover_coeff, kaon_quda()->clover.term, &M);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++)
    status = kaon_dirac_clover_logdet(M, (kaon_parity)parity, &param->trlogA[parity], &negative);
  kaon_operator_destroy(&M);
  return status;
}

/* ---- calls ---- */

static kaon_status coefficient_of(QudaInvertParam *param) {
  if (param->clover_coeff == 0.0) param->clover_coeff = param->kappa * param->clover_csw;
  if (param->clover_coeff != 0.0) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "clover_coeff and clover_csw are both 0; set clover_coeff to kappa csw");
}

kaon_status kaon_quda_load_clover(void *clover, void *inverse, QudaInvertParam *param) {
  const kaon_quda_links *links = NULL;
  kaon_quda_clover *loaded = &kaon_quda()->clover;
  const int computed = clover == NULL || param->compute_clover;
  const int returned = param->return_clover || param->return_clover_inverse;
  kaon_status status = kaon_quda_loaded(QUDA_WILSON_LINKS, &links);
  if (status == KAON_OK) status = check(param, !computed, returned);
  if (status == KAON_OK && param->clover_rho != 0.0)
    status = kaon_quda_refuse(KAON_ERR_UNSUPPORTED, "clover_rho is %g, but must be 0",
                              param->clover_rho);
  if (status == KAON_OK && computed) status = coefficient_of(param);
  if (status != KAON_OK) return status;
  freeCloverQuda();
  kaon_quda_forget(links->gauge);
  loaded->of = links->gauge;
  const client c = {clover, param->clover_order, param->clover_cpu_prec, sites_of(links)};
  /* The operator makes the term from links in SU(3). Of other links it is made here. */
  if (!computed)
    status = take_over(&c, &loaded->term);
  else if (returned || !links->special_unitary || links->anisotropy != 1.0)
    status = compute(links, param->clover_coeff, &loaded->term);
  if (status == KAON_OK && returned) status = hand_back(links, clover, inverse, param);
  if (status == KAON_OK && param->compute_clover_trlog) status = take_logs(links, param);
  loaded->param = *param;
  if (status != KAON_OK) freeCloverQuda();
  return status;
}

void loadCloverQuda(void *h_clover, void *h_clovinv, QudaInvertParam *inv_param) {
  KAON_QUDA_NEED(inv_param);
  kaon_quda_check(__func__, kaon_quda_load_clover(h_clover, h_clovinv, inv_param));
}

void createCloverQuda(QudaInvertParam *param) {
  kaon_quda_check(__func__, kaon_quda_load_clover(NULL, NULL, param));
}

void freeCloverQuda(void) {
  kaon_quda_clover *loaded = &kaon_quda()->clover;
  if (loaded->of != NULL) kaon_quda_forget(loaded->of);
  kaon_gauge_destroy(&loaded->former.gauge);
  free(loaded->term);
  memset(loaded, 0, sizeof *loaded);
}

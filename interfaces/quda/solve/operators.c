/* operators.c - operators that QudaInvertParam describes. Contract: operators.h.
 *
 * QUDA's operators in terms of kaon's, with f = 2 kappa, and 1 / (5 + m5) for domain walls:
 *
 *   Wilson, clover, twisted mass   M, and 1 - kappa^2 ... of one parity, are kaon's
 *   domain wall                    f M; symmetric form: kaon's; asymmetric form: f times kaon's
 *   staggered                      2 m - D = -K(-m), where K(m) = 2 m + D is kaon's; the adjoint is
 *                                  K(m). On one parity 4 m^2 - D D, which is kaon's
 *
 * Normalisations divide by powers of f (the table `powers`). Staggered ones divide by 2 m with
 * KAPPA, once on one parity too. A^dagger A has the square of A's factor. */
#include "operators.h"

#include <kaon/staggered.h>

#include <float.h>
#include <math.h>

#include "spinors.h"

/* Places in a key: of M, of A, and of numbers. */
enum { FAMILY, CLOVER, LS };
enum { REDUCED, FORM, PARITY, ADJOINT, NORMAL };
enum { KAPPA, CSW, MU, MASS, M5, ANISOTROPY };

typedef enum family { DIRAC, DOMAIN_WALL, STAGGERED } family;

typedef struct dslash {
  QudaDslashType type;
  family family;
  int clover, twisted, improved;
} dslash;

static const dslash dslashes[] = {
    {QUDA_WILSON_DSLASH, DIRAC, 0, 0, 0},
    {QUDA_CLOVER_WILSON_DSLASH, DIRAC, 1, 0, 0},
    {QUDA_TWISTED_MASS_DSLASH, DIRAC, 0, 1, 0},
    {QUDA_TWISTED_CLOVER_DSLASH, DIRAC, 1, 1, 0},
    {QUDA_DOMAIN_WALL_4D_DSLASH, DOMAIN_WALL, 0, 0, 0},
    {QUDA_DOMAIN_WALL_DSLASH, DOMAIN_WALL, 0, 0, 0},
    {QUDA_STAGGERED_DSLASH, STAGGERED, 0, 0, 0},
    {QUDA_ASQTAD_DSLASH, STAGGERED, 0, 0, 1},
};

/* By pc and QudaMassNormalization. */
static const int powers[2][3] = {{0, 1, 1}, {0, 2, 1}};

/* ---- tables ---- */

kaon_status kaon_quda_solution_of(QudaSolutionType type, int *pc, int *normal) {
  *pc = type >= QUDA_MATPC_SOLUTION;
  *normal = type == QUDA_MATDAG_MAT_SOLUTION || type == QUDA_MATPCDAG_MATPC_SOLUTION;
  if (type >= QUDA_MAT_SOLUTION && type <= QUDA_MATPCDAG_MATPC_SOLUTION) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "solution_type is %d, but must be MAT (%d), MATDAG_MAT (%d), MATPC (%d), "
                          "MATPC_DAG (%d) or MATPCDAG_MATPC (%d)",
                          (int)type, (int)QUDA_MAT_SOLUTION, (int)QUDA_MATDAG_MAT_SOLUTION,
                          (int)QUDA_MATPC_SOLUTION, (int)QUDA_MATPC_DAG_SOLUTION,
                          (int)QUDA_MATPCDAG_MATPC_SOLUTION);
}

static kaon_status find_dslash(QudaDslashType type, const dslash **found) {
  for (size_t i = 0; i < sizeof dslashes / sizeof dslashes[0]; i++)
    if (dslashes[i].type == type) {
      *found = &dslashes[i];
      return KAON_OK;
    }
  return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                          "dslash_type is %d, but must be Wilson (%d), clover (%d), twisted mass "
                          "(%d), twisted clover (%d), domain wall of Shamir (%d, %d), staggered "
                          "(%d) or asqtad (%d)",
                          (int)type, (int)QUDA_WILSON_DSLASH, (int)QUDA_CLOVER_WILSON_DSLASH,
                          (int)QUDA_TWISTED_MASS_DSLASH, (int)QUDA_TWISTED_CLOVER_DSLASH,
                          (int)QUDA_DOMAIN_WALL_DSLASH, (int)QUDA_DOMAIN_WALL_4D_DSLASH,
                          (int)QUDA_STAGGERED_DSLASH, (int)QUDA_ASQTAD_DSLASH);
}

/* The form of one parity; without need of one, any. */
static kaon_status find_matpc(QudaMatPCType type, int needed, kaon_quda_request *request) {
  const int odd = type == QUDA_MATPC_ODD_ODD || type == QUDA_MATPC_ODD_ODD_ASYMMETRIC;
  const int asymmetric =
      type == QUDA_MATPC_EVEN_EVEN_ASYMMETRIC || type == QUDA_MATPC_ODD_ODD_ASYMMETRIC;
  request->parity = odd ? KAON_ODD : KAON_EVEN;
  request->form = asymmetric ? KAON_EVEN_ODD_ASYMMETRIC : KAON_EVEN_ODD_SYMMETRIC;
  if (odd || asymmetric || type == QUDA_MATPC_EVEN_EVEN || !needed) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT, "matpc_type is %d, but must be from %d to %d",
                          (int)type, (int)QUDA_MATPC_EVEN_EVEN, (int)QUDA_MATPC_ODD_ODD_ASYMMETRIC);
}

kaon_status kaon_quda_in_range(const char *member, double value, double least, double most) {
  if (value == DBL_MIN || value == QUDA_INVALID_ENUM)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "QudaInvertParam.%s is not set; set it before this call", member);
  if (value >= least && value <= most) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "QudaInvertParam.%s is %.10g, but must be from %.10g to %.10g", member,
                          value, least, most);
}

static kaon_status need_number(double number, const char *member) {
  return kaon_quda_in_range(member, number, -1e300, 1e300);
}

/* ---- what the operator is made of ---- */

static kaon_status ask_dirac(const QudaInvertParam *param, const dslash *d, kaon_quda_key *key) {
  const kaon_quda_clover *clover = NULL;
  kaon_status status = need_number(param->kappa, "kappa");
  key->number[KAPPA] = param->kappa;
  if (status == KAON_OK && d->twisted) {
    status = need_number(param->mu, "mu");
    if (status == KAON_OK && (param->twist_flavor != QUDA_TWIST_SINGLET ||
                              (param->tm_rho != 0 && param->tm_rho != DBL_MIN)))
      status = kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                                "twist_flavor is %d and tm_rho is %g, but must be %d (singlet) "
                                "and 0",
                                (int)param->twist_flavor, param->tm_rho, (int)QUDA_TWIST_SINGLET);
    key->number[MU] = param->mu;
  }
  if (status == KAON_OK && d->clover) status = kaon_quda_loaded_clover(&clover);
  if (status != KAON_OK || clover == NULL) return status;
  key->option[CLOVER] = clover->term != NULL ? 2 : 1;
  if (clover->term == NULL) key->number[CSW] = clover->param.clover_coeff / param->kappa;
  return KAON_OK;
}

static kaon_status ask_domain_wall(const QudaInvertParam *param, const kaon_quda_use *use,
                                   kaon_quda_key *key) {
  if (param->dslash_type == QUDA_DOMAIN_WALL_DSLASH && (use->pc || use->site))
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "dslash_type is %d (five-dimensional parity), which is not offered on "
                            "one parity; use %d (four-dimensional parity)",
                            (int)QUDA_DOMAIN_WALL_DSLASH, (int)QUDA_DOMAIN_WALL_4D_DSLASH);
  kaon_status status = need_number(param->mass, "mass");
  if (status == KAON_OK) status = need_number(param->m5, "m5");
  key->number[MASS] = param->mass;
  key->number[M5] = -param->m5; /* QUDA's sign */
  key->option[LS] = param->Ls;
  return status;
}

static kaon_status ask_links(const dslash *d, kaon_quda_request *request) {
  const kaon_quda_links *naik = NULL;
  kaon_quda_key *key = &request->key;
  kaon_status status =
      kaon_quda_loaded(d->improved ? QUDA_ASQTAD_FAT_LINKS : QUDA_WILSON_LINKS, &request->links);
  if (status == KAON_OK && d->improved) status = kaon_quda_loaded(QUDA_ASQTAD_LONG_LINKS, &naik);
  if (status != KAON_OK) return status;
  if (naik != NULL && naik->lattice != request->links->lattice)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "t_boundary of the fat links is %d and of the long links %d; load both "
                            "with the same value",
                            (int)request->links->param.t_boundary, (int)naik->param.t_boundary);
  if (d->family == STAGGERED && naik == NULL && !request->links->param.staggered_phase_applied)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "dslash_type is %d (staggered), but the links were loaded with "
                            "staggered_phase_applied = 0; load links that contain the phases, "
                            "and set it to 1",
                            (int)d->type);
  const QudaReconstructType stored = request->links->param.reconstruct_sloppy;
  request->reconstruct = KAON_RECONSTRUCT_18;
  if (request->links->special_unitary && stored == QUDA_RECONSTRUCT_12)
    request->reconstruct = KAON_RECONSTRUCT_12;
  if (request->links->special_unitary && stored == QUDA_RECONSTRUCT_8)
    request->reconstruct = KAON_RECONSTRUCT_8;
  if (naik != NULL && naik->param.reconstruct_sloppy == QUDA_RECONSTRUCT_13)
    request->reconstruct = KAON_RECONSTRUCT_12; /* long links: 12 and a number */
  key->links[0] = request->links->gauge;
  key->links[1] = naik != NULL ? naik->gauge : NULL;
  key->number[ANISOTROPY] = request->links->anisotropy;
  return KAON_OK;
}

kaon_status kaon_quda_check_factor(const QudaInvertParam *param, double factor) {
  if (factor != 0 && isfinite(factor)) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "mass_normalization %d multiplies the operator by %g, because mass is "
                          "%g, kappa %g and m5 %g; use another mass_normalization or other values",
                          (int)param->mass_normalization, factor, param->mass, param->kappa,
                          param->m5);
}

/* Sets the factor, and for staggered quarks the sign of the mass. */
static kaon_status normalise(const QudaInvertParam *param, const dslash *d,
                             const kaon_quda_use *use, int dagger, kaon_quda_request *request) {
  kaon_quda_key *key = &request->key;
  const QudaMassNormalization norm = param->mass_normalization;
  double unit = 2 * param->kappa, sign = 1;
  if (norm < QUDA_KAPPA_NORMALIZATION || norm > QUDA_ASYMMETRIC_MASS_NORMALIZATION)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "mass_normalization is %d, but must be %d (kappa), %d (mass) or %d "
                            "(asymmetric mass)",
                            (int)norm, (int)QUDA_KAPPA_NORMALIZATION, (int)QUDA_MASS_NORMALIZATION,
                            (int)QUDA_ASYMMETRIC_MASS_NORMALIZATION);
  int power = powers[use->pc][norm];
  if (d->family == DOMAIN_WALL) {
    unit = 1 / (5 + param->m5);
    if (!use->pc || request->form == KAON_EVEN_ODD_ASYMMETRIC) power--;
  } else if (d->family == STAGGERED) {
    unit = 2 * param->mass;
    power = norm == QUDA_KAPPA_NORMALIZATION;
    if (!use->pc && !dagger) {
      key->number[MASS] = -key->number[MASS];
      sign = -1;
    }
  }
  request->factor = sign * pow(unit, -power);
  if (use->normal) request->factor *= request->factor;
  return kaon_quda_check_factor(param, request->factor);
}

/* How the adjoint is had. */
static void turn(const dslash *d, const kaon_quda_use *use, int dagger,
                 kaon_quda_request *request) {
  kaon_quda_key *key = &request->key;
  if (d->family == STAGGERED || !dagger) return;
  if (d->family == DIRAC && !use->apply && !use->normal && !(use->pc && use->reduced)) {
    request->turned = 1;
    if (key->number[MU] != 0) key->number[MU] = -key->number[MU]; /* no -0 */
    return;
  }
  request->adjoint = 1;
  if (use->apply) return;
  key->form[ADJOINT] = 1;
  if (!use->pc) key->form[REDUCED] = 0; /* the reduction is not that of the adjoint */
}

kaon_status kaon_quda_ask(const QudaInvertParam *param, const kaon_quda_use *use,
                          kaon_quda_request *request) {
  const dslash *d = NULL;
  kaon_quda_key *key = &request->key;
  int dagger = param->dagger == QUDA_DAG_YES;
  *request = (kaon_quda_request){.factor = 1, .pc = use->pc};
  kaon_status status = find_dslash(param->dslash_type, &d);
  if (status == KAON_OK)
    status = kaon_quda_in_range("dagger", param->dagger, QUDA_DAG_NO, QUDA_DAG_YES);
  if (status == KAON_OK) status = find_matpc(param->matpc_type, use->reduced || use->pc, request);
  if (status == KAON_OK) status = ask_links(d, request);
  if (status != KAON_OK) return status;
  request->wilson = d->family != STAGGERED;
  request->embedded = use->pc && !use->reduced && !use->site;
  request->hermitian = use->normal || (d->family == STAGGERED && use->reduced);
  key->option[FAMILY] = d->family;
  if (d->family == DIRAC) status = ask_dirac(param, d, key);
  if (d->family == DOMAIN_WALL) status = ask_domain_wall(param, use, key);
  if (d->family == STAGGERED && !use->site) status = need_number(param->mass, "mass");
  /* Without a mass, a reduction has one whose square is below the rounding of D D. */
  if (d->family == STAGGERED)
    key->number[MASS] = param->mass == 0 && use->pc && use->reduced ? 1e-100 : param->mass;
  if (status != KAON_OK || use->site) return status;
  if (use->reduced) {
    key->form[REDUCED] = 1;
    key->form[FORM] = request->form;
    key->form[PARITY] = request->parity;
  }
  if (d->family == STAGGERED && use->pc && use->normal)
    return kaon_quda_refuse(
        KAON_ERR_UNSUPPORTED,
        "solution_type is MATPCDAG_MATPC (%d), which staggered operators do not "
        "offer; use MATPC (%d), which is Hermitian",
        (int)QUDA_MATPCDAG_MATPC_SOLUTION, (int)QUDA_MATPC_SOLUTION);
  if (param->solution_type == QUDA_MATPC_DAG_SOLUTION) dagger = !dagger;
  key->form[NORMAL] = use->normal && !use->apply;
  status = normalise(param, d, use, dagger, request);
  turn(d, use, dagger, request);
  return status;
}

/* ---- operators ---- */

static kaon_status make_dirac(const kaon_quda_key *key, kaon_gauge *links, kaon_operator **M) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  const kaon_quda_clover *clover;
  options.kappa = key->number[KAPPA];
  options.csw = key->number[CSW];
  options.mu = key->number[MU];
  options.anisotropy = key->number[ANISOTROPY];
  if (key->option[CLOVER] != 2) return kaon_dirac_create(links, &options, M);
  const kaon_status status = kaon_quda_loaded_clover(&clover);
  if (status != KAON_OK) return status;
  return kaon_dirac_create_clover(links, &options, KAON_ORDER_MILC, KAON_DOUBLE, clover->term, M);
}

static kaon_status make_whole(const kaon_quda_key *key, kaon_operator **M) {
  kaon_gauge *links = (kaon_gauge *)(uintptr_t)key->links[0],
             *naik = (kaon_gauge *)(uintptr_t)key->links[1];
  kaon_domain_wall_options wall = KAON_DOMAIN_WALL_OPTIONS_INIT;
  kaon_staggered_options staggered = KAON_STAGGERED_OPTIONS_INIT;
  wall.mass = staggered.mass = key->number[MASS];
  wall.m5 = key->number[M5];
  wall.ls = key->option[LS];
  if (key->option[FAMILY] == DIRAC) return make_dirac(key, links, M);
  if (key->option[FAMILY] == DOMAIN_WALL) return kaon_domain_wall_create(links, &wall, M);
  return kaon_staggered_create(links, naik, &staggered, M);
}

static kaon_status reduce(const kaon_quda_key *key, kaon_operator *M, kaon_operator **A) {
  kaon_even_odd_options options = KAON_EVEN_ODD_OPTIONS_INIT;
  options.form = (kaon_even_odd)key->form[FORM];
  options.parity = (kaon_parity)key->form[PARITY];
  if (key->option[FAMILY] == STAGGERED) return kaon_staggered_even_odd(M, options.parity, A);
  return kaon_dirac_even_odd(M, &options, A);
}

/* Puts another operator in the place of A, which retains it. */
static kaon_status wrap(kaon_status (*create)(kaon_operator *, kaon_operator **), kaon_operator *M,
                        kaon_operator **A) {
  kaon_operator *inner = *A;
  const kaon_status status = create(inner, A);
  if (inner != M) kaon_operator_destroy(&inner);
  return status;
}

kaon_status kaon_quda_make_operators(const kaon_quda_key *key, kaon_operator **M,
                                     kaon_operator **A) {
  const int shared = *M != NULL;
  *A = NULL;
  kaon_status status = shared ? KAON_OK : make_whole(key, M);
  if (status != KAON_OK) return status;
  *A = *M;
  if (key->form[REDUCED]) status = reduce(key, *M, A);
  if (status == KAON_OK && key->form[ADJOINT]) status = wrap(kaon_operator_adjoint, *M, A);
  if (status == KAON_OK && key->form[NORMAL]) status = wrap(kaon_operator_normal, *M, A);
  if (status != KAON_OK) {
    *A = NULL;
    if (!shared) kaon_operator_destroy(M);
  }
  return status;
}

kaon_status kaon_quda_update_operator(const kaon_quda_key *key, kaon_operator *M) {
  const kaon_quda_clover *clover;
  if (key->option[FAMILY] == STAGGERED) return kaon_staggered_update(M);
  if (key->option[CLOVER] != 2) return kaon_dirac_update(M);
  const kaon_status status = kaon_quda_loaded_clover(&clover);
  if (status != KAON_OK) return status;
  return kaon_dirac_set_clover(M, KAON_ORDER_MILC, KAON_DOUBLE, clover->term);
}

/* ---- vectors ---- */

kaon_status kaon_quda_sloppy(const QudaInvertParam *param, kaon_precision *sloppy) {
  const int set = param->cuda_prec_sloppy != QUDA_INVALID_PRECISION;
  return kaon_quda_precision(set ? param->cuda_prec_sloppy : param->cuda_prec, sloppy);
}

kaon_status kaon_quda_check_columns(int columns) {
  return kaon_quda_in_range("num_src", columns, 1, QUDA_MAX_MULTI_SRC);
}

const kaon_space *kaon_quda_space(const kaon_quda_request *request, kaon_parity parity) {
  const int ls = request->key.option[LS];
  return request->wilson ? kaon_lattice_spinors_5d(request->links->lattice, ls > 1 ? ls : 1, parity)
                         : kaon_lattice_staggered(request->links->lattice, parity);
}

kaon_status kaon_quda_vector(const kaon_quda_request *request, kaon_parity parity, int columns,
                             kaon_vector **vector) {
  return kaon_vector_create(kaon_quda()->ctx, kaon_quda_space(request, parity), KAON_DOUBLE,
                            columns, vector);
}

static kaon_quda_spinor_layout layout(const QudaInvertParam *param, QudaFieldLocation location) {
  const int five = param->dslash_type == QUDA_DOMAIN_WALL_DSLASH;
  const int slices = five || param->dslash_type == QUDA_DOMAIN_WALL_4D_DSLASH ? param->Ls : 0;
  return (kaon_quda_spinor_layout){.order = param->dirac_order,
                                   .precision = param->cpu_prec,
                                   .basis = param->gamma_basis,
                                   .location = location,
                                   .slices = slices,
                                   .parity_of_five = five};
}

kaon_status kaon_quda_import(const QudaInvertParam *param, void **arrays, kaon_vector *vector) {
  const kaon_quda_spinor_layout from = layout(param, param->input_location);
  kaon_status status = KAON_OK;
  for (int k = 0; k < kaon_vector_columns(vector) && status == KAON_OK; k++)
    status = kaon_quda_import_spinor(vector, k, arrays[k], 0, &from);
  return status;
}

kaon_status kaon_quda_export(const QudaInvertParam *param, const kaon_vector *vector,
                             void **arrays) {
  const kaon_quda_spinor_layout to = layout(param, param->output_location);
  kaon_status status = KAON_OK;
  for (int k = 0; k < kaon_vector_columns(vector) && status == KAON_OK; k++)
    status = kaon_quda_export_spinor(vector, k, arrays[k], 0, &to);
  return status;
}

kaon_status kaon_quda_scale(kaon_vector *vector, double factor) {
  double factors[QUDA_MAX_MULTI_SRC][2] = {{0}};
  if (factor == 1) return KAON_OK;
  for (int k = 0; k < QUDA_MAX_MULTI_SRC; k++) factors[k][0] = factor;
  return kaon_vector_scale((const double(*)[2])factors, vector);
}

/* load_links.c - links of clients: loaded, saved, freed. Contract: fields.h.
 * Links of Wilson-like operators lose the signs and factors that an operator of kaon multiplies by
 * itself. Links of staggered operators lose the staggered phases. Those that are loaded as Wilson
 * links keep a sign at the boundary: their operators live on a periodic lattice. All are put back
 * when links are saved. */
#include "fields.h"

#include <kaon/staggered.h>

#include <stdlib.h>
#include <string.h>

#include "system.h"

static kaon_status find(QudaLinkType type, kaon_quda_links **links) {
  if ((int)type < 0 || (int)type >= KAON_QUDA_LINK_TYPES)
    return kaon_quda_refuse(
        KAON_ERR_ARGUMENT,
        "type of the links is %d, but must be %d (Wilson), %d (fat) or %d (long)", (int)type,
        (int)QUDA_WILSON_LINKS, (int)QUDA_ASQTAD_FAT_LINKS, (int)QUDA_ASQTAD_LONG_LINKS);
  *links = &kaon_quda()->links[type];
  return KAON_OK;
}

kaon_status kaon_quda_loaded(QudaLinkType type, const kaon_quda_links **links) {
  static const char *const names[KAON_QUDA_LINK_TYPES] = {"Wilson", "fat", "long"};
  kaon_quda_links *found = NULL;
  const kaon_status status = find(type, &found);
  *links = found;
  if (status != KAON_OK || found->gauge != NULL) return status;
  return kaon_quda_refuse(KAON_ERR_STATE,
                          "no %s links are loaded; call loadGaugeQuda() with type %d first",
                          names[type], (int)type);
}

static void drop(kaon_quda_links *links) {
  if (links->gauge != NULL) kaon_quda_forget(links->gauge);
  kaon_gauge_destroy(&links->gauge);
  memset(links, 0, sizeof *links);
}

/* Sites that a link of a staggered operator reaches; 0: links of a Wilson-like operator. */
static int steps(const QudaGaugeParam *param) {
  if (param->type == QUDA_WILSON_LINKS) return param->staggered_phase_applied ? 1 : 0;
  return param->type == QUDA_ASQTAD_LONG_LINKS ? 3 : 1;
}

/* ---- loading ---- */

kaon_status kaon_quda_make_links(kaon_lattice *lattice, kaon_gauge **links) {
  return kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links);
}

/* Gives the links a field on the lattice with this boundary. A field that is there is used again,
 * so that multigrid operators made of it can be updated. */
static kaon_status make_field(kaon_quda_links *links, const QudaGaugeParam *param,
                              kaon_boundary boundary) {
  kaon_lattice *lattice = NULL;
  const kaon_status status = kaon_quda_lattice(param->X, boundary, &lattice);
  if (status != KAON_OK) return status;
  if (links->gauge != NULL && links->lattice != lattice) drop(links);
  links->lattice = lattice;
  if (links->gauge != NULL) return KAON_OK;
  return kaon_quda_make_links(lattice, &links->gauge);
}

/* Takes links of SU(3). UNITARITY: they are not. */
static kaon_status load_su3(kaon_quda_links *links, const void *array,
                            const QudaGaugeParam *param) {
  const int antiperiodic = param->t_boundary == QUDA_ANTI_PERIODIC_T;
  const double space = 1.0 / param->anisotropy;
  const kaon_link_factors factors = {{space, space, space, 1.0}, antiperiodic};
  kaon_status status = make_field(links, param, antiperiodic ? KAON_ANTIPERIODIC : KAON_PERIODIC);
  if (status == KAON_OK) status = kaon_quda_import_links(links->gauge, array, param, &factors);
  links->anisotropy = space;
  links->special_unitary = 1;
  return status;
}

/* Takes any matrices. Fat and long links lose the sign at the boundary too. */
static kaon_status load_any(kaon_quda_links *links, const void *array,
                            const QudaGaugeParam *param) {
  const int antiperiodic =
      param->type != QUDA_WILSON_LINKS && param->t_boundary == QUDA_ANTI_PERIODIC_T;
  kaon_status status = make_field(links, param, antiperiodic ? KAON_ANTIPERIODIC : KAON_PERIODIC);
  if (status == KAON_OK) status = kaon_quda_import_links(links->gauge, array, param, NULL);
  if (status == KAON_OK && steps(param) > 0)
    status = kaon_staggered_fold(links->gauge, steps(param), KAON_PHASES_MILC);
  links->anisotropy = 1.0;
  links->special_unitary = 0;
  return status;
}

/* With use_resident_gauge, links and their parameters stay as they are. */
kaon_status kaon_quda_load(const void *array, const QudaGaugeParam *param) {
  kaon_quda_links *links = NULL;
  const kaon_quda_links *resident;
  kaon_status status = find(param->type, &links);
  if (status != KAON_OK) return status;
  if (param->use_resident_gauge) return kaon_quda_loaded(param->type, &resident);
  if (!(param->anisotropy > 0.0))
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "anisotropy is %g, but must be above 0",
                            param->anisotropy);
  if (param->t_boundary != QUDA_ANTI_PERIODIC_T && param->t_boundary != QUDA_PERIODIC_T)
    return kaon_quda_refuse(
        KAON_ERR_ARGUMENT, "t_boundary is %d, but must be %d (antiperiodic) or %d (periodic)",
        (int)param->t_boundary, (int)QUDA_ANTI_PERIODIC_T, (int)QUDA_PERIODIC_T);
  if (links->gauge != NULL) kaon_quda_forget(links->gauge);
  status = kaon_quda_clover_keeps(links, 0);
  if (status != KAON_OK) return status;
  if (steps(param) == 0) status = load_su3(links, array, param);
  if (steps(param) > 0 || status == KAON_ERR_UNITARITY) status = load_any(links, array, param);
  links->param = *param;
  links->digest = 0;
  if (status != KAON_OK) drop(links);
  return status;
}

void loadGaugeQuda(void *h_gauge, QudaGaugeParam *param) {
  KAON_QUDA_NEED(param);
  kaon_quda_check(__func__, kaon_quda_load(h_gauge, param));
}

/* ---- saving ---- */

kaon_status kaon_quda_multiply_links(kaon_gauge *links, const QudaGaugeParam *param,
                                     kaon_quda_link_factor *factor) {
  int part[4], origin[4], extents[4];
  kaon_lattice_part(kaon_gauge_lattice(links), part, origin, NULL);
  kaon_lattice_extents(kaon_gauge_lattice(links), extents);
  const int volume = part[0] * part[1] * part[2] * part[3];
  double(*u)[4][18];
  kaon_status status = kaon_quda_allocate((size_t)volume * sizeof *u, &u);
  if (status != KAON_OK) return status;
  status = kaon_gauge_export(links, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *const[]){u});
  for (int site = 0; site < volume && status == KAON_OK; site++) {
    int x[4];
    for (int d = 0, rest = site; d < 4; rest /= part[d], d++) x[d] = origin[d] + rest % part[d];
    for (int mu = 0; mu < 4; mu++) {
      const double by = factor(x, mu, extents, param);
      for (int c = 0; c < 18; c++) u[site][mu][c] *= by;
    }
  }
  if (status == KAON_OK)
    status = kaon_gauge_import_matrices(links, KAON_ORDER_NATURAL, KAON_DOUBLE,
                                        (const void *const[]){u});
  free(u);
  return status;
}

/* The factor that load_su3() divided out. */
static double factor(const int x[4], int mu, const int extents[4],
                     const QudaGaugeParam *as_loaded) {
  if (mu < 3) return 1.0 / as_loaded->anisotropy;
  return as_loaded->t_boundary == QUDA_ANTI_PERIODIC_T && x[3] == extents[3] - 1 ? -1.0 : 1.0;
}

kaon_status kaon_quda_as_loaded(const kaon_quda_links *links, kaon_gauge **copy) {
  kaon_status status = kaon_quda_make_links(links->lattice, copy);
  if (status == KAON_OK) status = kaon_gauge_copy(*copy, links->gauge);
  if (status == KAON_OK && links->special_unitary)
    return kaon_quda_multiply_links(*copy, &links->param, factor);
  if (status == KAON_OK && steps(&links->param) > 0)
    status = kaon_staggered_fold(*copy, steps(&links->param), KAON_PHASES_MILC);
  return status;
}

void saveGaugeQuda(void *h_gauge, QudaGaugeParam *param) {
  KAON_QUDA_NEED(param);
  const kaon_quda_links *links = NULL;
  kaon_gauge *copy = NULL;
  kaon_status status = kaon_quda_loaded(param->type, &links);
  if (status == KAON_OK) status = kaon_quda_as_loaded(links, &copy);
  if (status == KAON_OK) status = kaon_quda_export_links(copy, h_gauge, param);
  kaon_gauge_destroy(&copy);
  kaon_quda_check(__func__, status);
}

/* ---- freeing ---- */

void freeUniqueGaugeQuda(QudaLinkType link_type) {
  const int kept = (int)link_type >= 0 && (int)link_type < KAON_QUDA_LINK_TYPES;
  if (!kept) return;
  kaon_quda_check(__func__, kaon_quda_clover_keeps(&kaon_quda()->links[link_type], 1));
  drop(&kaon_quda()->links[link_type]);
}

void freeGaugeQuda(void) {
  for (int i = 0; i < KAON_QUDA_LINK_TYPES; i++) freeUniqueGaugeQuda((QudaLinkType)i);
}

/* Neither is kept. */
void freeGaugeSmearedQuda(void) {}
void freeGaugeTwoLinkQuda(void) {}

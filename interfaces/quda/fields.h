/* fields.h - links and clover terms that clients have loaded, until they are freed or replaced.
 * loadGaugeQuda() and loadCloverQuda() fill them, solves and observables read them. */
#pragma once

#include "quda.h"
#include "state.h"

/* Links of one type: QUDA_WILSON_LINKS, QUDA_ASQTAD_FAT_LINKS, QUDA_ASQTAD_LONG_LINKS. */
typedef struct kaon_quda_links {
  QudaGaugeParam param;  /* as they were loaded */
  kaon_lattice *lattice; /* its boundary is the one that the operator must have */
  kaon_gauge *gauge;     /* NULL: none loaded. Without the signs and factors that the operator
                            multiplies by itself; 18 reals in double */
  double anisotropy;     /* factor of spatial hops that was divided out of the links; 1: none */
  int special_unitary;   /* 1: in SU(3), so they may be compressed. 0: any matrices, such as links
                            with U(1) phases; the operator has 18 reals then */
} kaon_quda_links;

/* A clover term. */
typedef struct kaon_quda_clover {
  QudaInvertParam param; /* as it was loaded */
  int loaded;
  double *term; /* 72 reals a site, even sites first (kaon_dirac_create_clover(), KAON_ORDER_MILC).
                   NULL: made from the Wilson links, with the product kappa csw of
                   param.clover_coeff */
} kaon_quda_clover;

/* What is loaded. Errors: ARGUMENT (a type that kaon does not keep), STATE (nothing loaded; the
 * sentence names the call that is missing). */
kaon_status kaon_quda_loaded(QudaLinkType type, const kaon_quda_links **links);
kaon_status kaon_quda_loaded_clover(const kaon_quda_clover **clover);

/* Links from an array of a client, in any QudaGaugeFieldOrder, precision and location (param), into
 * a field of 18 reals in double as they are: signs and factors are not touched. */
kaon_status kaon_quda_import_links(kaon_gauge *gauge, const void *array,
                                   const QudaGaugeParam *param);
/* The same for links in SU(3) after `factors` were divided out. Errors: UNITARITY (the field is then
 * unchanged). */
kaon_status kaon_quda_import_su3(kaon_gauge *gauge, const void *array, const QudaGaugeParam *param,
                                 const kaon_link_factors *factors);
kaon_status kaon_quda_export_links(const kaon_gauge *gauge, void *array,
                                   const QudaGaugeParam *param);

/* The number that multiplies the link of direction mu at a site x of the whole lattice, which has
 * `extents`. */
typedef double kaon_quda_link_factor(const int x[4], int mu, const int extents[4],
                                     const QudaGaugeParam *param);
/* Multiplies all links of a field of 18 reals in double. */
kaon_status kaon_quda_multiply_links(kaon_gauge *links, const QudaGaugeParam *param,
                                     kaon_quda_link_factor *factor);

/* inner_term.h - operators M = T + c D on spinors with a fifth dimension, in the frame of
 * dslash/operator/frame.h. D is the hop of Wilson operators at every site of the fifth dimension. T is a
 * real matrix between these sites for each chirality. An action names the elements of T and T^-1;
 * the rest of its row is made of these functions and of those of dslash/wilson/wilson.h. */
#pragma once

#include "dslash/wilson/wilson.h"

typedef struct kaon_inner_family kaon_inner_family;
/* Element (s, t) of T or T^-1 on chirality 0 (+) or 1 (-). */
typedef double kaon_inner_element(const kaon_inner_family *family, kaon_site_kind kind,
                                  int chirality, int s, int t);

struct kaon_inner_family {
  kaon_dirac_family base; /* csw and twist are 0 */
  kaon_inner_element *element;
  double mass, m5;
};

typedef struct kaon_inner_fields {
  kaon_dirac_fields base;
  /* T and T^-1, each followed by its transpose, as kaon_inner_args.matrix; NULL: not stored */
  void *matrix[KAON_SITE_KINDS];
} kaon_inner_fields;

kaon_status kaon_inner_fill(kaon_fields *fields, unsigned sites);
void kaon_inner_fields_release(kaon_fields *fields);
kaon_status kaon_inner_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                           const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                           const kaon_pass *pass);
kaon_status kaon_inner_site(const kaon_fields *fields, int parity, kaon_mode mode,
                            kaon_site_kind kind, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass);
/* The diagonal of T, without gamma_5. */
kaon_status kaon_inner_diagonal(const kaon_family *family, double *host);

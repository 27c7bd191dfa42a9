/* operators.h - from QudaInvertParam and the loaded links to an operator of kaon. */
#pragma once

#include "fields.h"
#include "system.h"

/* What a client asks for. Its operator is `factor` times that of the key. */
typedef struct kaon_quda_request {
  kaon_quda_key key;
  int pc; /* 1: the client's vectors are on the sites of `parity` alone */
  kaon_parity parity;
  kaon_even_odd form;
  double factor;
  int adjoint;   /* 1: its adjoint is meant; solves have it in the key */
  int turned;    /* 1: the adjoint of M on all sites, as gamma_5 M(-mu) gamma_5 */
  int embedded;  /* 1: a system of one parity that is solved on all sites (multigrid) */
  int hermitian; /* 1: and positive definite */
  int wilson;    /* 0: staggered */
  const kaon_quda_links *links;
  kaon_reconstruct reconstruct; /* of links inside solves, as they were loaded */
} kaon_quda_request;

/* How it is to be applied or solved. */
typedef struct kaon_quda_use {
  int pc;      /* on one parity */
  int reduced; /* by the even-odd reduction; follows from pc unless all sites are solved for */
  int normal;  /* 1: A^dagger A */
  int apply; /* 1: to be applied: adjoint and A^dagger A are made by applications, not in the key */
  int site;  /* 1: hops and site terms alone: dagger, normalisation and solution are not used */
} kaon_quda_use;

/* Errors: ARGUMENT, UNSUPPORTED, STATE (links or clover term are missing). */
kaon_status kaon_quda_ask(const QudaInvertParam *param, const kaon_quda_use *use,
                          kaon_quda_request *request);
/* Makes the operators of a key. *M may be there already: that of a system which shares it. After a
 * failure *A is NULL, and *M is what it was. If A is M, both are one pointer. */
kaon_status kaon_quda_make_operators(const kaon_quda_key *key, kaon_operator **M,
                                     kaon_operator **A);
/* M follows the links and the clover term that are loaded. */
kaon_status kaon_quda_update_operator(const kaon_quda_key *key, kaon_operator *M);

/* Of a solution type: on one parity; of A^dagger A. Errors: ARGUMENT. */
kaon_status kaon_quda_solution_of(QudaSolutionType type, int *pc, int *normal);
/* A member of QudaInvertParam must be set and in this range. Errors: ARGUMENT. */
kaon_status kaon_quda_in_range(const char *member, double value, double least, double most);
/* A factor of the operator must be finite and not 0. Errors: ARGUMENT. */
kaon_status kaon_quda_check_factor(const QudaInvertParam *param, double factor);
/* Checks num_src. */
kaon_status kaon_quda_check_columns(int columns);
/* cuda_prec_sloppy, or if it is not set cuda_prec. Errors: ARGUMENT. */
kaon_status kaon_quda_sloppy(const QudaInvertParam *param, kaon_precision *sloppy);

/* The sites of the client's vectors. */
static inline kaon_parity kaon_quda_parity(const kaon_quda_request *request) {
  return request->pc ? request->parity : KAON_FULL;
}
/* The space of the client's vectors on the sites of `parity`, and a vector of it in double. */
const kaon_space *kaon_quda_space(const kaon_quda_request *request, kaon_parity parity);
kaon_status kaon_quda_vector(const kaon_quda_request *request, kaon_parity parity, int columns,
                             kaon_vector **vector);
/* All columns of a vector from, or to, arrays of a client. */
kaon_status kaon_quda_import(const QudaInvertParam *param, void **arrays, kaon_vector *vector);
kaon_status kaon_quda_export(const QudaInvertParam *param, const kaon_vector *vector,
                             void **arrays);
/* vector *= factor on all columns. A factor of 1 keeps the bits. */
kaon_status kaon_quda_scale(kaon_vector *vector, double factor);

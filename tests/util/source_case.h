/* source_case.h - sources whose numbers change, the operators made of them, and the calls that
 * update these. Include the cmocka preamble before. */
#ifndef SOURCE_CASE_H
#define SOURCE_CASE_H

#include <kaon/kaon.h>

#include "tests/util/machine.h"
#include "tests/util/test_util.h"

typedef enum source_kind {
  WILSON,
  CLOVER,
  TWISTED,
  DOMAIN_WALL,
  STAGGERED,
  HISQ,    /* links of kaon_fatten */
  PATHS,   /* of kaon_fatten_paths */
  COPIED,  /* of kaon_fatten, then kaon_gauge_copy */
  ROTATED, /* of kaon_fatten, then kaon_gauge_temporal */
  SHELL,
  SOURCES
} source_kind;
enum { IMPROVED = 1 << HISQ | 1 << PATHS | 1 << COPIED | 1 << ROTATED };
enum { SPINORS = 1 << WILSON | 1 << CLOVER | 1 << TWISTED | 1 << DOMAIN_WALL };
/* COPIES: not in ALL, since what is made of their operators would repeat HISQ's. */
enum { COLOURS = 1 << STAGGERED | 1 << HISQ, COPIES = 1 << PATHS | 1 << COPIED | 1 << ROTATED };
enum { ALL = SPINORS | COLOURS | 1 << SHELL };

enum { SHIFTS = 2 };         /* vectors have up to 4 * SHIFTS columns */
enum { ROWS_OF_SHELL = 64 }; /* the shell multiplies by laplace2d:8 and by `scale` */

typedef struct world {
  kaon_context *ctx;
  source_kind kind;
  kaon_precision precision;
  kaon_lattice *lattice;
  kaon_gauge *thin, *fat[2], *naik[2]; /* [1]: copies; NULL: none */
  kaon_matrix *matrix;                 /* of the shell */
  kaon_operator *part[2];              /* of the matrix, by precision */
  double scale;
  kaon_operator *M; /* the operator */
  kaon_operator *K; /* multigrid made of M, not owned; NULL: none */
  kaon_operator *H; /* a Hermitian positive definite one, made of M; M itself for a shell */
} world;

extern const char *const source_names[SOURCES];

/* `numbers`: 1 before the change, 2 after it. *w must not move, because a shell has its address. */
void open_world(world *w, int machine, source_kind kind, kaon_precision precision, int numbers);
void close_world(world *w);
/* Changes to numbers 2 as an application does: only a shell needs a call, kaon_shell_changed(). */
void change_source(world *w);
/* Makes all calls that this source needs, in their order. */
void mend_unasked(world *w);
/* Makes the calls that the last error sentence names, in its order. */
void mend_as_told(world *w);

#endif

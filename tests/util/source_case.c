/* source_case.c - sources whose numbers change. Contract: source_case.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/util/source_case.h"

const char *const source_names[SOURCES] = {"wilson",    "clover", "twisted", "domain wall",
                                           "staggered", "hisq",   "paths",   "copied",
                                           "rotated",   "shell"};

static kaon_status shell_apply(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  const world *w = user;
  const kaon_status status = kaon_operator_apply(w->part[kaon_vector_precision(x)], mode, x, y);
  double factor[4 * SHIFTS][2];
  for (int k = 0; k < 4 * SHIFTS; k++) factor[k][0] = w->scale, factor[k][1] = 0;
  return status == KAON_OK ? kaon_vector_scale(factor, y) : status;
}

static kaon_status shell_diagonal(void *user, kaon_vector *d) {
  const world *w = user;
  kaon_status status = KAON_OK;
  double host[ROWS_OF_SHELL];
  for (int i = 0; i < ROWS_OF_SHELL; i++) host[i] = 4 * w->scale;
  for (int k = 0; k < kaon_vector_columns(d) && status == KAON_OK; k++)
    status = kaon_vector_import(d, k, host, KAON_BASIS_UKQCD);
  return status;
}

static void fatten(world *w) {
  kaon_fatten_options options = KAON_FATTEN_OPTIONS_INIT;
  options.action = KAON_FATTEN_HISQ;
  must(w->ctx, kaon_fatten(w->thin, &options, w->fat[0], w->naik[0], NULL));
}
static void fatten_paths(world *w) {
  const kaon_fatten_coefficients c = {0.6, 0.06, 0.01, 0.002, -0.06, -0.04};
  must(w->ctx, kaon_fatten_paths(w->thin, &c, w->fat[0], w->naik[0], NULL));
}
static void copy_links(world *w) {
  must(w->ctx, kaon_gauge_copy(w->fat[1], w->fat[0]));
  must(w->ctx, kaon_gauge_copy(w->naik[1], w->naik[0]));
}
static void rotate_links(world *w) {
  must(w->ctx, kaon_gauge_temporal(w->fat[1], w->fat[0]));
  must(w->ctx, kaon_gauge_temporal(w->naik[1], w->naik[0]));
}
static void update_dirac(world *w) {
  must(w->ctx, kaon_dirac_update(w->M));
}
static void update_staggered(world *w) {
  must(w->ctx, kaon_staggered_update(w->M));
}
/* From random vectors, so that it has the bits of a new one. */
static void update_multigrid(world *w) {
  if (w->K != NULL) must(w->ctx, kaon_multigrid_update(w->K, KAON_MULTIGRID_REBUILD));
}

/* The calls that sentences may name. */
static const struct {
  const char *name;
  void (*call)(world *w);
  unsigned sources; /* that need it */
} mending[] = {
    {"kaon_fatten", fatten, 1 << HISQ | 1 << COPIED | 1 << ROTATED},
    {"kaon_fatten_paths", fatten_paths, 1 << PATHS},
    {"kaon_gauge_copy", copy_links, 1 << COPIED},
    {"kaon_gauge_temporal", rotate_links, 1 << ROTATED},
    {"kaon_dirac_update", update_dirac, SPINORS},
    {"kaon_multigrid_update", update_multigrid, SPINORS},
    {"kaon_staggered_update", update_staggered, COLOURS | COPIES},
};
enum { MENDING = sizeof mending / sizeof *mending };

void mend_unasked(world *w) {
  for (int i = 0; i < MENDING; i++)
    if (mending[i].sources >> w->kind & 1) mending[i].call(w);
}

void mend_as_told(world *w) {
  char sentence[1024];
  int calls = 0;
  snprintf(sentence, sizeof sentence, "%s", kaon_last_error(w->ctx));
  const char *at = strstr(sentence, "; call ");
  assert_non_null(at);
  while ((at = strstr(at, "kaon_")) != NULL) {
    const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    int i = 0;
    while (i < MENDING &&
           (strlen(mending[i].name) != length || strncmp(mending[i].name, at, length) != 0))
      i++;
    if (i == MENDING) fail_msg("no call is known: %s", sentence);
    mending[i].call(w);
    at += length;
    calls++;
  }
  assert_true(calls > 0);
}

static void new_links(world *w, kaon_precision precision, kaon_gauge **links) {
  must(w->ctx, kaon_gauge_create(w->lattice, precision, KAON_RECONSTRUCT_18, links));
}

static void make_spinor_operator(world *w) {
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  kaon_domain_wall_options wall = KAON_DOMAIN_WALL_OPTIONS_INIT;
  dirac.kappa = 0.12;
  dirac.csw = w->kind == CLOVER || w->kind == TWISTED ? 1.2 : 0;
  dirac.mu = w->kind == TWISTED ? 0.2 : 0;
  dirac.precision = wall.precision = w->precision;
  wall.ls = 4;
  must(w->ctx, w->kind == DOMAIN_WALL ? kaon_domain_wall_create(w->thin, &wall, &w->M)
                                      : kaon_dirac_create(w->thin, &dirac, &w->M));
  must(w->ctx, kaon_operator_normal(w->M, &w->H));
}

static void make_colour_operator(world *w) {
  const int copies = w->kind == COPIED || w->kind == ROTATED;
  kaon_staggered_options staggered = KAON_STAGGERED_OPTIONS_INIT;
  staggered.mass = 0.2;
  staggered.precision = w->precision;
  for (int i = 0; i <= copies && (IMPROVED >> w->kind & 1); i++) {
    const kaon_precision precision = i == 1 && w->kind == COPIED ? KAON_SINGLE : KAON_DOUBLE;
    new_links(w, precision, &w->fat[i]);
    new_links(w, precision, &w->naik[i]);
  }
  for (int i = 0; i < MENDING; i++)
    if (mending[i].sources >> w->kind & 1 && mending[i].call != update_staggered)
      mending[i].call(w);
  kaon_gauge *links = w->fat[copies] != NULL ? w->fat[copies] : w->thin;
  must(w->ctx, kaon_staggered_create(links, w->naik[copies], &staggered, &w->M));
  must(w->ctx, kaon_staggered_even_odd(w->M, KAON_EVEN, &w->H));
}

static void make_shell(world *w) {
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  kaon_shell_options options = KAON_SHELL_OPTIONS_INIT;
  kaon_matrix_operator_options product = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  must(w->ctx, kaon_matrix_generate(w->ctx, "laplace2d:8", NULL, &w->matrix, NULL));
  for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
    product.precision = (kaon_precision)p;
    must(w->ctx, kaon_matrix_operator(w->matrix, &product, &w->part[p]));
  }
  methods.apply = shell_apply;
  methods.diagonal = shell_diagonal;
  options.precision = w->precision;
  options.any_precision = 1;
  must(w->ctx, kaon_shell_create(kaon_matrix_space(w->matrix), NULL, &methods, w, &options, &w->M));
  w->H = w->M;
}

/* `numbers`: 1 before the change, 2 after it. */
static void set_numbers(world *w, int numbers) {
  if (w->kind == SHELL)
    w->scale = numbers == 1 ? 1 : 0.3;
  else
    must(w->ctx, kaon_gauge_weak(w->thin, numbers == 1 ? 0.1 : 0.4, (uint64_t)numbers));
}

void change_source(world *w) {
  set_numbers(w, 2);
  if (w->kind == SHELL) must(w->ctx, kaon_shell_changed(w->M));
}

void open_world(world *w, int machine, source_kind kind, kaon_precision precision, int numbers) {
  static const int extents[4] = {4, 4, 4, 4};
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.threads = 1; /* asynchronous methods have the same bits in every run */
  *w = (world){.kind = kind, .precision = precision};
  must(NULL, machine_open(machine, options, &w->ctx));
  must(w->ctx, kaon_lattice_create(w->ctx, extents, KAON_ANTIPERIODIC, &w->lattice));
  new_links(w, KAON_DOUBLE, &w->thin);
  set_numbers(w, numbers);
  if (kind == SHELL)
    make_shell(w);
  else if (SPINORS >> kind & 1)
    make_spinor_operator(w);
  else
    make_colour_operator(w);
}

void close_world(world *w) {
  if (w->H != w->M) kaon_operator_destroy(&w->H);
  kaon_operator_destroy(&w->M);
  for (int i = 0; i < 2; i++) {
    kaon_operator_destroy(&w->part[i]);
    kaon_gauge_destroy(&w->fat[i]);
    kaon_gauge_destroy(&w->naik[i]);
  }
  kaon_matrix_destroy(&w->matrix);
  kaon_gauge_destroy(&w->thin);
  kaon_lattice_destroy(&w->lattice);
  kaon_context_destroy(&w->ctx);
}

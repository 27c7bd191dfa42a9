/* staggered_case.c - see staggered_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "staggered_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/core/context_internal.h"

const double staggered_naik = -0.1653413;

/* 0.9 U + 0.7 V, U and V random: components up to 1.6. */
static void make_fat(const ref_lattice *L, ref_complex *u) {
  ref_complex *v = ref_new(ref_links_size(L));
  ref_random_links(L, u, 11);
  ref_random_links(L, v, 12);
  for (size_t i = 0; i < ref_links_size(L); i++) u[i] = 0.9 * u[i] + 0.7 * v[i];
  free(v);
}

static void make_naik(const ref_lattice *L, int phases, ref_complex *u) {
  ref_rng rng;
  ref_rng_seed(&rng, 13);
  ref_random_links(L, u, 14);
  for (size_t link = 0; link < 4 * ref_volume(L); link++) {
    const double theta = phases ? 6.2831853 * (ref_uniform(&rng) - 0.5) : 0;
    for (size_t i = 9 * link; i < 9 * link + 9; i++) u[i] *= staggered_naik * cexp(I * theta);
  }
}

static kaon_gauge *import(staggered_case *s, const ref_complex *u) {
  kaon_gauge *links = NULL;
  const void *arrays[1] = {u};
  must(s->c.ctx, kaon_gauge_create(s->c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &links));
  must(s->c.ctx, kaon_gauge_import_matrices(links, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  return links;
}

int staggered_open(staggered_case *s, int machine, const int extents[4], int antiperiodic,
                   int improved) {
  *s = (staggered_case){.improved = improved};
  if (!case_open_checked(&s->c, machine, extents, antiperiodic, LINKS_RANDOM, 3)) return 0;
  if (s->c.ctx->backend->staggered[KAON_DOUBLE] == NULL) {
    printf("  %s: skipped: no staggered kernels\n", isa_names[machine]);
    case_close(&s->c);
    return 0;
  }
  s->u_fat = s->c.u;
  if (!improved) return 1;
  s->u_fat = ref_new(ref_links_size(&s->c.L));
  s->u_naik = ref_new(ref_links_size(&s->c.L));
  make_fat(&s->c.L, s->u_fat);
  make_naik(&s->c.L, improved == 2, s->u_naik);
  s->fat = import(s, s->u_fat);
  s->naik = import(s, s->u_naik);
  return 1;
}

void staggered_close(staggered_case *s) {
  if (s->improved) {
    kaon_gauge_destroy(&s->fat);
    kaon_gauge_destroy(&s->naik);
    free(s->u_fat);
    free(s->u_naik);
  }
  case_close(&s->c);
}

kaon_operator *staggered_operator(staggered_case *s, double mass, double epsilon,
                                  kaon_staggered_phases phases, kaon_precision precision,
                                  kaon_reconstruct reconstruct) {
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  kaon_operator *M = NULL;
  o.mass = mass;
  o.naik_epsilon = epsilon;
  o.phases = phases;
  o.precision = precision;
  o.reconstruct = reconstruct;
  must(s->c.ctx, kaon_staggered_create(s->improved ? s->fat : s->c.gauge, s->naik, &o, &M));
  return M;
}

ref_staggered staggered_reference(const staggered_case *s, double mass, double epsilon,
                                  kaon_staggered_phases phases) {
  return (ref_staggered){
      .L = s->c.L,
      .fat = s->u_fat,
      .naik = s->u_naik,
      .epsilon = epsilon,
      .mass = mass,
      .antiperiodic = s->c.antiperiodic,
      .phases = phases == KAON_PHASES_MILC ? REF_PHASES_MILC : REF_PHASES_CHROMA};
}

kaon_vector *staggered_vector(staggered_case *s, kaon_parity parity, kaon_precision precision,
                              int columns) {
  kaon_vector *v = NULL;
  must(s->c.ctx, kaon_vector_create(s->c.ctx, kaon_lattice_staggered(s->c.lattice, parity),
                                    precision, columns, &v));
  return v;
}

size_t staggered_size(const staggered_case *s) {
  return 3 * ref_volume(&s->c.L);
}

ref_complex **staggered_columns(const staggered_case *s, kaon_parity parity, int columns,
                                uint64_t seed) {
  ref_complex **chi = ref_alloc((size_t)columns, sizeof *chi);
  ref_rng rng;
  ref_rng_seed(&rng, seed);
  for (int k = 0; k < columns; k++) {
    chi[k] = ref_new(staggered_size(s));
    for (size_t i = 0; i < staggered_size(s); i++) {
      const double re = ref_gauss(&rng), im = ref_gauss(&rng);
      if (parity == KAON_FULL || ref_parity(&s->c.L, i / 3) == (int)parity) chi[k][i] = re + I * im;
    }
  }
  return chi;
}

void staggered_import(staggered_case *s, kaon_vector *v, ref_complex *const *chi) {
  for (int k = 0; k < kaon_vector_columns(v); k++)
    must(s->c.ctx, kaon_vector_import(v, k, (const double *)chi[k], KAON_BASIS_UKQCD));
}

double staggered_deviation(staggered_case *s, const kaon_vector *v, ref_complex *const *expected) {
  double worst = 0;
  ref_complex *chi = ref_new(staggered_size(s));
  for (int k = 0; k < kaon_vector_columns(v); k++) {
    memset(chi, 0, staggered_size(s) * sizeof *chi);
    must(s->c.ctx, kaon_vector_export(v, k, (double *)chi, KAON_BASIS_UKQCD));
    worst = larger(worst, ref_rel_diff(chi, expected[k], staggered_size(s)));
  }
  free(chi);
  return worst;
}

static const kaon_overlap overlaps[] = {KAON_OVERLAP_FUSED, KAON_OVERLAP_STAGED, KAON_OVERLAP_NONE,
                                        KAON_OVERLAP_AUTO};

void staggered_choose_way(staggered_case *s, int i, int host) {
  if (s->c.ctx->backend->host_accessible) return;
  s->c.ctx->options.transport = host ? KAON_TRANSPORT_HOST : KAON_TRANSPORT_PEER;
  s->c.ctx->options.overlap = overlaps[host ? 1 + i % 3 : i % 4];
}

void staggered_divide(staggered_case *s, const int extents[4], int mask) {
  kaon_gauge_destroy(&s->c.gauge);
  kaon_gauge_destroy(&s->fat);
  kaon_gauge_destroy(&s->naik);
  kaon_lattice_destroy(&s->c.lattice);
  for (int mu = 0; mu < 4; mu++) s->c.ctx->comm->partitioned[mu] = mask >> mu & 1;
  must(s->c.ctx, kaon_lattice_create(s->c.ctx, extents, KAON_ANTIPERIODIC, &s->c.lattice));
  must(s->c.ctx, kaon_gauge_create(s->c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &s->c.gauge));
  case_import_links(&s->c);
  kaon_gauge **links[2] = {&s->fat, &s->naik};
  const ref_complex *const u[2] = {s->u_fat, s->u_naik};
  for (int i = 0; i < 2 && s->improved; i++) {
    const void *arrays[1] = {u[i]};
    must(s->c.ctx, kaon_gauge_create(s->c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links[i]));
    must(s->c.ctx, kaon_gauge_import_matrices(*links[i], KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  }
}

/* fatten.c - fat and long links of asqtad and HISQ from thin links.
 * A level runs the three stages of lib/math/link_fatten.h for each direction. S and X are stored in
 * two fields of links, in the slots of their directions. On a partitioned lattice each stage's
 * field gets its ghosts before the next stage reads it. So no path goes further than one step in
 * each of two directions. */
#include <kaon/gauge.h>
#include <kaon/context.h>

#include <math.h>
#include <stdlib.h>

#include "lib/cpu/clock.h"
#include "gauge/gauge_internal.h"
#include "lib/core/threads.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

/* Both parities of a field of links in 18 reals of the working precision. */
typedef struct pair {
  void *p[2];
} pair;

enum { STAPLES, SECOND_STAPLES, SMEARED, FAT, NAIK, ROOMS };

typedef struct work {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_precision precision;
  const kaon_gauge_ops *ops;
  pair links, fat, naik; /* naik.p[0] NULL: not wanted */
  pair room[ROOMS];      /* from the pool; p[0] NULL: not allocated */
  kaon_results results;
  kaon_site_table sites;
} work;

static pair pair_of(const kaon_gauge *gauge) {
  return (pair){{gauge->links[0], gauge->links[1]}};
}

static kaon_wide_links wide_of(const work *w, const pair *field) {
  return (kaon_wide_links){.lattice = w->lattice, .links = {field->p[0], field->p[1]}};
}

static kaon_status allocate_workspace(work *w, int which) {
  const kaon_stencil *st = &w->lattice->stencil;
  const size_t parity = 4 * (size_t)kaon_link_blocks(kaon_matrix_blocks(st)) * 18 *
                        (size_t)st->width * kaon_precision_bytes(w->precision);
  pair *room = &w->room[which];
  KAON_TRY(kaon_pool_allocate(w->ctx, 2 * parity, "workspace for fattened links", &room->p[0]));
  room->p[1] = (char *)room->p[0] + parity;
  if (which < FAT) return KAON_OK;
  return w->ctx->backend->memory->clear(w->ctx, room->p[0], 2 * parity); /* idle blocks too */
}

static void release(work *w) {
  for (int i = 0; i < ROOMS; i++)
    if (w->room[i].p[0] != NULL) kaon_pool_release(w->ctx, w->room[i].p[0]);
  kaon_results_release(&w->results);
  kaon_site_table_release(&w->sites);
}

/* ---- ghosts, of all directions except one ---- */

static kaon_status ghosts(const work *w, const pair *field, int but) {
  if (!kaon_lattice_partitioned(w->lattice)) return KAON_OK;
  /* The links are in double: kaon_fatten requires it on several ranks. */
  const kaon_wide_links wide = wide_of(w, field);
  for (int parity = 0; parity < 2; parity++)
    for (int mu = 0; mu < 4; mu++)
      if (mu != but) KAON_TRY(kaon_wide_ghosts_of(&wide, parity, mu));
  return KAON_OK;
}

/* ---- a level ---- */

static void run_line(const work *w, const kaon_launch *launch, double factor, const pair *left,
                     const pair *right, const pair *to) {
  const kaon_line_args args = {.stencil = &w->lattice->stencil,
                               .factor = factor,
                               .left = {left->p[0], left->p[1]},
                               .right = {right->p[0], right->p[1]},
                               .to = {to->p[0], to->p[1]}};
  w->ops->line(launch, &args);
}

static void run_stage(const work *w, const kaon_launch *launch, int stage, int mu,
                      const kaon_fat_factors *factors, const pair *links, const pair *from,
                      const pair *to) {
  const kaon_fatten_args args = {.stencil = &w->lattice->stencil,
                                 .stage = stage,
                                 .mu = mu,
                                 .factors = *factors,
                                 .links = {links->p[0], links->p[1]},
                                 .from = {from->p[0], from->p[1]},
                                 .to = {to->p[0], to->p[1]}};
  w->ops->fatten(launch, &args);
}

static kaon_status long_links(const work *w, const kaon_launch *launch, double factor,
                              const pair *links, const pair *naik) {
  const pair *two = &w->room[STAPLES]; /* U_mu(x) U_mu(x+mu) */
  run_line(w, launch, 1, links, links, two);
  KAON_TRY(ghosts(w, two, -1));
  run_line(w, launch, factor, links, two, naik);
  return KAON_OK;
}

static kaon_status fat_links(const work *w, const kaon_launch *launch,
                             const kaon_fat_factors *factors, const pair *links, const pair *fat) {
  const pair *staples = &w->room[STAPLES], *bent = &w->room[SECOND_STAPLES];
  for (int mu = 0; mu < 4; mu++) {
    run_stage(w, launch, KAON_FATTEN_STAPLES, mu, factors, links, links, staples);
    KAON_TRY(ghosts(w, staples, mu));
    run_stage(w, launch, KAON_FATTEN_SECOND_STAPLES, mu, factors, links, staples, bent);
    KAON_TRY(ghosts(w, bent, mu));
    run_stage(w, launch, KAON_FATTEN_LINK, mu, factors, links, bent, fat);
  }
  return KAON_OK;
}

/* 48 staples of four products, each added with a factor twice; the other terms of X and of the fat
 * link; two products for the long link. */
static double flops_of(const work *w, int improved) {
  const double staples = 48 * (4 * 198 + 2 * 36), terms = 4 * (3 * 4 * 36 + 36);
  return (double)w->lattice->volume * (staples + terms + (improved ? 4 * 2 * 198 + 4 * 18 : 0));
}

/* Computes fat and, if its first pointer is not NULL, naik from `links`. */
static kaon_status run_level(const work *w, const kaon_fatten_coefficients *c, const pair *links,
                             const pair *fat, const pair *naik, kaon_fatten_report *report) {
  const kaon_fat_factors factors = {c->one, c->three, c->five, c->seven, c->lepage};
  kaon_launch launch;
  kaon_status status = kaon_launch_prepare(w->ctx, 1, 0, &launch);
  if (status == KAON_OK) status = w->ctx->backend->memory->synchronise(w->ctx);
  KAON_TRY(kaon_agree(w->ctx, status));
  const double start = kaon_seconds(); /* earlier enqueued work is not part of the level */
  KAON_TRY(ghosts(w, links, -1));
  if (naik->p[0] != NULL) KAON_TRY(long_links(w, &launch, c->naik, links, naik));
  KAON_TRY(fat_links(w, &launch, &factors, links, fat));
  KAON_TRY(kaon_agree(w->ctx, w->ctx->backend->memory->synchronise(w->ctx)));
  report->level_seconds[report->levels++] = kaon_seconds() - start;
  report->level_flops = flops_of(w, naik->p[0] != NULL);
  return KAON_OK;
}

/* ---- projection to U(3) ---- */

/* Combines `found`, as the kernel fills it, over all ranks. */
static kaon_status join_ranks(kaon_context *ctx, double found[KAON_UNITARISE_RESULTS]) {
  enum { N = KAON_UNITARISE_RESULTS };
  kaon_comm *comm = ctx->comm;
  if (comm->ranks == 1) return KAON_OK;
  KAON_AUTOFREE double *all = malloc((size_t)comm->ranks * N * sizeof *all);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, all != NULL, "fatten: out of host memory"));
  KAON_TRY(comm->ops->gather(comm, found, N, all));
  for (int r = 0; r < comm->ranks; r++) {
    const double *f = all + r * N;
    found[0] = f[0] + (r > 0 ? found[0] : 0);
    found[3] = f[3] + (r > 0 ? found[3] : 0);
    if (r == 0 || f[1] < found[1] || (f[1] == found[1] && f[2] < found[2])) {
      found[1] = f[1];
      found[2] = f[2];
    }
  }
  return KAON_OK;
}

static kaon_status unitarise(work *w, const kaon_fatten_options *o, const pair *links,
                             kaon_fatten_report *report) {
  double found[KAON_UNITARISE_RESULTS] = {0};
  const double start = kaon_seconds();
  kaon_launch launch;
  kaon_status status = kaon_launch_prepare(w->ctx, 1, 0, &launch);
  const kaon_unitarise_args args = {.stencil = &w->lattice->stencil,
                                    .limits = {o->svd_relative, o->svd_absolute},
                                    .sites = {w->sites.sites[0], w->sites.sites[1]},
                                    .links = {links->p[0], links->p[1]},
                                    .result = w->results.device};
  if (status == KAON_OK) w->ops->unitarise(&launch, &args);
  if (status == KAON_OK) status = kaon_results_read(&w->results, KAON_UNITARISE_RESULTS, found);
  KAON_TRY(kaon_agree(w->ctx, status));
  KAON_TRY(join_ranks(w->ctx, found));
  if (found[3] > 0)
    return kaon_fail(w->ctx, KAON_ERR_NOT_FINITE,
                     "fatten: %.0f links hold NaN, infinity or absurdly large numbers; read or "
                     "compute them anew",
                     found[3]);
  report->unitarise_seconds = kaon_seconds() - start;
  report->svd_links = (int64_t)found[0];
  report->smallest_det = found[1];
  report->mu = (int)((int64_t)found[2] % 4);
  kaon_site_coordinates(w->lattice->global, (int64_t)found[2] / 4, report->site);
  return KAON_OK;
}

/* ---- arguments and results ---- */

static kaon_status check_result(const kaon_gauge *links, const kaon_gauge *result,
                                const kaon_gauge *fat, const char *which) {
  if (result == links || (result == fat && which[0] == 'n'))
    return kaon_fail(links->ctx, KAON_ERR_ARGUMENT,
                     "fatten: the field for the %s links is also another argument; create a "
                     "separate field for them",
                     which);
  if (result->lattice != links->lattice)
    return kaon_fail(
        links->ctx, KAON_ERR_SHAPE,
        "fatten: the %s links are on another lattice; create both fields on the same kaon_lattice",
        which);
  if (result->reconstruct != KAON_RECONSTRUCT_18 || result->precision == KAON_HALF ||
      result->precision != fat->precision)
    return kaon_fail(
        links->ctx, KAON_ERR_UNSUPPORTED,
        "fatten: the field for the %s links has %d reals a link in precision number %d; fat and "
        "long links need 18 reals, both in double (0) or both in single (1)",
        which, (int)result->reconstruct, (int)result->precision);
  return KAON_OK;
}

/* Notes what the results are made of. */
static void derive(const kaon_gauge *links, const kaon_gauge *result, const char *name,
                   const char *function) {
  kaon_made_as(result->revision, links->revision, NULL);
  result->revision->name = name;
  result->revision->remedy = function;
  if (links->revision->sources == 0) kaon_made_of(result->revision, links->revision);
}

static kaon_status begin(const kaon_gauge *links, const kaon_gauge *fat, const kaon_gauge *naik,
                         const char *function) {
  KAON_TRY(check_result(links, fat, fat, "fat"));
  if (naik != NULL) KAON_TRY(check_result(links, naik, fat, "naik"));
  KAON_TRY(kaon_current(links->revision));
  derive(links, fat, "fat links", function);
  if (naik != NULL) derive(links, naik, "long links", function);
  return KAON_OK;
}

static kaon_status find_kernels(work *w) {
  w->ops = w->ctx->backend->gauge[w->precision];
  if (w->ops == NULL || w->ops->fatten == NULL)
    return kaon_fail(w->ctx, KAON_ERR_NOT_BUILT,
                     "fatten: backend %s has no such kernels in precision number %d",
                     w->ctx->backend->name, (int)w->precision);
  return KAON_OK;
}

/* Sets the links in working storage: the field's own array if it has this storage, else a copy. */
static kaon_status load_links(work *w, const kaon_gauge *links, kaon_gauge **copy) {
  w->links = pair_of(links);
  if (links->precision == w->precision && links->reconstruct == KAON_RECONSTRUCT_18) return KAON_OK;
  KAON_TRY(kaon_gauge_create(w->lattice, w->precision, KAON_RECONSTRUCT_18, copy));
  w->links = pair_of(*copy);
  return kaon_gauge_copy(*copy, links);
}

/* Sets where a result is computed: in its field, or in a buffer of working precision. */
static kaon_status place(work *w, kaon_gauge *field, int which, pair *at) {
  if (field == NULL) return KAON_OK;
  if (field->precision != w->precision) KAON_TRY(allocate_workspace(w, which));
  *at = field->precision != w->precision ? w->room[which] : pair_of(field);
  return KAON_OK;
}

static kaon_status deliver(const work *w, kaon_gauge *field, const pair *at) {
  if (field == NULL || field->links[0] == at->p[0]) return KAON_OK;
  const kaon_wide_links wide = wide_of(w, at);
  return kaon_wide_commit(field, &wide, 0, "fatten");
}

static kaon_status take_all(work *w, int levels, kaon_gauge *fat, kaon_gauge *naik) {
  KAON_TRY(find_kernels(w));
  KAON_TRY(allocate_workspace(w, STAPLES));
  KAON_TRY(allocate_workspace(w, SECOND_STAPLES));
  if (levels > 1) {
    KAON_TRY(allocate_workspace(w, SMEARED));
    KAON_TRY(kaon_results_create(w->ctx, &w->results));
    KAON_TRY(kaon_site_table_create(w->lattice, &w->sites));
  }
  KAON_TRY(place(w, fat, FAT, &w->fat));
  return place(w, naik, NAIK, &w->naik);
}

/* `c`: of each level; options: of the projection to U(3) between two levels. */
static kaon_status run(const kaon_gauge *links, int levels, const kaon_fatten_coefficients *c,
                       const kaon_fatten_options *options, kaon_gauge *fat, kaon_gauge *naik,
                       kaon_fatten_report *report) {
  const double start = kaon_seconds();
  const pair none = {{NULL, NULL}};
  kaon_gauge *copy = NULL;
  work w = {.ctx = links->ctx, .lattice = links->lattice, .precision = fat->precision};
  if (kaon_lattice_partitioned(w.lattice)) w.precision = KAON_DOUBLE;
  kaon_status status = kaon_agree(w.ctx, take_all(&w, levels, fat, naik));
  if (status == KAON_OK) status = load_links(&w, links, &copy);
  const pair *from = &w.links;
  if (status == KAON_OK && levels > 1) {
    status = run_level(&w, &c[0], from, &w.room[SMEARED], &none, report);
    if (status == KAON_OK) status = unitarise(&w, options, &w.room[SMEARED], report);
    from = &w.room[SMEARED];
  }
  if (status == KAON_OK) status = run_level(&w, &c[levels - 1], from, &w.fat, &w.naik, report);
  if (status == KAON_OK) status = deliver(&w, fat, &w.fat);
  if (status == KAON_OK) status = deliver(&w, naik, &w.naik);
  kaon_gauge_destroy(&copy);
  release(&w);
  report->seconds = kaon_seconds() - start;
  return status;
}

/* ---- the public functions ---- */

kaon_status kaon_fatten_action_coefficients(const kaon_fatten_options *options, int level,
                                            kaon_fatten_coefficients *coefficients) {
  KAON_ENTER(NULL, coefficients);
  kaon_fatten_options own;
  const kaon_fatten_options *o = &own;
  KAON_TRY(kaon_options_take(KAON_OPTIONS_FATTEN, options, &own));
  const int hisq = o->action == KAON_FATTEN_HISQ;
  if (level < 0 || level > hisq || (!hisq && o->u0 == 0))
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "fatten: there are no coefficients of level %d with u0 = %g; levels are 0 "
                     "and, for HISQ, 1, and u0 = 0 (automatic) is not allowed here",
                     level, o->u0);
  const double e = o->naik_epsilon / 8, v = hisq ? 1 : 1 / (o->u0 * o->u0);
  const kaon_fatten_coefficients asqtad = {5.0 / 8 + e,     v / 16,      v * v / 64,
                                           v * v * v / 384, -v * v / 16, -v / 24};
  const kaon_fatten_coefficients fat7 = {1.0 / 8, 1.0 / 16, 1.0 / 64, 1.0 / 384, 0, 0};
  const kaon_fatten_coefficients second = {1 + e,     1.0 / 16, 1.0 / 64,
                                           1.0 / 384, -1.0 / 8, -1.0 / 24};
  *coefficients = !hisq ? asqtad : level == 0 ? fat7 : second;
  return KAON_OK;
}

static kaon_status mean_link(const kaon_gauge *thin, double *u0) {
  double mean[KAON_PLAQUETTE_MEANS];
  kaon_wide_links wide;
  KAON_TRY(kaon_wide_open(thin, 0, &wide));
  const kaon_status status = kaon_wide_plaquette(&wide, mean);
  kaon_wide_close(&wide);
  KAON_TRY(status);
  const double plaquette = (mean[0] + mean[1]) / 2;
  if (!(plaquette > 0))
    return kaon_fail(thin->ctx, KAON_ERR_ARGUMENT,
                     "fatten: the mean plaquette is %g and has no fourth root for u0; give u0",
                     plaquette);
  *u0 = pow(plaquette, 0.25);
  return KAON_OK;
}

static kaon_status fatten(const kaon_gauge *thin, const kaon_fatten_options *options,
                          kaon_gauge *fat, kaon_gauge *naik, kaon_fatten_report *report) {
  kaon_fatten_options o = *options;
  kaon_fatten_coefficients c[2];
  const int levels = o.action == KAON_FATTEN_HISQ ? 2 : 1;
  if (levels == 1 && o.u0 == 0) KAON_TRY(mean_link(thin, &o.u0));
  for (int i = 0; i < levels; i++) KAON_TRY(kaon_fatten_action_coefficients(&o, i, &c[i]));
  report->u0 = levels == 1 ? o.u0 : 1;
  return run(thin, levels, c, &o, fat, naik, report);
}

static kaon_status fatten_all(const kaon_gauge *thin, const kaon_fatten_options *options,
                              kaon_gauge *fat, kaon_gauge *naik, kaon_fatten_report *report) {
  kaon_fatten_options own;
  KAON_TRY(begin(thin, fat, naik, "kaon_fatten"));
  KAON_TRY(kaon_options_share(thin->ctx, KAON_OK, KAON_OPTIONS_FATTEN, options, &own, NULL, 0));
  KAON_RETURN_UNTRAPPED(thin->ctx, fatten(thin, &own, fat, naik, report));
}

kaon_status kaon_fatten(const kaon_gauge *thin, const kaon_fatten_options *options, kaon_gauge *fat,
                        kaon_gauge *naik, kaon_fatten_report *report) {
  KAON_ENTER(KAON_OF(thin), thin, fat);
  kaon_fatten_report made = {0};
  KAON_TRY(kaon_output_check(thin->ctx, "kaon_fatten_report", report));
  const kaon_status status = fatten_all(thin, options, fat, naik, &made);
  kaon_output_fill(report, &made, sizeof made);
  return status;
}

static kaon_status fatten_paths(const kaon_gauge *links,
                                const kaon_fatten_coefficients *coefficients, kaon_gauge *fat,
                                kaon_gauge *naik, kaon_fatten_report *report) {
  const kaon_fatten_options standard = KAON_FATTEN_OPTIONS_INIT;
  KAON_TRY(begin(links, fat, naik, "kaon_fatten_paths"));
  const kaon_fatten_coefficients *c = coefficients;
  const double all[6] = {c->one, c->three, c->five, c->seven, c->lepage, c->naik};
  for (int i = 0; i < 6; i++)
    if (!isfinite(all[i]))
      return kaon_fail(links->ctx, KAON_ERR_ARGUMENT,
                       "fatten: the coefficients are %g, %g, %g, %g, %g, %g; give finite numbers",
                       all[0], all[1], all[2], all[3], all[4], all[5]);
  KAON_RETURN_UNTRAPPED(links->ctx, run(links, 1, coefficients, &standard, fat, naik, report));
}

kaon_status kaon_fatten_paths(const kaon_gauge *links, const kaon_fatten_coefficients *coefficients,
                              kaon_gauge *fat, kaon_gauge *naik, kaon_fatten_report *report) {
  KAON_ENTER(KAON_OF(links), links, coefficients, fat);
  kaon_fatten_report made = {.u0 = 1};
  KAON_TRY(kaon_output_check(links->ctx, "kaon_fatten_report", report));
  const kaon_status status = fatten_paths(links, coefficients, fat, naik, &made);
  kaon_output_fill(report, &made, sizeof made);
  return status;
}

static kaon_status back_to_u3(kaon_gauge *links, const kaon_fatten_options *o,
                              kaon_fatten_report *report) {
  work w = {.ctx = links->ctx, .lattice = links->lattice, .precision = links->precision};
  kaon_status status = find_kernels(&w);
  if (status == KAON_OK) status = kaon_results_create(w.ctx, &w.results);
  if (status == KAON_OK) status = kaon_site_table_create(w.lattice, &w.sites);
  status = kaon_agree(w.ctx, status);
  const pair field = pair_of(links);
  kaon_changed(links->revision);
  if (status == KAON_OK) status = unitarise(&w, o, &field, report);
  report->seconds = report->unitarise_seconds;
  release(&w);
  return status;
}

static kaon_status unitarise_all(kaon_gauge *links, const kaon_fatten_options *options,
                                 kaon_fatten_report *report) {
  kaon_fatten_options own;
  const kaon_fatten_options *o = &own;
  KAON_TRY(kaon_options_share(links->ctx, KAON_OK, KAON_OPTIONS_FATTEN, options, &own, NULL, 0));
  if (links->reconstruct != KAON_RECONSTRUCT_18 || links->precision == KAON_HALF)
    return kaon_fail(links->ctx, KAON_ERR_UNSUPPORTED,
                     "fatten: the links have %d reals and precision number %d; links to be "
                     "projected onto U(3) need 18 reals in double (0) or single (1)",
                     (int)links->reconstruct, (int)links->precision);
  KAON_RETURN_UNTRAPPED(links->ctx, back_to_u3(links, o, report));
}

kaon_status kaon_fatten_unitarise(kaon_gauge *links, const kaon_fatten_options *options,
                                  kaon_fatten_report *report) {
  KAON_ENTER(KAON_OF(links), links);
  kaon_fatten_report made = {.u0 = 1};
  KAON_TRY(kaon_output_check(links->ctx, "kaon_fatten_report", report));
  const kaon_status status = unitarise_all(links, options, &made);
  kaon_output_fill(report, &made, sizeof made);
  return status;
}

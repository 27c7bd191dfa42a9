/* test_vector_orders.c - vectors from and to arrays in the orders of applications: every order of
 * sites and components, precision and basis, against an index formula that is written here and
 * against kaon_vector_import() of the same numbers; what is refused. Parts of odd extents are in
 * tests/ranks/test_odd_parts.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/vector/import_ops.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { X = 4, Y = 6, Z = 2, T = 8, V = X * Y * Z * T, LS = 3, MOST = LS * V * 24 };
enum { SPINOR, STAGGERED, FIVE, KINDS };
static const int kind_reals[KINDS] = {24, 6, 24}, kind_sites[KINDS] = {1, 1, LS};

typedef struct setting {
  kaon_context *ctx;
  kaon_lattice *lattice;
  const kaon_backend *own, *device; /* what arrays are moved by; NULL: the context's */
} setting;

static void open_setting(setting *s, int machine) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  *s = (setting){0};
  options.threads = 2;
  must(NULL, machine_open(machine, options, &s->ctx));
  must(s->ctx, kaon_lattice_create(s->ctx, (int[4]){X, Y, Z, T}, KAON_PERIODIC, &s->lattice));
}

static void close_setting(setting *s) {
  kaon_lattice_destroy(&s->lattice);
  kaon_context_destroy(&s->ctx);
}

static kaon_vector *vector_on(const setting *s, int kind, kaon_parity parity,
                              kaon_precision precision) {
  const kaon_space *space = kind == STAGGERED
                                ? kaon_lattice_staggered(s->lattice, parity)
                                : kaon_lattice_spinors_5d(s->lattice, kind_sites[kind], parity);
  kaon_vector *v = NULL;
  must(s->ctx, kaon_vector_create(s->ctx, space, precision, 2, &v));
  return v;
}

static int parity_of(int site) {
  return (site % X + site / X % Y + site / X / Y % Z + site / X / Y / Z) % 2;
}

static int sites_in(const kaon_vector_layout *layout, int kind) {
  return kind_sites[kind] * (layout->sites == KAON_SITES_ONE_PARITY ? V / 2 : V);
}

/* ---- a device, played by the host with one lane: sites of a parity in lexicographic order ---- */

static void play(const kaon_import_args *a, int import) {
  for (int p = a->parity == KAON_ODD; p <= (a->parity != KAON_EVEN); p++)
    for (int64_t at = a->first; at < a->first + a->count; at++) {
      const int64_t site = 2 * at + (parity_of((int)(2 * at)) != p);
      double *record = a->psi + (a->alone ? at - a->first : site - 2 * a->first) * a->ncomp;
      const int64_t block = at + (a->parity == KAON_FULL ? p * a->nblocks : 0);
      const int64_t begin = (block * a->nrhs + a->column) * a->ncomp;
      double *wide = (double *)a->vector.data + begin, value[24] = {0}, changed[24];
      float *narrow = (float *)a->vector.data + begin;
      for (int c = 0; c < a->ncomp; c++)
        value[c] = import ? record[c] : a->precision == KAON_DOUBLE ? wide[c] : (double)narrow[c];
      memcpy(changed, value, sizeof changed);
      if (a->basis != NULL)
        (import ? kaon_basis_enter : kaon_basis_leave)(a->basis, value, changed);
      for (int c = 0; c < a->ncomp; c++)
        if (!import)
          record[c] = changed[c];
        else if (a->precision == KAON_DOUBLE)
          wide[c] = changed[c];
        else
          narrow[c] = (float)changed[c];
    }
}

static void play_import(const kaon_launch *launch, const kaon_import_args *args) {
  (void)launch;
  play(args, 1);
}

static void play_export(const kaon_launch *launch, const kaon_import_args *args) {
  (void)launch;
  play(args, 0);
}

/* Memory of the played device has all bits inverted, so that reading it in place is found. */
static double psi[MOST], array[MOST], all[MOST], same[MOST];
static int array_there; /* 1: `array` is there */

static int in_array(const void *at) {
  return (const char *)at >= (const char *)array && (const char *)at < (const char *)(array + MOST);
}

static int play_place(kaon_context *ctx, const void *pointer) {
  (void)ctx;
  return array_there && in_array(pointer) ? KAON_AT_DEVICE : KAON_AT_HOST;
}

static void copy_bits(void *to, const void *from, size_t bytes, int invert) {
  for (size_t i = 0; i < bytes; i++)
    ((unsigned char *)to)[i] =
        (unsigned char)(((const unsigned char *)from)[i] ^ (invert ? 255 : 0));
}

static kaon_status play_to_host(kaon_context *ctx, void *host, const void *device, size_t bytes) {
  (void)ctx;
  copy_bits(host, device, bytes, array_there && in_array(device));
  return KAON_OK;
}

static kaon_status play_to_device(kaon_context *ctx, void *device, const void *host, size_t bytes) {
  (void)ctx;
  copy_bits(device, host, bytes, array_there && in_array(device));
  return KAON_OK;
}

/* Calls of import and export in between go through chunks, as on a device. */
static void device_begin(const setting *s) {
  if (s->device != NULL) s->ctx->backend = s->device;
}

static void device_end(const setting *s) {
  if (s->device != NULL) s->ctx->backend = s->own;
}

/* ---- orders ---- */

/* Where an array has real c = (spin * 3 + colour) * 2 + (0 or 1) of a site of slice s. */
static int index_of(const kaon_vector_layout *layout, int kind, int s, int site, int c) {
  const int half = V / 2, reals = kind_reals[kind];
  const int spin = c / 6, colour = c / 2 % 3, part = c % 2;
  int record = s * V + site;
  if (layout->sites == KAON_SITES_EVEN_ODD)
    record = parity_of(site) * kind_sites[kind] * half + s * half + site / 2;
  else if (layout->sites == KAON_SITES_ONE_PARITY)
    record = s * half + site / 2;
  if (layout->components == KAON_COMPONENTS_SPIN_COLOUR) return record * reals + c;
  return record * reals + (colour * (reals / 6) + spin) * 2 + part;
}

/* Arrays are doubles or floats; all numbers of the tests are floats. */
static double get(const kaon_vector_layout *layout, const void *from, int i) {
  return layout->precision == KAON_DOUBLE ? ((const double *)from)[i]
                                          : (double)((const float *)from)[i];
}

static void put(const kaon_vector_layout *layout, void *to, int i, double value) {
  if (layout->precision == KAON_DOUBLE)
    ((double *)to)[i] = value;
  else
    ((float *)to)[i] = (float)value;
}

/* The numbers of psi in the layout; where the vector has no site, `other`. */
static void arrange(const kaon_vector_layout *layout, int kind, kaon_parity parity,
                    const double *from, double other) {
  for (int i = 0; i < MOST; i++) put(layout, array, i, other);
  for (int s = 0; s < kind_sites[kind]; s++)
    for (int site = 0; site < V; site++)
      for (int c = 0; c < kind_reals[kind]; c++)
        if (parity == KAON_FULL || parity_of(site) == (int)parity)
          put(layout, array, index_of(layout, kind, s, site, c),
              from[(s * V + site) * kind_reals[kind] + c]);
}

static size_t bytes_of(const kaon_vector_layout *layout, int kind) {
  return (size_t)sites_in(layout, kind) * (size_t)kind_reals[kind] *
         (layout->precision == KAON_DOUBLE ? sizeof(double) : sizeof(float));
}

/* Import of the array has the bits of kaon_vector_import() of psi, and export those of
 * kaon_vector_export(), rounded once to floats. The other column stays 0. */
static void check_layout(const setting *s, int kind, kaon_parity parity, kaon_precision precision,
                         const kaon_vector_layout *layout) {
  kaon_vector *v = vector_on(s, kind, parity, precision);
  kaon_vector *w = vector_on(s, kind, parity, precision);
  const size_t bytes = bytes_of(layout, kind);
  const int numbers = kind_sites[kind] * V * kind_reals[kind];
  double norm2[2];
  arrange(layout, kind, parity, psi, NAN); /* sites of the other parity are not read */
  if (array_there) copy_bits(array, array, bytes, 1);
  device_begin(s);
  must(s->ctx, kaon_vector_import_ordered(v, 1, array, bytes, layout));
  device_end(s);
  must(s->ctx, kaon_vector_import(w, 1, psi, layout->basis));
  memset(all, 0, sizeof all);
  memset(same, 0, sizeof same);
  must(s->ctx, kaon_vector_export(v, 1, all, KAON_BASIS_UKQCD));
  must(s->ctx, kaon_vector_export(w, 1, same, KAON_BASIS_UKQCD));
  assert_memory_equal(all, same, (size_t)numbers * sizeof *all);
  must(s->ctx, kaon_vector_norm2(v, norm2));
  assert_true(norm2[0] == 0 && norm2[1] > 0);

  must(s->ctx, kaon_vector_export(w, 1, same, layout->basis));
  arrange(layout, kind, parity, same, 7);
  memcpy(all, array, sizeof all);
  for (int i = 0; i < MOST; i++) put(layout, array, i, 7);
  if (array_there) copy_bits(array, array, bytes, 1);
  device_begin(s);
  must(s->ctx, kaon_vector_export_ordered(v, 1, array, bytes, layout));
  device_end(s);
  if (array_there) copy_bits(array, array, bytes, 1);
  for (int i = 0; i < MOST; i++)
    if (get(layout, array, i) != get(layout, all, i))
      fail_msg("number %d is %g instead of %g (order %d, components %d, precision %d)", i,
               get(layout, array, i), get(layout, all, i), (int)layout->sites,
               (int)layout->components, (int)layout->precision);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&w);
}

static void check_layouts(const setting *s) {
  uint64_t seed = 5;
  for (int i = 0; i < MOST; i++) psi[i] = (double)(float)test_uniform(&seed);
  for (int i = 0; i < 3 * 2 * 2 * 4 * 3 * KINDS; i++) {
    kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
    layout.sites = (kaon_site_order)(i % 3);
    layout.components = (kaon_component_order)(i / 3 % 2);
    layout.precision = (kaon_precision)(i / 6 % 2);
    layout.basis = (kaon_basis)(i / 12 % 4);
    const kaon_parity parity = (kaon_parity)(i / 48 % 3);
    const int kind = i / 144, precisions = s->device != NULL ? 2 : 3;
    if (parity == KAON_FULL && layout.sites == KAON_SITES_ONE_PARITY) continue;
    if (kind == STAGGERED && layout.basis != KAON_BASIS_UKQCD) continue;
    check_layout(s, kind, parity, (kaon_precision)((i + i / 12) % precisions), &layout);
  }
}

static void every_layout_is_its_formula(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    setting s;
    if (machine_lacks(machine)) continue;
    open_setting(&s, machine);
    check_layouts(&s);
    close_setting(&s);
  }
}

static void a_device_gets_and_gives_every_layout(void **state) {
  (void)state;
  static const kaon_import_ops ops = {.import_values = play_import, .export_values = play_export};
  setting s;
  open_setting(&s, KAON_ISA_SCALAR);
  kaon_backend device = *s.ctx->backend;
  kaon_memory_ops memory = *s.ctx->backend->memory;
  memory.place = play_place;
  memory.to_host = play_to_host;
  memory.to_device = play_to_device;
  device.host_accessible = 0;
  device.import_ops = &ops;
  device.memory = &memory;
  s.own = s.ctx->backend;
  s.device = &device;
  for (array_there = 0; array_there < 2; array_there++) check_layouts(&s);
  array_there = 0;
  close_setting(&s);
}

/* The odd half of a whole even-odd array is an array of one parity. */
static void halves_of_a_whole_array_are_arrays_of_one_parity(void **state) {
  (void)state;
  setting s;
  open_setting(&s, KAON_ISA_AUTO);
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  kaon_vector *full = vector_on(&s, STAGGERED, KAON_FULL, KAON_DOUBLE);
  kaon_vector *odd = vector_on(&s, STAGGERED, KAON_ODD, KAON_DOUBLE);
  const size_t half = V / 2 * 6;
  for (int i = 0; i < V * 6; i++) psi[i] = i + 1;
  layout.sites = KAON_SITES_EVEN_ODD;
  must(s.ctx, kaon_vector_import_ordered(full, 0, psi, 2 * half * sizeof *psi, &layout));
  must(s.ctx, kaon_vector_import_ordered(odd, 0, psi, 2 * half * sizeof *psi, &layout));
  layout.sites = KAON_SITES_ONE_PARITY;
  must(s.ctx, kaon_vector_export_ordered(odd, 0, array, half * sizeof *psi, &layout));
  assert_memory_equal(array, psi + half, half * sizeof *psi);
  double norm2[2], sum = 0;
  must(s.ctx, kaon_vector_norm2(full, norm2));
  for (int i = 0; i < V * 6; i++) sum += psi[i] * psi[i]; /* integers, exact */
  assert_true(norm2[0] == sum);
  kaon_vector_destroy(&full);
  kaon_vector_destroy(&odd);
  close_setting(&s);
}

/* gamma_5 is diag(-1, -1, 1, 1). Two changes of basis and the product round each number by at most
 * 3 u of itself, which is below sqrt 2: 1.42 * 3 u twice, through a sum of two, and 3 u. */
static void gamma5_is_diagonal_in_the_chiral_basis(void **state) {
  (void)state;
  setting s;
  uint64_t seed = 9;
  double worst = 0;
  open_setting(&s, KAON_ISA_AUTO);
  kaon_vector *v = vector_on(&s, SPINOR, KAON_FULL, KAON_DOUBLE);
  kaon_vector *w = vector_on(&s, SPINOR, KAON_FULL, KAON_DOUBLE);
  for (int i = 0; i < V * 24; i++) psi[i] = test_uniform(&seed);
  must(s.ctx, kaon_vector_import(v, 0, psi, KAON_BASIS_CHIRAL));
  must(s.ctx, kaon_vector_gamma5(v, w));
  must(s.ctx, kaon_vector_export(w, 0, all, KAON_BASIS_CHIRAL));
  for (int i = 0; i < V * 24; i++)
    worst = fmax(worst, fabs(all[i] - (i % 24 < 12 ? -psi[i] : psi[i])));
  test_below("gamma_5 in the chiral basis", worst, 9 * 0x1p-53);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&w);
  close_setting(&s);
}

static void refuse(const setting *s, kaon_vector *v, size_t bytes, const kaon_vector_layout *layout,
                   kaon_status expected, const char *says) {
  must_refuse(s->ctx, expected, kaon_vector_import_ordered(v, 0, psi, bytes, layout));
  if (strstr(kaon_last_error(s->ctx), says) == NULL) fail_msg("%s", kaon_last_error(s->ctx));
  must_refuse(s->ctx, expected, kaon_vector_export_ordered(v, 0, array, bytes, layout));
  if (strstr(kaon_last_error(s->ctx), says) == NULL) fail_msg("%s", kaon_last_error(s->ctx));
}

static void wrong_lengths_and_layouts_are_refused(void **state) {
  (void)state;
  setting s;
  open_setting(&s, KAON_ISA_AUTO);
  kaon_vector *full = vector_on(&s, SPINOR, KAON_FULL, KAON_DOUBLE);
  kaon_vector *even = vector_on(&s, SPINOR, KAON_EVEN, KAON_SINGLE);
  kaon_vector *chi = vector_on(&s, STAGGERED, KAON_FULL, KAON_DOUBLE), *own = NULL;
  kaon_space *space = NULL;
  const size_t whole = V * 24 * sizeof(double);
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  memset(psi, 0, sizeof psi);
  must(s.ctx, kaon_vector_import_ordered(full, 1, psi, whole, &layout));
  must_refuse(s.ctx, KAON_ERR_SHAPE, kaon_vector_import_ordered(full, 2, psi, whole, &layout));
  must_refuse(s.ctx, KAON_ERR_ARGUMENT, kaon_vector_import_ordered(full, 0, NULL, whole, &layout));
  must_refuse(s.ctx, KAON_ERR_ARGUMENT, kaon_vector_export_ordered(full, 0, psi, whole, NULL));
  refuse(&s, full, whole - 8, &layout, KAON_ERR_SHAPE, "73720 bytes, but 384 sites");
  refuse(&s, even, whole / 2, &layout, KAON_ERR_SHAPE, "73728");
  layout.precision = KAON_SINGLE;
  refuse(&s, full, whole, &layout, KAON_ERR_SHAPE, "36864");
  layout.sites = KAON_SITES_ONE_PARITY;
  refuse(&s, full, whole / 4, &layout, KAON_ERR_SHAPE, "KAON_SITES_EVEN_ODD");
  refuse(&s, even, whole / 2, &layout, KAON_ERR_SHAPE, "18432");
  layout = (kaon_vector_layout){.size = sizeof layout, .sites = (kaon_site_order)3};
  refuse(&s, full, whole, &layout, KAON_ERR_ARGUMENT, "order of sites 3");
  layout = (kaon_vector_layout){.size = sizeof layout, .components = (kaon_component_order)-1};
  refuse(&s, full, whole, &layout, KAON_ERR_ARGUMENT, "order of components -1");
  layout = (kaon_vector_layout){.size = sizeof layout, .precision = KAON_HALF};
  refuse(&s, full, whole / 4, &layout, KAON_ERR_ARGUMENT, "precision is 2");
  layout = (kaon_vector_layout){.size = sizeof layout, .basis = (kaon_basis)7};
  refuse(&s, full, whole, &layout, KAON_ERR_ARGUMENT, "basis 7");
  layout.basis = KAON_BASIS_CHIRAL;
  refuse(&s, chi, whole / 4, &layout, KAON_ERR_ARGUMENT, "basis chiral is for spinors");
  layout.size = 0;
  refuse(&s, full, whole, &layout, KAON_ERR_ARGUMENT, "KAON_VECTOR_LAYOUT_INIT");
  must(s.ctx, kaon_space_create(s.ctx, 10, 3, 0, &space));
  must(s.ctx, kaon_vector_create(s.ctx, space, KAON_DOUBLE, 1, &own));
  layout = (kaon_vector_layout)KAON_VECTOR_LAYOUT_INIT;
  must(s.ctx, kaon_vector_import_ordered(own, 0, psi, 10 * 3 * sizeof(double), &layout));
  layout.sites = KAON_SITES_EVEN_ODD;
  refuse(&s, own, 10 * 3 * sizeof(double), &layout, KAON_ERR_ARGUMENT, "vectors of a lattice");
  kaon_vector_destroy(&own);
  kaon_vector_destroy(&chi);
  kaon_vector_destroy(&even);
  kaon_vector_destroy(&full);
  kaon_space_destroy(&space);
  close_setting(&s);
}

static void numbers_that_cannot_be_stored_are_named(void **state) {
  (void)state;
  setting s;
  open_setting(&s, KAON_ISA_AUTO);
  kaon_vector *odd = vector_on(&s, SPINOR, KAON_ODD, KAON_HALF);
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  layout.sites = KAON_SITES_ONE_PARITY;
  layout.components = KAON_COMPONENTS_COLOUR_SPIN;
  layout.precision = KAON_SINGLE;
  memset(array, 0, sizeof array);
  const int site = 3 + X * (5 + Y * (1 + Z * 6)); /* odd */
  put(&layout, array, index_of(&layout, SPINOR, 0, site, (2 * 3 + 1) * 2 + 1), INFINITY);
  must_refuse(s.ctx, KAON_ERR_NOT_FINITE,
              kaon_vector_import_ordered(odd, 0, array, bytes_of(&layout, SPINOR), &layout));
  assert_non_null(strstr(kaon_last_error(s.ctx), "site (3, 5, 1, 6), spin 2, colour 1, imag"));
  kaon_vector_destroy(&odd);
  close_setting(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout_is_its_formula),
      cmocka_unit_test(a_device_gets_and_gives_every_layout),
      cmocka_unit_test(halves_of_a_whole_array_are_arrays_of_one_parity),
      cmocka_unit_test(gamma5_is_diagonal_in_the_chiral_basis),
      cmocka_unit_test(wrong_lengths_and_layouts_are_refused),
      cmocka_unit_test(numbers_that_cannot_be_stored_are_named),
  };
  return test_main(tests, NULL, NULL);
}

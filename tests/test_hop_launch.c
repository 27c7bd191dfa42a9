/* test_hop_launch.c - what follows the choice of a GPU kernel (dslash/cuda/choose.c): one launcher is
 * called, messages have their kernel, rows are complete, and the log says what was chosen. Needs no
 * device: this program has launchers of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/util/hop_launchers.h"

/* The launcher of the chosen row and storage is called once, with the caller's arguments. */
static void one_launcher_is_called(void **unused) {
  (void)unused;
  static const char letter[] = "dsh";
  const kaon_stencil st = stencil_of((const int[4])L32, 0), cut = stencil_of((const int[4])L32, 4),
                     few = stencil_of((const int[4])L8, 0);
  const struct {
    const kaon_stencil *st;
    int columns, part;
    const char *launcher;
  } cases[] = {{&st, 1, KAON_PART_ALL, "kaon_hop"},
               {&few, 1, KAON_PART_ALL, "kaon_hop_pair"},
               {&st, 12, KAON_PART_ALL, "kaon_hop_staged"},
               {&cut, 1, KAON_PART_ALL, "kaon_hop_cut"},
               {&st, 1, KAON_PART_INTERIOR, "kaon_hop_faces"},
               {&st, 1, KAON_PART_BOUNDARY, "kaon_hop_faces"}};
  for (int precision = 0; precision < 3; precision++)
    for (int recon = 0; recon < 3; recon++)
      for (int i = 0; i < COUNT(cases); i++) {
        char name[64];
        const int no_stage = i == 2 && precision == D && recon == 0;
        kaon_hop_args args = hop_args_of(cases[i].st, cases[i].columns, recons[recon], 0, SUM_NONE);
        args.part = cases[i].part;
        memset(&called, 0, sizeof called);
        hop_ops[precision]->hop(&plain_launch, &args);
        snprintf(name, sizeof name, "%s_%c", no_stage ? "kaon_hop" : cases[i].launcher,
                 letter[precision]);
        assert_string_equal(called.launcher, name);
        assert_int_equal(called.recon, recons[recon]);
        assert_int_equal(called.calls, 1);
        assert_ptr_equal(called.args, &args);
        assert_null(called.gather);
      }
}

static void messages_are_written_by_the_kernel_of_faces(void **unused) {
  (void)unused;
  const kaon_stencil st = stencil_of((const int[4])L8, 0);
  kaon_hop_args args = hop_args_of(&st, 1, 12, 0, SUM_NONE);
  const kaon_gather_args gather = {
      .stencil = &st, .nrhs = 1, .recon = 12, .coefficient = {1, 1, 1, 1}};
  hop_ops[S]->gather(&plain_launch, &gather);
  assert_string_equal(called.launcher, "kaon_hop_faces_s");
  assert_int_equal(called.part, KAON_PART_GATHER);
  assert_ptr_equal(called.gather, &gather);
  args.part = KAON_PART_FUSED;
  hop_ops[S]->hop_fused(&plain_launch, &gather, &args);
  assert_string_equal(called.launcher, "kaon_hop_faces_s");
  assert_int_equal(called.part, KAON_PART_FUSED);
  assert_ptr_equal(called.args, &args);
}

/* Hops in one direction have one kernel for all parts but the messages, which are those of all
 * directions. Blocks are cut at the same sites on both launches. */
static void hops_in_one_direction_have_a_kernel(void **unused) {
  (void)unused;
  static const char *const expected[] = {"hop_along", "hop_along", "hop_along", NULL, "hop_faces"};
  static const char *const staggered[] = {"staggered_along", "staggered_along", "staggered_along",
                                          NULL, "staggered_faces"};
  for (int precision = 0; precision < 3; precision++)
    for (int i = 0; i < 4 * COUNT(shapes); i++)
      for (int part = KAON_PART_ALL; part <= KAON_PART_GATHER; part++) {
        kaon_stencil st = stencil_of(shapes[i / 4], i % 2 * 2);
        kaon_hop_args args = hop_args_of(&st, 1 + i % 5, recons[i % 3], i / 2 % 2, SUM_NONE);
        kaon_staggered_args thin = {
            .stencil = &st, .nrhs = 1 + i % 5, .part = part, .fat.recon = recons[i % 3]};
        if (expected[part] == NULL) continue; /* no launch has both */
        st.along = 1 + i % 8;
        args.part = part;
        const kaon_kernel_choice c = kaon_hop_choose(precision, &plain_launch, &args);
        const kaon_kernel_choice s = kaon_staggered_choose(precision, &thin);
        assert_string_equal(c.row->name, expected[part]);
        assert_string_equal(s.row->name, staggered[part]);
        args.part = thin.part = KAON_PART_GATHER;
        assert_int_equal(c.threads, kaon_hop_choose(precision, &plain_launch, &args).threads);
        assert_int_equal(s.threads, kaon_staggered_choose(precision, &thin).threads);
        assert_int_equal(s.groups, kaon_staggered_choose(precision, &thin).groups);
        assert_int_equal(hop_ops[precision]->hop_writes(&st, 1), KAON_WRITES_OUT);
      }
}

static void rows_are_complete(void **unused) {
  (void)unused;
  for (int precision = 0; precision < 3; precision++)
    for (int i = 0; i < HOP_KERNELS; i++) {
      const kaon_kernel_row *row = &kaon_hop_rows[i];
      assert_non_null(row->name);
      assert_non_null(row->when);
      assert_true(row->writes & KAON_WRITES_OUT);
      assert_true(row->least_threads[precision] % 32 == 0);
      assert_int_equal(row->threads[precision] % row->least_threads[precision], 0);
      for (int links = 0; links < 3; links++)
        assert_int_equal(row->hop[precision][links] != NULL, row->links[precision] >> links & 1);
    }
}

static char logged[512];
static void keep_line(void *user, kaon_log_level level, const char *line) {
  (void)user;
  if (level == KAON_LOG_DEBUG) snprintf(logged, sizeof logged, "%s", line);
}

static void the_log_names_the_kernel_and_the_reason(void **unused) {
  (void)unused;
  kaon_context *ctx = NULL;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  options.log = keep_line;
  options.log_level = KAON_LOG_DEBUG;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  kaon_launch launch;
  assert_int_equal(kaon_launch_prepare(ctx, 1, 0, &launch), KAON_OK);
  kaon_stencil st = stencil_of((const int[4])L8, 0);
  st.faces = NULL;
  kaon_hop_args args = hop_args_of(&st, 1, 12, 0, SUM_NONE);
  hop_ops[S]->hop(&launch, &args);
  assert_string_equal(
      logged,
      "hop in single on 8 x 8 x 8 x 8 sites, reals of a link: 12, columns: 1. "
      "Kernel hop_pair (few sites, or tuning: two warps share 32 sites). Threads of "
      "a block: 64, columns at a time: 1, sums: none");
  st.faces = &faces;
  args.part = KAON_PART_INTERIOR;
  hop_ops[S]->hop(&launch, &args);
  assert_non_null(strstr(logged, "Kernel hop_faces (the lattice is partitioned)"));
  const kaon_staggered_args thin = {
      .stencil = &st, .nrhs = 6, .fat.recon = 18, .part = KAON_PART_BOUNDARY};
  staggered_ops[H]->hop(&launch, &thin);
  assert_non_null(
      strstr(logged, "columns: 6. Kernel staggered_faces (the lattice is partitioned)"));
  kaon_context_destroy(&ctx);
}

static void count_line(void *user, kaon_log_level level, const char *line) {
  assert_int_equal(level, KAON_LOG_DEBUG);
  *(int *)user += strncmp(line, "hop", 3) == 0;
}

/* A context forgets lines only after as many others. */
static void a_line_is_logged_once(void **unused) {
  (void)unused;
  int lines = 0;
  char other[32];
  kaon_context *ctx = NULL;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  options.log = count_line;
  options.log_user = &lines;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  kaon_log_once(ctx, KAON_LOG_DEBUG, "hop"); /* not wanted */
  assert_int_equal(lines, 0);
  kaon_context_destroy(&ctx);
  options.log_level = KAON_LOG_DEBUG;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < KAON_LOGGED; i++) {
      snprintf(other, sizeof other, "hop %d", i);
      kaon_log_once(ctx, KAON_LOG_DEBUG, other);
    }
    assert_int_equal(lines, KAON_LOGGED);
  }
  kaon_log_once(ctx, KAON_LOG_DEBUG, "hop");
  kaon_log_once(ctx, KAON_LOG_DEBUG, "hop 0");
  assert_int_equal(lines, KAON_LOGGED + 2);
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_launcher_is_called),
      cmocka_unit_test(messages_are_written_by_the_kernel_of_faces),
      cmocka_unit_test(hops_in_one_direction_have_a_kernel),
      cmocka_unit_test(rows_are_complete),
      cmocka_unit_test(the_log_names_the_kernel_and_the_reason),
      cmocka_unit_test(a_line_is_logged_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_context.c - contexts, tables of options, status texts, the memory pool, and the guards of
 * check mode. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "lib/core/context_internal.h"
#include "lib/cpu/backend.h"
#include "lib/cpu/free_memory.h"
#include "lib/core/options_table.h"
#include "lib/core/refusal.h"
#include "lib/vector/space.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

static void init_macros_equal_the_tables(void **state) {
  (void)state;
  const kaon_context_options context = KAON_CONTEXT_OPTIONS_INIT;
  const kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  const kaon_even_odd_options even_odd = KAON_EVEN_ODD_OPTIONS_INIT;
  const kaon_solver_options solver = KAON_SOLVER_OPTIONS_INIT;
  const kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
  const kaon_schwarz_options schwarz = KAON_SCHWARZ_OPTIONS_INIT;
  const kaon_matrix_options matrix = KAON_MATRIX_OPTIONS_INIT;
  const kaon_matrix_operator_options product = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  const kaon_shell_options shell = KAON_SHELL_OPTIONS_INIT;
  const kaon_precond_options precond = KAON_PRECOND_OPTIONS_INIT;
  const kaon_chebyshev_options chebyshev = KAON_CHEBYSHEV_OPTIONS_INIT;
  const kaon_multishift_options multishift = KAON_MULTISHIFT_OPTIONS_INIT;
  const kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
  const kaon_fault_options faults = KAON_FAULT_OPTIONS_INIT;
  const kaon_kaczmarz_options kaczmarz = KAON_KACZMARZ_OPTIONS_INIT;
  const kaon_staggered_options staggered = KAON_STAGGERED_OPTIONS_INIT;
  const kaon_fatten_options fatten = KAON_FATTEN_OPTIONS_INIT;
  const kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  const kaon_lab_relax_options lab_relax = KAON_LAB_RELAX_OPTIONS_INIT;
  const kaon_gauge_read_options gauge_read = KAON_GAUGE_READ_OPTIONS_INIT;
  const kaon_gauge_write_options gauge_write = KAON_GAUGE_WRITE_OPTIONS_INIT;
  const kaon_propagator_read_options propagator_read = KAON_PROPAGATOR_READ_OPTIONS_INIT;
  const kaon_propagator_write_options propagator_write = KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
  const kaon_domain_wall_options domain_wall = KAON_DOMAIN_WALL_OPTIONS_INIT;
  const void *macros[] = {
      &context,   &dirac,      &even_odd,    &solver,          &heatbath,         &schwarz,
      &matrix,    &product,    &shell,       &precond,         &chebyshev,        &multishift,
      &relax,     &faults,     &kaczmarz,    &staggered,       &fatten,           &lab,
      &lab_relax, &gauge_read, &gauge_write, &propagator_read, &propagator_write, &domain_wall};
  for (int kind = 0; kind <= KAON_OPTIONS_DOMAIN_WALL; kind++) {
    char fresh[512], by_macro[512], by_table[512];
    size_t length;
    assert_int_equal(kaon_options_init((kaon_options_kind)kind, fresh, sizeof fresh), KAON_OK);
    assert_int_equal(kaon_options_check((kaon_options_kind)kind, macros[kind]), KAON_OK);
    kaon_options_print((kaon_options_kind)kind, macros[kind], by_macro, sizeof by_macro, &length);
    kaon_options_print((kaon_options_kind)kind, fresh, by_table, sizeof by_table, NULL);
    assert_string_equal(by_macro, by_table);
    assert_int_equal(length, strlen(by_macro) + 1);
    print_message("%s\n", by_macro);
  }
}

static void options_structs_hold_at_most_16_fields(void **state) {
  (void)state;
  for (int kind = 0; kind <= KAON_OPTIONS_DOMAIN_WALL; kind++) {
    int fields = 2;
    while (kaon_options_help((kaon_options_kind)kind, fields - 2) != NULL) fields++;
    assert_true(fields <= 16);
  }
}

static void printed_options_parse_back(void **state) {
  (void)state;
  kaon_solver_options a = KAON_SOLVER_OPTIONS_INIT, b = KAON_SOLVER_OPTIONS_INIT;
  assert_int_equal(kaon_options_parse(
                       KAON_OPTIONS_SOLVER, &a,
                       "method=bicgstab, tol=3.7e-9,sloppy=half reconstruct=12\nmax_iterations=77"),
                   KAON_OK);
  assert_int_equal(a.method, KAON_BICGSTAB);
  assert_int_equal(a.sloppy, KAON_HALF);
  assert_int_equal(a.reconstruct, KAON_RECONSTRUCT_12);
  assert_int_equal(a.max_iterations, 77);
  char text[1024];
  kaon_options_print(KAON_OPTIONS_SOLVER, &a, text, sizeof text, NULL);
  assert_int_equal(kaon_options_parse(KAON_OPTIONS_SOLVER, &b, text), KAON_OK);
  char again[1024];
  kaon_options_print(KAON_OPTIONS_SOLVER, &b, again, sizeof again, NULL);
  assert_string_equal(text, again);
  assert_true(a.tol == b.tol && b.max_iterations == 77 && b.sloppy == KAON_HALF);
}

static void seeds_keep_all_64_bits(void **state) {
  (void)state;
  kaon_heatbath_options options = KAON_HEATBATH_OPTIONS_INIT;
  assert_int_equal(kaon_options_parse(KAON_OPTIONS_HEATBATH, &options, "seed=18446744073709551557"),
                   KAON_OK);
  assert_true(options.seed == UINT64_C(18446744073709551557));
}

static void bad_options_change_nothing_and_say_what_is_allowed(void **state) {
  (void)state;
  const char *bad[] = {"method=cgx",
                       "method=cg,tol=-1",
                       "tol=nan",
                       "tol=1e999",
                       "tolerance=1e-8",
                       "check_interval=0",
                       "subspace=33",
                       "tol",
                       "max_iterations=1.5",
                       "max_iterations=99999999999",
                       "tol=1e-5x",
                       "sloppy=",
                       "sloppy=1",
                       "tol=1e-5,method=cg,tol=1e-5"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const kaon_solver_options defaults = KAON_SOLVER_OPTIONS_INIT;
    kaon_solver_options options, before;
    memset(&options, 0, sizeof options); /* padding as well: it is compared */
    options = defaults;
    memcpy(&before, &options, sizeof before);
    assert_int_equal(kaon_options_parse(KAON_OPTIONS_SOLVER, &options, bad[i]), KAON_ERR_ARGUMENT);
    assert_memory_equal(&options, &before, sizeof options);
    print_message("%-28s %s\n", bad[i], kaon_last_error(NULL));
    assert_true(strlen(kaon_last_error(NULL)) > 20);
  }
  kaon_dirac_options old = KAON_DIRAC_OPTIONS_INIT;
  old.version = 9;
  assert_int_equal(kaon_options_check(KAON_OPTIONS_DIRAC, &old), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_options_init((kaon_options_kind)99, &old, sizeof old), KAON_ERR_ARGUMENT);
}

static void every_status_has_a_name_and_a_text(void **state) {
  (void)state;
  for (int code = 0; code <= KAON_ERR_INTERNAL; code++) {
    assert_int_equal(strncmp(kaon_status_name((kaon_status)code), "KAON_", 5), 0);
    assert_string_not_equal(kaon_status_text((kaon_status)code), "unknown status");
  }
  assert_string_equal(kaon_status_name((kaon_status)999), "KAON_ERR_?");
}

/* Of the last call of this thread, with whatever context or none; "" after a success. */
static void the_sentence_is_about_the_last_call(void **state) {
  const int odd[4] = {3, 4, 4, 4}, even[4] = {4, 4, 4, 4};
  kaon_context *a = NULL, *b = NULL;
  kaon_lattice *lattice = NULL;
  kaon_saved_error kept;
  (void)state;
  must(NULL, kaon_context_create(NULL, &a));
  assert_string_equal(kaon_last_error(a), ""); /* also where no device was found on the way */
  must(NULL, kaon_context_create(NULL, &b));
  must_refuse(a, KAON_ERR_ARGUMENT, kaon_lattice_create(a, odd, KAON_PERIODIC, &lattice));
  assert_non_null(strstr(kaon_last_error(a), "extent X"));
  assert_string_equal(kaon_last_error(NULL), kaon_last_error(a));
  must_refuse(a, KAON_ERR_ARGUMENT, kaon_vector_zero(NULL));
  assert_non_null(strstr(kaon_last_error(a), "kaon_vector_zero: the argument vector is NULL"));
  must(b, kaon_lattice_create(b, even, KAON_PERIODIC, &lattice));
  assert_string_equal(kaon_last_error(a), "");
  kaon_lattice_destroy(&lattice);
  kaon_fail(a, KAON_ERR_SHAPE, "of %s", "a");
  kaon_error_save(&kept);
  kaon_fail(b, KAON_ERR_COMM, "on the way out");
  kaon_error_restore(&kept);
  assert_string_equal(kaon_last_error(b), "of a");
  must_refuse(a, KAON_ERR_SHAPE, kaon_context_agree(a, KAON_ERR_SHAPE));
  assert_string_equal(kaon_last_error(a), "of a");
  must(a, kaon_context_agree(a, KAON_OK));
  must_refuse(a, KAON_ERR_IO, kaon_context_agree(a, KAON_ERR_IO));
  assert_string_equal(kaon_last_error(a), kaon_status_text(KAON_ERR_IO));
  kaon_context_destroy(&a);
  kaon_context_destroy(&b);
  assert_null(b);
}

static void unusable_backends_are_refused_with_a_sentence(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.backend = KAON_BACKEND_CUDA;
  const kaon_status status = kaon_context_create(&options, &ctx);
  if (status == KAON_OK) {
    print_message("there is a usable device\n");
  } else {
    assert_true(status == KAON_ERR_NOT_BUILT || status == KAON_ERR_NO_DEVICE);
    assert_null(ctx);
    assert_non_null(strstr(kaon_last_error(NULL), "cpu"));
    print_message("%s\n", kaon_last_error(NULL));
  }
  kaon_context_destroy(&ctx);
  options.backend = KAON_BACKEND_AUTO;
  setenv("KAON_BACKEND", "gpu", 1);
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_ERR_ARGUMENT);
  unsetenv("KAON_BACKEND");
  print_message("%s\n", kaon_last_error(NULL));
}

#define FOUND .compiled = "80, 90", .text = "some text", .name = "someName"

/* What a machine without a device, or with another one, would be told. */
static void what_hinders_cuda_is_said_with_the_way_out(void **state) {
  static const struct {
    kaon_cuda_status_facts facts;
    kaon_status status;
    const char *words[5];
  } cases[] = {
      {{.compiled = NULL}, KAON_ERR_NOT_BUILT, {"built without it", "-DKAON_CUDA=ON"}},
      {{FOUND, .error = KAON_CUDA_OLD_DRIVER, .runtime = 12080},
       KAON_ERR_NO_DEVICE,
       {"needs an NVIDIA driver and none is loaded"}},
      {{FOUND, .error = KAON_CUDA_OLD_DRIVER, .driver = 11080, .runtime = 12090},
       KAON_ERR_NO_DEVICE,
       {"driver supports CUDA 11.8", "built with CUDA 12.9", "update the driver", "older toolkit"}},
      {{FOUND, .error = KAON_CUDA_NO_DEVICE, .driver = 12080, .runtime = 12080},
       KAON_ERR_NO_DEVICE,
       {"shows no device", "CUDA_VISIBLE_DEVICES"}},
      {{FOUND, .driver = 12080, .runtime = 12080},
       KAON_ERR_NO_DEVICE,
       {"shows no device", "CUDA_VISIBLE_DEVICES"}},
      {{FOUND, .error = KAON_CUDA_NO_IMAGE, .driver = 12080, .runtime = 12080, .devices = 1,
        .device = "A card", .major = 7, .minor = 5},
       KAON_ERR_NO_DEVICE,
       {"A card has compute capability 7.5", "code for 80, 90", "-DKAON_CUDA_ARCHS=75"}},
      {{FOUND, .error = KAON_CUDA_NO_FUNCTION, .driver = 12080, .devices = 1, .device = "A card",
        .major = 12, .minor = 0},
       KAON_ERR_NO_DEVICE,
       {"A card has compute capability 12.0", "-DKAON_CUDA_ARCHS=120"}},
      {{FOUND, .error = KAON_CUDA_NEW_PTX, .driver = 12080, .devices = 1, .device = "A card",
        .major = 10, .minor = 3},
       KAON_ERR_NO_DEVICE,
       {"A card has compute capability 10.3", "-DKAON_CUDA_ARCHS=103"}},
      {{FOUND, .error = 2, .driver = 12080, .devices = 1, .device = "A card"},
       KAON_ERR_DEVICE,
       {"A card does not start: some text (someName)"}},
      {{FOUND, .error = 999, .driver = 12080, .runtime = 12080},
       KAON_ERR_DEVICE,
       {"cuda does not start: some text (someName)"}}};
  const kaon_cuda_status_facts usable = {FOUND, .driver = 12080, .runtime = 12080, .devices = 2};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(kaon_cuda_usable(&cases[i].facts), cases[i].status);
    const char *said = kaon_last_error(NULL);
    print_message("%s\n", said);
    for (int k = 0; k < 5 && cases[i].words[k] != NULL; k++)
      assert_non_null(strstr(said, cases[i].words[k]));
    assert_non_null(strstr(said, "use --backend cpu"));
  }
  assert_int_equal(kaon_cuda_usable(&usable), KAON_OK);
}

static void the_pool_reuses_and_counts(void **state) {
  (void)state;
  kaon_context *ctx = NULL;
  assert_int_equal(kaon_context_create(NULL, &ctx), KAON_OK);
  void *a, *b;
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  assert_int_equal(kaon_pool_allocate(ctx, 1000000, "a", &a), KAON_OK);
  assert_int_equal((uintptr_t)a % 64, 0);
  kaon_pool_release(ctx, a);
  assert_int_equal(kaon_pool_allocate(ctx, 990000, "b", &b), KAON_OK);
  assert_ptr_equal(a, b);
  kaon_context_query(ctx, &info);
  assert_in_range(info.memory_now, 990000, 1003520);
  assert_int_equal(info.memory_peak, info.memory_now);
  kaon_pool_release(ctx, b);
  kaon_pool_release(ctx, NULL);
  kaon_context_query(ctx, &info);
  assert_int_equal(info.memory_now, 0);
  kaon_context_destroy(&ctx);
}

static void the_memory_limit_is_kept_and_named(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.memory_limit = 1 << 20;
  kaon_context *ctx = NULL;
  void *a, *b;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  assert_int_equal(kaon_pool_allocate(ctx, 600000, "first field", &a), KAON_OK);
  assert_int_equal(kaon_pool_allocate(ctx, 600000, "second field", &b), KAON_ERR_MEMORY);
  print_message("%s\n", kaon_last_error(ctx));
  assert_non_null(strstr(kaon_last_error(ctx), "second field"));
  kaon_pool_release(ctx, a);
  assert_int_equal(kaon_pool_allocate(ctx, 1000000, "third field", &b), KAON_OK);
  kaon_pool_release(ctx, b);
  kaon_context_destroy(&ctx);
}

/* By the names that the library's users and the program's have for it. */
static void library_calls_that_there_are_not_are_refused(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.backend = KAON_BACKEND_CPU;
  options.lab = &lab;
  lab.issue = KAON_ISSUE_LIBRARY;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_ERR_UNSUPPORTED);
  assert_null(ctx);
  assert_non_null(strstr(kaon_last_error(NULL), "issue=separate (--regime kernels)"));
}

/* ---- free memory, as files of Linux tell it ---- */

/* Writes a file below `root`, with the folders on its way. */
static void put(const char *root, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s%s", root, name);
  for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0777);
    *slash = '/';
  }
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

#define MEMINFO "MemTotal:       24684084 kB\nMemFree: 5 kB\nMemAvailable:   1000 kB\n"
#define V1_LIST "4:cpu,memory:/docker/abc\n1:name=systemd:/x\n"
#define V2_STAT "anon 7\ninactive_file 20000\nactive_file 10000\n"
#define V1_STAT "inactive_file 1\ntotal_inactive_file 3000\ntotal_active_file 2000\n"
#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"

static void free_memory_is_the_least_of_what_bounds_it(void **state) {
  (void)state;
  static const struct {
    const char *what;
    const char *files[20]; /* name, text, ... */
    int64_t bytes;
  } cases[] = {
      {"nothing known", {NULL}, -1},
      {"no groups", {"/proc/meminfo", MEMINFO}, 1024000},
      {"an old kernel", {"/proc/meminfo", "MemTotal: 7 kB\nMemFree: 5 kB\n"}, -1},
      {"no number", {"/proc/meminfo", "MemAvailable: much kB\n"}, -1},
      {"no unit", {"/proc/meminfo", "MemAvailable: 1000\n"}, -1},
      {"version 2, a parent's limit",
       {"/proc/meminfo", MEMINFO, "/proc/self/cgroup", "0::/a/b\n", V2 "/a/b/memory.max", "max\n",
        V2 "/a/b/memory.current", "60000\n", V2 "/a/b/memory.stat", V2_STAT, V2 "/a/memory.max",
        "500000\n", V2 "/a/memory.current", "100000\n", V2 "/a/memory.stat", V2_STAT},
       430000},
      {"version 2, a container's root; more than the machine has",
       {"/proc/meminfo", MEMINFO, "/proc/self/cgroup", "0::/\n", V2 "/memory.max", "5000000\n",
        V2 "/memory.current", "100000\n", V2 "/memory.stat", V2_STAT},
       1024000},
      {"what the kernel notes about files is given back as well",
       {"/proc/self/cgroup", "0::/\n", V2 "/memory.max", "100000\n", V2 "/memory.current",
        "90000\n", V2 "/memory.stat", V2_STAT "slab_reclaimable 25000\n"},
       65000},
      {"used up",
       {"/proc/meminfo", MEMINFO, "/proc/self/cgroup", "0::/\n", V2 "/memory.max", "50000\n",
        V2 "/memory.current", "90000\n", V2 "/memory.stat", V2_STAT},
       0},
      {"a group that cannot be understood",
       {"/proc/meminfo", MEMINFO, "/proc/self/cgroup", "0::/\n", V2 "/memory.max", "5\n",
        V2 "/memory.current", "90000\n", V2 "/memory.stat", "anon 7\n"},
       1024000},
      {"version 1, whose group leads nowhere in a container; nothing of the machine",
       {"/proc/self/cgroup", V1_LIST, V1 "/memory.limit_in_bytes", "20000\n",
        V1 "/memory.usage_in_bytes", "15000\n", V1 "/memory.stat", V1_STAT},
       10000},
      {"version 1 without a limit",
       {"/proc/meminfo", MEMINFO, "/proc/self/cgroup", V1_LIST,
        V1 "/docker/abc/memory.limit_in_bytes", "9223372036854771712\n",
        V1 "/docker/abc/memory.usage_in_bytes", "15000\n", V1 "/docker/abc/memory.stat", V1_STAT},
       1024000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char root[] = "/tmp/kaon-free-XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    for (int k = 0; cases[i].files[k]; k += 2) put(root, cases[i].files[k], cases[i].files[k + 1]);
    print_message("%s: %lld\n", cases[i].what, (long long)kaon_cpu_free_memory(root));
    assert_int_equal(kaon_cpu_free_memory(root), cases[i].bytes);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
  }
}

static void the_cpu_says_what_is_free(void **state) {
  (void)state;
  const int64_t there = kaon_cpu_free_memory("");
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  kaon_context *ctx = NULL;
  options.backend = KAON_BACKEND_CPU;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  kaon_context_query(ctx, &info);
  if (there < 0) assert_int_equal(info.memory_free, -1);
  if (there >= 0) assert_true(info.memory_free > 0);
  if (there >= 0) assert_int_equal(kaon_pool_require(ctx, SIZE_MAX / 4, "all"), KAON_ERR_MEMORY);
  if (there >= 0) assert_non_null(strstr(kaon_last_error(ctx), "all needs 4611686018427387903"));
  assert_int_equal(kaon_pool_require(ctx, 4096, "a page"), KAON_OK);
  kaon_context_destroy(&ctx);
}

static void large_caches_count_by_threads(void **state) {
  static const struct {
    size_t last; /* MB */
    int threads;
    size_t expected;
  } rows[] = {{32, 1, 32},   {32, 64, 32},   {64, 2, 64},    {65, 1, 64},
              {96, 2, 64},   {96, 24, 96},   {300, 2, 64},   {300, 16, 64},
              {300, 17, 68}, {300, 74, 296}, {300, 75, 300}, {300, 128, 300}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(kaon_cpu_stream_bytes(rows[i].last << 20, rows[i].threads) >> 20,
                     rows[i].expected);
}

/* A child must die on the access; its exit is by a signal (or the sanitizer's report). */
static void dies(int overrun) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* cmocka's handler would run the remaining tests in the child */
    signal(SIGBUS, SIG_DFL);
    kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    options.check = 1;
    options.backend = KAON_BACKEND_CPU;
    kaon_context *ctx = NULL;
    void *a = NULL;
    fclose(stderr);
    if (kaon_context_create(&options, &ctx) != KAON_OK ||
        kaon_pool_allocate(ctx, 8192, "a", &a) != KAON_OK)
      _exit(0);
    volatile double *x = a;
    if (x[0] == x[0]) _exit(0); /* poisoned: must be NaN */
    if (!overrun) kaon_pool_release(ctx, a);
    x[overrun ? 1024 : 0] = 1.0;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check_mode_traps_overruns_and_late_uses(void **state) {
  (void)state;
  dies(1);
  dies(0);
}

/* ---- the device ---- */

static kaon_context *device_context(int check) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.check = check;
  if (machine_lacks(MACHINE_CUDA)) skip();
  assert_int_equal(machine_open(MACHINE_CUDA, options, &ctx), KAON_OK);
  return ctx;
}

static void the_device_says_what_it_is(void **state) {
  (void)state;
  kaon_context *ctx = device_context(0);
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  assert_int_equal(kaon_context_query(ctx, &info), KAON_OK);
  print_message("%s: %s, %s\n", info.backend, info.device, info.details);
  assert_string_equal(info.backend, "cuda");
  assert_non_null(strstr(info.details, "compute capability"));
  kaon_context_destroy(&ctx);
}

/* Bytes to the device and back, where the device's address is `shift` bytes behind a line, with
 * zeros behind them. */
static void a_transfer_keeps_its_bytes(kaon_context *ctx, size_t bytes, size_t shift) {
  const kaon_memory_ops *memory = ctx->backend->memory;
  void *room = NULL;
  unsigned char *out = malloc(bytes), *back = malloc(bytes);
  for (size_t i = 0; i < bytes; i++) out[i] = (unsigned char)(i * 2654435761u >> 13);
  assert_int_equal(kaon_pool_allocate(ctx, bytes + shift, "bytes", &room), KAON_OK);
  char *device = (char *)room + shift;
  assert_int_equal(memory->to_device(ctx, device, out, bytes), KAON_OK);
  memset(back, 0, bytes);
  assert_int_equal(memory->to_host(ctx, back, device, bytes), KAON_OK);
  assert_memory_equal(out, back, bytes);
  assert_int_equal(memory->clear(ctx, device, bytes), KAON_OK);
  assert_int_equal(memory->to_host(ctx, back, device, bytes), KAON_OK);
  for (size_t i = 0; i < bytes; i++) assert_int_equal(back[i], 0);
  assert_int_equal(memory->synchronise(ctx), KAON_OK);
  kaon_pool_release(ctx, room);
  free(out), free(back);
}

/* Lengths around the limit up to which a kernel copies to the host (lib/cuda/queue/short_copy.h), and
 * around the pieces in which longer ones go. */
static void transfers_keep_every_byte(void **state) {
  (void)state;
  enum { BRIEF = 32 << 10, PIECE = 8 << 20 };
  static const size_t lengths[] = {
      1,         7,         8,     24,        4096,          BRIEF,
      BRIEF + 8, PIECE - 1, PIECE, PIECE * 2, 2 * PIECE + 3, 5 * PIECE + 5};
  kaon_context *ctx = device_context(0);
  for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
    for (size_t shift = 0; shift <= 8; shift += 4)
      a_transfer_keeps_its_bytes(ctx, lengths[n], shift);
  kaon_context_destroy(&ctx);
}

/* A sum is read from memory that the kernel just before writes and the next one overwrites. A read
 * that did not wait would return the other vector's sum, in every waiting mode. Before every third
 * sum the device works for some milliseconds, longer than AUTO polls. */
static void short_reads_wait_for_what_goes_before(void **state) {
  (void)state;
  enum { WORK = 1 << 29, TIMES = 40, TURNS = 12, ROWS = 1 << 22 };
  kaon_context *ctx = device_context(0);
  const kaon_space space = {
      .ctx = ctx, .inner = 1, .nblocks = ROWS / 32, .nsites = ROWS, .width = 32, .ncomp = 1};
  double *ones = malloc(ROWS * sizeof *ones), norm;
  kaon_vector *v[2] = {NULL, NULL};
  void *room = NULL;
  assert_int_equal(kaon_pool_allocate(ctx, WORK, "work", &room), KAON_OK);
  for (int i = 0; i < ROWS; i++) ones[i] = 1;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(kaon_vector_create(ctx, &space, KAON_DOUBLE, 1, &v[i]), KAON_OK);
    assert_int_equal(kaon_vector_import(v[i], 0, ones, KAON_BASIS_UKQCD), KAON_OK);
  }
  assert_int_equal(kaon_vector_axpy(1, 0, v[0], v[1]), KAON_OK); /* twos */
  for (int sync = KAON_SYNC_AUTO; sync <= KAON_SYNC_BLOCKING; sync++) {
    assert_int_equal(kaon_context_set_sync(ctx, (kaon_sync)sync), KAON_OK);
    for (int turn = 0; turn < TURNS; turn++) {
      for (int i = 0; turn % 3 == 0 && i < TIMES; i++)
        assert_int_equal(ctx->backend->memory->clear(ctx, room, WORK), KAON_OK);
      assert_int_equal(kaon_vector_norm2(v[turn % 2], &norm), KAON_OK);
      assert_true(norm == (turn % 2 ? 4.0 * ROWS : ROWS));
    }
  }
  for (int i = 0; i < 2; i++) kaon_vector_destroy(&v[i]);
  free(ones);
  kaon_pool_release(ctx, room);
  kaon_context_destroy(&ctx);
}

static void too_much_device_memory_is_refused_with_both_numbers(void **state) {
  (void)state;
  kaon_context *ctx = device_context(0);
  void *a = NULL;
  size_t available = 0;
  assert_int_equal(ctx->backend->memory->available(ctx, &available), KAON_OK);
  const size_t bytes = (available / 4096 + 1000000) * 4096;
  assert_int_equal(kaon_pool_allocate(ctx, bytes, "a monster", &a), KAON_ERR_MEMORY);
  print_message("%s\n", kaon_last_error(ctx));
  char number[32];
  snprintf(number, sizeof number, "%zu bytes", bytes);
  assert_non_null(strstr(kaon_last_error(ctx), number));
  assert_non_null(strstr(kaon_last_error(ctx), "are free"));
  assert_int_equal(kaon_pool_allocate(ctx, 1 << 20, "a field", &a),
                   KAON_OK); /* nothing is broken */
  kaon_pool_release(ctx, a);
  kaon_context_destroy(&ctx);
}

static void check_mode_poisons_device_memory(void **state) {
  (void)state;
  kaon_context *ctx = device_context(1);
  void *a = NULL;
  assert_int_equal(kaon_pool_allocate(ctx, 8192, "a", &a), KAON_OK);
  double *host = machine_read(ctx, a, 8192);
  for (int i = 0; i < 1024; i++) assert_true(host[i] != host[i]);
  free(host);
  kaon_pool_release(ctx, a);
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(init_macros_equal_the_tables),
      cmocka_unit_test(options_structs_hold_at_most_16_fields),
      cmocka_unit_test(printed_options_parse_back),
      cmocka_unit_test(seeds_keep_all_64_bits),
      cmocka_unit_test(bad_options_change_nothing_and_say_what_is_allowed),
      cmocka_unit_test(every_status_has_a_name_and_a_text),
      cmocka_unit_test(the_sentence_is_about_the_last_call),
      cmocka_unit_test(unusable_backends_are_refused_with_a_sentence),
      cmocka_unit_test(what_hinders_cuda_is_said_with_the_way_out),
      cmocka_unit_test(the_pool_reuses_and_counts),
      cmocka_unit_test(the_memory_limit_is_kept_and_named),
      cmocka_unit_test(library_calls_that_there_are_not_are_refused),
      cmocka_unit_test(free_memory_is_the_least_of_what_bounds_it),
      cmocka_unit_test(the_cpu_says_what_is_free),
      cmocka_unit_test(large_caches_count_by_threads),
      cmocka_unit_test(check_mode_traps_overruns_and_late_uses),
      cmocka_unit_test(the_device_says_what_it_is),
      cmocka_unit_test(transfers_keep_every_byte),
      cmocka_unit_test(short_reads_wait_for_what_goes_before),
      cmocka_unit_test(too_much_device_memory_is_refused_with_both_numbers),
      cmocka_unit_test(check_mode_poisons_device_memory),
  };
  return test_main(tests, NULL, NULL);
}

/* test_device.c - devices of several ranks (kaon_ranks_ops): exchanges and sums over every
 * transport available here, against values computed on the host. Several ranks may share a device,
 * which then runs them in turn. Skipped without a device. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "blas/blas.h"
#include "lib/math/steps/recurrences.h"
#include "ranks.h"
#include "tests/ranks/cuda/peer_turn.h"
#include "tests/util/machine.h"

static const struct {
  kaon_transport kind;
  const char *name;
} transports[] = {{KAON_TRANSPORT_PEER, "peer"},
                  {KAON_TRANSPORT_NCCL, "nccl"},
                  {KAON_TRANSPORT_DIRECT, "direct"},
                  {KAON_TRANSPORT_HOST, "host"}};
enum { TRANSPORTS = sizeof transports / sizeof *transports };

static int absent; /* no device, or no CUDA: known since the first try */

/* A context of all ranks; NULL where there is none, having said why. */
static kaon_context *device_open(int i, double delay) {
  const char *only = getenv("KAON_TEST_MACHINE");
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  absent = absent || (only != NULL && strcmp(only, "cuda") != 0);
  if (absent) return NULL;
  options.backend = KAON_BACKEND_CUDA;
  options.threads = 1;
  options.transport = transports[i].kind;
  options.lab = &lab;
  lab.reduce_delay = delay;
  const kaon_status status = kaon_context_create_ranks(&options, NULL, NULL, &ctx);
  if (status == KAON_OK) return ctx;
  absent = strstr(kaon_last_error(NULL), "backend: ") != NULL;
  if (absent)
    printf("cuda: skipped: %s\n", kaon_last_error(NULL));
  else
    printf("  %s: not here: %s\n", transports[i].name, kaon_last_error(NULL));
  assert_true(absent || transports[i].kind != KAON_TRANSPORT_HOST); /* on any device */
  return NULL;
}

/* Numbers whose sum depends on the order of adding. */
static double awkward(int rank, int i) {
  const double size[] = {1e16, 1, -1e16, 0.1, 3e15, 1e-3, -2e15, 7};
  return size[(rank + i) % 8] * (1 + 0.37 * (i % 97) + 0.011 * rank);
}

static double added(int ranks, int i) {
  double x = awkward(0, i);
  for (int r = 1; r < ranks; r++) x += awkward(r, i);
  return x;
}

static int number_of(int column, int slot, int c) {
  return (column * KAON_SLOTS + slot) * 2 + c;
}

/* ---- sums ---- */

typedef struct {
  kaon_context *ctx;
  kaon_scalars *scalars;
  kaon_column_state *state; /* the host's */
  int columns;
} fixture;

/* Every third column is closed. */
static void fixture_open(fixture *b, kaon_context *ctx, int columns) {
  *b = (fixture){.ctx = ctx, .columns = columns};
  must(ctx, kaon_scalars_create(ctx, columns, &b->scalars));
  b->state = calloc((size_t)columns, sizeof *b->state);
  assert_non_null(b->state);
}

static void fixture_fill(fixture *b) {
  for (int k = 0; k < b->columns; k++) {
    b->state[k].gate = k % 3 == 2 ? KAON_GATE_SERVICE : KAON_GATE_STEP;
    for (int s = 0; s < KAON_SLOTS; s++)
      for (int c = 0; c < 2; c++)
        b->state[k].slot[s][c] = awkward(b->ctx->comm->rank, number_of(k, s, c));
  }
  must(b->ctx, kaon_scalars_write(b->scalars, b->state));
}

static void fixture_close(fixture *b) {
  kaon_scalars_destroy(&b->scalars);
  free(b->state);
}

/* Slots of the list are summed in open columns, all else is as it was. */
static void fixture_check(fixture *b, const int *slots, int n) {
  const kaon_comm *comm = b->ctx->comm;
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  for (int k = 0; k < b->columns; k++) {
    unsigned char named[KAON_SLOTS] = {0};
    for (int i = 0; i < n; i++)
      if (slots[i] != KAON_NO_SLOT) named[slots[i]] = k % 3 != 2;
    for (int s = 0; s < KAON_SLOTS; s++)
      for (int c = 0; c < 2; c++) {
        const int i = number_of(k, s, c);
        const double expected = named[s] ? added(comm->ranks, i) : awkward(comm->rank, i);
        if (memcmp(&b->state[k].slot[s][c], &expected, sizeof expected) != 0)
          fail_msg(
              "rank %d: slot %d.%d of column %d (of %d; %d slots are summed) is %.17g, not "
              "%.17g; its own was %.17g",
              comm->rank, s, c, k, b->columns, n, b->state[k].slot[s][c], expected,
              awkward(comm->rank, i));
      }
  }
}

static kaon_status sum(fixture *b, const int *slots, int n) {
  return b->ctx->backend->ranks->sum(b->ctx, b->scalars->state, b->columns, KAON_GATE_STEP, slots,
                                     n, 0);
}

static const int few[4] = {KAON_NO_SLOT, 7, KAON_NO_SLOT, 2};

/* From one number to more than a message holds. */
static void check_whole_sums(kaon_context *ctx) {
  static const int shapes[][2] = {{1, 1}, {3, 4}, {12, 36}, {64, 64}, {5, 200}, {64, KAON_SLOTS}};
  static int slots[KAON_SLOTS];
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const int n = shapes[i][1];
    fixture b;
    fixture_open(&b, ctx, shapes[i][0]);
    for (int s = 0; s < n; s++) slots[s] = n == KAON_SLOTS ? s : (5 + 3 * s) % KAON_SLOTS;
    for (int again = 0; again < 3; again++) {
      fixture_fill(&b);
      must(ctx, sum(&b, slots, n));
      fixture_check(&b, slots, n);
      fixture_fill(&b);
      must(ctx, sum(&b, few, 4));
      fixture_check(&b, few, 4);
    }
    fixture_close(&b);
  }
}

static void check_split_sums(kaon_context *ctx) {
  const kaon_ranks_ops *ranks = ctx->backend->ranks;
  fixture b, other;
  fixture_open(&b, ctx, 12);
  fixture_open(&other, ctx, 2);
  for (int again = 0; again < 20; again++) {
    fixture_fill(&b);
    must(ctx, ranks->sum_start(ctx, b.scalars->state, b.columns, KAON_GATE_STEP, few, 4));
    fixture_fill(&other); /* work of the queue in between */
    must(ctx, ranks->sum_finish(ctx, b.scalars->state, b.columns, KAON_GATE_STEP, few, 4, 0));
    fixture_check(&b, few, 4);
    fixture_check(&other, NULL, 0);
    /* one that is begun and not ended leaves the next one whole */
    if (again % 5 == 0)
      must(ctx, ranks->sum_start(ctx, other.scalars->state, other.columns, KAON_GATE_STEP, few, 4));
    must(ctx, sum(&other, few, 4));
    fixture_check(&other, few, 4);
  }
  fixture_close(&other);
  fixture_close(&b);
}

/* What a sum over ranks makes of a number that is the same on all of them. */
static double times_ranks(double x, int ranks) {
  double y = x;
  for (int r = 1; r < ranks; r++) y += x;
  return y;
}

/* So many sums in a row, nobody looking. */
static void check_many_sums(kaon_context *ctx) {
  enum { SUMS = 300, SLOT = 3 };
  const int slot = SLOT, ranks = ctx->comm->ranks;
  fixture b;
  fixture_open(&b, ctx, 1);
  b.state[0].gate = KAON_GATE_STEP;
  b.state[0].slot[SLOT][0] = 1;
  must(ctx, kaon_scalars_write(b.scalars, b.state));
  must(ctx, kaon_context_agree(ctx, kaon_context_synchronise(ctx)));
  double expected = 1;
  const double begin = test_now();
  for (int i = 0; i < SUMS; i++) {
    expected = times_ranks(expected, ranks);
    must(ctx, sum(&b, &slot, 1));
  }
  must(ctx, kaon_scalars_read(b.scalars, b.state));
  printf("  %.1f us a sum\n", 1e6 * (test_now() - begin) / SUMS);
  test_close("a number after 300 sums over its own", b.state[0].slot[SLOT][0] / expected, 1, 0);
  fixture_close(&b);
}

/* By a pass, whose recurrence uses the sums, at once or after other work. */
static void check_passes(kaon_context *ctx) {
  const int slots[2] = {KAON_S_RHO, KAON_S_DENOMINATOR};
  fixture b;
  fixture_open(&b, ctx, 4);
  for (int split = 0; split < 2; split++) {
    kaon_pass pass = KAON_PASS_INIT;
    double rho = 0, denominator = 0;
    for (int k = 0; k < b.columns; k++) {
      b.state[k].gate = k == 2 ? 0 : KAON_GATE_STEP;
      b.state[k].slot[KAON_S_RHO][0] = 3 + ctx->comm->rank;
      b.state[k].slot[KAON_S_DENOMINATOR][0] = 2 + 5 * ctx->comm->rank;
      b.state[k].slot[KAON_S_ALPHA][0] = -1;
    }
    for (int r = 0; r < ctx->comm->ranks; r++) rho += 3 + r, denominator += 2 + 5 * r;
    must(ctx, kaon_scalars_write(b.scalars, b.state));
    pass.scalars = b.scalars;
    pass.then = KAON_REC_CG_ALPHA;
    kaon_kernel_sums sums = {.pass = &pass, .sum = KAON_SUM_NONE, .nslots = 2};
    memcpy(sums.slots, slots, sizeof slots);
    pass.sum = split ? KAON_SUM_BEGIN : KAON_SUM_NOW;
    if (split) { /* the first of the two is deferred */
      kaon_pass first = pass;
      kaon_kernel_sums one = {
          .pass = &first, .sum = KAON_SUM_NONE, .nslots = 1, .slots = {slots[0]}};
      first.then = 0;
      first.sum = KAON_SUM_DEFER;
      kaon_sums_plan(&one, 0);
      must(ctx, kaon_sums_after_kernel(&one));
      sums.nslots = 1;
      sums.slots[0] = slots[1];
    }
    kaon_sums_plan(&sums, 0);
    must(ctx, kaon_sums_after_kernel(&sums));
    if (split) must(ctx, kaon_pass_complete(&pass));
    must(ctx, kaon_scalars_read(b.scalars, b.state));
    for (int k = 0; k < b.columns; k++) {
      const double expected = k == 2 ? -1 : rho / denominator;
      test_close(split ? "alpha of a sum in two halves" : "alpha of a whole sum",
                 b.state[k].slot[KAON_S_ALPHA][0], expected, 0x1p-52);
    }
  }
  fixture_close(&b);
}

static kaon_status one_sum(void *user) {
  static const int slot = 3;
  return sum(user, &slot, 1);
}

static kaon_status no_service(void *user) {
  (void)user;
  return KAON_OK;
}

/* Issued like solvers' steps: in graphs, and in a loop that the device repeats. */
static void check_recorded_sums(kaon_context *ctx) {
  enum { BLOCKS = 40, SLOT = 3 };
  const kaon_record_ops *ops = ctx->backend->record;
  fixture b;
  fixture_open(&b, ctx, 2);
  const kaon_loop loop = {
      .steps = one_sum, .service = no_service, .user = &b, .state = b.scalars->state};
  const int most = ctx->backend->ranks->recordable(ctx);
  if (most == KAON_ISSUE_PLAIN) {
    kaon_recorder *recorder = NULL;
    must(ctx, ops->create(ctx, 2, &recorder));
    must_refuse(ctx, KAON_ERR_UNSUPPORTED, ops->record(recorder, &loop, KAON_ISSUE_REPLAY));
    ops->destroy(&recorder);
  }
  for (int form = KAON_ISSUE_REPLAY; form <= most; form++) {
    kaon_recorder *recorder = NULL;
    double expected = 1;
    must(ctx, ops->create(ctx, 2, &recorder));
    for (int k = 0; k < 2; k++) {
      b.state[k].gate = KAON_GATE_STEP;
      b.state[k].slot[SLOT][0] = 1;
    }
    must(ctx, kaon_scalars_write(b.scalars, b.state));
    const kaon_status status = kaon_agree(ctx, ops->record(recorder, &loop, (kaon_issue)form));
    if (status == KAON_ERR_UNSUPPORTED) { /* loops need CUDA 12.4 */
      printf("  form %d: not here: %s\n", form, kaon_last_error(ctx));
      ops->destroy(&recorder);
      continue;
    }
    must(ctx, status);
    must(ctx, ops->run(recorder, BLOCKS));
    must(ctx, sum(&b, few + 1, 1)); /* plainly, behind them */
    for (int i = 0; i < BLOCKS; i++) expected = times_ranks(expected, ctx->comm->ranks);
    must(ctx, kaon_scalars_read(b.scalars, b.state));
    for (int k = 0; k < 2; k++)
      test_close(form == KAON_ISSUE_WHILE ? "after 40 sums in a loop" : "after 40 sums replayed",
                 b.state[k].slot[SLOT][0] / expected, 1, 0);
    ops->destroy(&recorder);
  }
  fixture_close(&b);
}

static void over_each_transport(double delay, void (*check)(kaon_context *ctx)) {
  if (world_size() == 1) skip(); /* nothing is summed */
  for (int i = 0; i < TRANSPORTS; i++) {
    kaon_context *ctx = device_open(i, delay);
    if (ctx == NULL) continue;
    kaon_context_info info = KAON_CONTEXT_INFO_INIT;
    must(ctx, kaon_context_query(ctx, &info));
    printf("  %s\n", info.transport);
    check(ctx);
    must(ctx, kaon_context_synchronise(ctx));
    kaon_context_destroy(&ctx);
  }
  if (absent) skip();
}

static void slots_are_summed_in_the_order_of_ranks(void **state) {
  (void)state;
  over_each_transport(0, check_whole_sums);
}

static void sums_in_two_halves(void **state) {
  (void)state;
  over_each_transport(0, check_split_sums);
}

static void many_sums_in_a_row(void **state) {
  (void)state;
  over_each_transport(0, check_many_sums);
}

static void passes_sum_and_run_their_recurrence(void **state) {
  (void)state;
  over_each_transport(0, check_passes);
}

static void delayed_sums_are_the_same(void **state) {
  (void)state;
  over_each_transport(1e-3, check_passes);
}

static void sums_are_recorded(void **state) {
  (void)state;
  over_each_transport(0, check_recorded_sums);
}

/* ---- exchanges ---- */

enum { WORDS = 5000 };

typedef struct {
  kaon_context *ctx;
  int n;
  kaon_message messages[KAON_DIRS];
  kaon_device_exchange *exchange;
  const kaon_peer_exchange *peer;
  uint32_t *from[KAON_DIRS], *to[KAON_DIRS]; /* PEER: the kernel's ends, on the device */
  uint32_t host[WORDS];
} ring;

static int words_of(int dir) {
  return WORDS - 37 * (dir % 4);
}

static uint32_t word_of(int rank, int dir, int turn, int i) {
  return (uint32_t)(((rank * 8 + dir) * 1000 + turn) * 10000 + i);
}

/* mask: a bit a direction mu. */
static void ring_open(ring *r, kaon_context *ctx, int mask) {
  const int ranks = ctx->comm->ranks;
  memset(r, 0, sizeof *r);
  r->ctx = ctx;
  for (int dir = 0; dir < KAON_DIRS; dir++)
    if (mask >> dir % 4 & 1)
      r->messages[r->n++] =
          (kaon_message){.dir = dir,
                         .peer = (ctx->comm->rank + (dir < 4 ? 1 : ranks - 1)) % ranks,
                         .bytes = sizeof(uint32_t) * (size_t)words_of(dir)};
  must(ctx, ctx->backend->ranks->exchange_create(ctx, r->messages, r->n, &r->exchange, &r->peer));
  for (int i = 0; i < r->n && r->peer != NULL; i++)
    for (int end = 0; end < 2; end++) {
      void *memory = NULL;
      must(ctx, kaon_pool_allocate(ctx, r->messages[i].bytes, "a test's message", &memory));
      (end ? r->to : r->from)[i] = memory;
    }
  if (r->peer != NULL)
    for (int i = 0; i < r->n; i++) assert_true(r->peer->partitioned >> r->messages[i].dir & 1);
}

static void ring_close(ring *r) {
  r->ctx->backend->ranks->exchange_destroy(&r->exchange);
  assert_null(r->exchange);
  for (int i = 0; i < r->n; i++) {
    kaon_pool_release(r->ctx, r->from[i]);
    kaon_pool_release(r->ctx, r->to[i]);
  }
}

static void ring_fill(ring *r, int turn) {
  for (int i = 0; i < r->n; i++) {
    const kaon_message *m = &r->messages[i];
    for (int w = 0; w < words_of(m->dir); w++)
      r->host[w] = word_of(r->ctx->comm->rank, m->dir, turn, w);
    machine_write(r->ctx, r->peer != NULL ? r->from[i] : m->send, r->host, m->bytes);
  }
}

static void ring_turn(ring *r) {
  const kaon_ranks_ops *ranks = r->ctx->backend->ranks;
#ifdef KAON_BUILD_CUDA
  if (r->peer != NULL) {
    peer_turn_call call = {.peer = *r->peer, .n = r->n};
    for (int i = 0; i < r->n; i++)
      call.messages[i] = (peer_turn_message){.dir = r->messages[i].dir,
                                             .from = r->from[i],
                                             .send = r->messages[i].send,
                                             .come = r->messages[i].receive,
                                             .to = r->to[i],
                                             .words = words_of(r->messages[i].dir)};
    if (r->n > 0) peer_turn(&call, r->ctx->queue);
  }
#endif
  must(r->ctx, ranks->exchange_start(r->exchange));
  must(r->ctx, ranks->exchange_finish(r->exchange));
}

static void ring_check(ring *r, int turn) {
  for (int i = 0; i < r->n; i++) {
    const kaon_message *m = &r->messages[i];
    uint32_t *came = machine_read(r->ctx, r->peer != NULL ? r->to[i] : m->receive, m->bytes);
    for (int w = 0; w < words_of(m->dir); w++) {
      const uint32_t expected = word_of(m->peer, (m->dir + 4) % 8, turn, w);
      if (came[w] != expected)
        fail_msg("rank %d: turn %d, direction %d from rank %d: word %d is %u, not %u",
                 r->ctx->comm->rank, turn, m->dir, m->peer, w, came[w], expected);
    }
    free(came);
  }
}

/* On a ring in each direction: with one rank the neighbour is oneself, with two it is the same on
 * both sides. A second exchange, a third in the memory of the second, and one without messages. */
static void messages_reach_whom_they_are_for(void **state) {
  (void)state;
  for (int t = 0; t < TRANSPORTS; t++) {
    kaon_context *ctx = device_open(t, 0);
    ring *all = calloc(4, sizeof *all), *some = all + 1, *again = all + 2, *nothing = all + 3;
    assert_non_null(all);
    if (ctx != NULL && ctx->comm->ranks == 1 && transports[t].kind == KAON_TRANSPORT_NCCL) {
      printf("  nccl: left out on one rank\n"); /* it may not be here, and is chosen by exchanges */
      kaon_context_destroy(&ctx);
    }
    if (ctx != NULL && ctx->comm->ranks == 1 && transports[t].kind == KAON_TRANSPORT_DIRECT &&
        !ctx->comm->device_memory) {
      printf("  direct: left out on one rank, the communicator takes no device memory\n");
      kaon_context_destroy(&ctx);
    }
    if (ctx != NULL) {
      printf("  %s\n", transports[t].name);
      ring_open(all, ctx, 15);
      ring_open(some, ctx, 8);
      ring_open(nothing, ctx, 0);
      for (int turn = 0; turn < 20; turn++) {
        ring_fill(all, turn);
        ring_turn(all);
        ring_turn(nothing);
        ring_fill(some, turn + 500);
        ring_turn(some);
        ring_check(some, turn + 500);
        ring_check(all, turn);
      }
      ring_close(some);
      ring_open(again, ctx, 8);
      for (int turn = 0; turn < 100; turn++) { /* no check in between */
        ring_fill(again, turn);
        ring_turn(again);
      }
      ring_check(again, 99);
      ring_close(again);
      ring_close(nothing);
      ring_close(all);
      kaon_context_destroy(&ctx);
    }
    free(all);
  }
  if (absent) skip();
}

/* Two contexts of a process, each with its own reduction results and messages. */
static void two_contexts_do_not_meet(void **state) {
  (void)state;
  kaon_context *one = device_open(0, 0);
  if (one == NULL) skip();
  kaon_context *two = device_open(TRANSPORTS - 1, 0), *three = device_open(0, 0);
  ring *a = calloc(2, sizeof *a), *c = a + 1;
  fixture b[3];
  kaon_context *all[3] = {one, two, three};
  assert_non_null(a);
  ring_open(a, one, 3);
  ring_open(c, three, 3);
  for (int i = 0; i < 3; i++) fixture_open(&b[i], all[i], 3);
  for (int turn = 0; turn < 5; turn++) {
    ring_fill(a, turn);
    ring_fill(c, turn + 7);
    ring_turn(c);
    ring_turn(a);
    for (int i = 0; i < 3 && world_size() > 1; i++) {
      fixture_fill(&b[i]);
      must(all[i], sum(&b[i], few, 4));
    }
    for (int i = 0; i < 3 && world_size() > 1; i++) fixture_check(&b[i], few, 4);
    ring_check(a, turn);
    ring_check(c, turn + 7);
  }
  for (int i = 0; i < 3; i++) fixture_close(&b[i]);
  ring_close(a);
  ring_close(c);
  free(a);
  for (int i = 0; i < 3; i++) kaon_context_destroy(&all[i]);
}

/* Each node's ranks use the devices in turn, and AUTO finds a transport. If KAON_TEST_DEVICES is
 * smaller than the number of ranks, it is not one whose kernels wait for each other; otherwise it
 * is one of these. */
static void ranks_have_devices_in_turn(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = device_open(TRANSPORTS - 1, 0);
  if (ctx == NULL) skip();
  kaon_context_destroy(&ctx);
  options.backend = KAON_BACKEND_CUDA;
  must(NULL, kaon_context_create_ranks(&options, NULL, NULL, &ctx));
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  must(ctx, kaon_context_query(ctx, &info));
  printf("  %d ranks, %s, by %s\n", info.ranks, info.device,
         info.ranks > 1 ? info.transport : "nothing");
  assert_int_equal(info.ranks > 1, info.transport[0] != '\0');
  const char *devices = getenv("KAON_TEST_DEVICES");
  if (devices != NULL && info.ranks > 1) {
    const int waiting =
        strcmp(info.transport, "peer stores") == 0 || strcmp(info.transport, "NCCL") == 0;
    assert_int_equal(waiting, atoi(devices) >= info.ranks);
  }
  kaon_context_destroy(&ctx);
  /* all have to ask for the same */
  if (world_size() > 1) {
    options.transport = world_rank() == 1 ? KAON_TRANSPORT_PEER : KAON_TRANSPORT_HOST;
    must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_context_create_ranks(&options, NULL, NULL, &ctx));
    assert_non_null(
        strstr(kaon_last_error(NULL), "transport is host on rank 0, but peer on rank 1"));
  }
}

static const struct CMUnitTest device[] = {
    cmocka_unit_test(ranks_have_devices_in_turn),
    cmocka_unit_test(messages_reach_whom_they_are_for),
    cmocka_unit_test(slots_are_summed_in_the_order_of_ranks),
    cmocka_unit_test(sums_in_two_halves),
    cmocka_unit_test(many_sums_in_a_row),
    cmocka_unit_test(passes_sum_and_run_their_recurrence),
    cmocka_unit_test(delayed_sums_are_the_same),
    cmocka_unit_test(sums_are_recorded),
    cmocka_unit_test(two_contexts_do_not_meet),
};

RANKS_MAIN(device)

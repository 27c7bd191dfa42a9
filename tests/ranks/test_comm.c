/* test_comm.c - the communicator's contract, for every implementation: sums in the order of ranks,
 * gathers, persistent exchanges with neighbours that may be equal or the rank itself, agreement on
 * the first failure, and contexts on an application's own communicator and grid. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"

/* Numbers whose sum depends on the order of adding. */
static double awkward(int rank, int i) {
  const double size[] = {1e16, 1, -1e16, 0.1, 3e15, 1e-3, -2e15, 7};
  return size[(rank + i) % 8] * (1 + 0.37 * i + 0.011 * rank);
}

static void sums_are_added_in_the_order_of_ranks(void **state) {
  (void)state;
  enum { N = 200 };
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_comm *comm = ctx->comm;
  assert_int_equal(comm->ranks, world_size());
  assert_int_equal(comm->rank, world_rank());
  for (int repeat = 0; repeat < 20; repeat++)
    for (int n = 1; n <= N; n = n * 3 + repeat % 2) {
      double values[N], expected[N];
      for (int i = 0; i < n; i++) {
        values[i] = awkward(comm->rank, i);
        expected[i] = awkward(0, i);
        for (int r = 1; r < comm->ranks; r++) expected[i] += awkward(r, i);
      }
      must(ctx, comm->ops->sum_start(comm, values, n));
      must(ctx, comm->ops->sum_finish(comm));
      for (int i = 0; i < n; i++) assert_memory_equal(&values[i], &expected[i], sizeof values[i]);
    }
  kaon_context_destroy(&ctx);
}

/* More numbers than the communicator has room for at first; NaN and infinity are transmitted. */
static void long_sums_and_not_finite_ones(void **state) {
  (void)state;
  enum { N = 50000 };
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_comm *comm = ctx->comm;
  double *values = malloc(N * sizeof *values);
  assert_non_null(values);
  for (int i = 0; i < N; i++) values[i] = i + comm->rank;
  values[1] = comm->rank == comm->ranks - 1 ? NAN : 1;
  values[2] = comm->rank == 0 ? INFINITY : 1;
  must(ctx, kaon_comm_sum(ctx, values, N));
  const int ranks = comm->ranks;
  assert_true(isnan(values[1]));
  assert_true(isinf(values[2]));
  for (int i = 3; i < N; i++) assert_true(values[i] == (double)i * ranks + ranks * (ranks - 1) / 2);
  free(values);
  kaon_context_destroy(&ctx);
}

static void numbers_and_bytes_reach_whom_they_are_for(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_comm *comm = ctx->comm;
  const int ranks = comm->ranks, last = ranks - 1;
  double mine[3], *all = malloc(3 * (size_t)ranks * sizeof *all);
  for (int i = 0; i < 3; i++) mine[i] = 10 * comm->rank + i;
  must(ctx, comm->ops->gather(comm, mine, 3, all));
  for (int r = 0; r < ranks; r++)
    for (int i = 0; i < 3; i++) assert_true(all[3 * r + i] == 10 * r + i);
  for (int i = 0; i < 3 * ranks; i++) all[i] = -1;
  must(ctx, kaon_context_gather(ctx, mine + 1, 2, all)); /* what applications call */
  for (int r = 0; r < ranks; r++)
    for (int i = 0; i < 2; i++) assert_true(all[2 * r + i] == 10 * r + i + 1);
  assert_int_equal(kaon_context_gather(ctx, mine, 0, all), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_context_gather(NULL, mine, 1, all), KAON_ERR_ARGUMENT);
  char text[100] = "";
  if (comm->rank == last) snprintf(text, sizeof text, "from rank %d", last);
  must(ctx, comm->ops->broadcast(comm, text, sizeof text, last));
  char expected[100];
  snprintf(expected, sizeof expected, "from rank %d", last);
  assert_string_equal(text, expected);
  free(all);
  kaon_context_destroy(&ctx);
}

/* On a ring in each direction: with one rank the neighbour is oneself, with two it is the same on
 * both sides, and only the direction tells the messages apart. */
static void tell_directions_apart(size_t piece) {
  enum { N = 3000 };
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_comm *comm = ctx->comm;
  if (piece > 0) comm->piece = piece;
  kaon_message messages[KAON_DIRS];
  static double send[KAON_DIRS][N], receive[KAON_DIRS][N];
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int step = dir < 4 ? 1 : comm->ranks - 1;
    messages[dir] = (kaon_message){.dir = dir,
                                   .peer = (comm->rank + step) % comm->ranks,
                                   .send = send[dir],
                                   .receive = receive[dir],
                                   .bytes = sizeof(double) * (size_t)(N - 7 * (dir % 4))};
  }
  kaon_exchange *exchange = NULL;
  must(ctx, comm->ops->exchange_create(comm, messages, KAON_DIRS, &exchange));
  for (int repeat = 0; repeat < 50; repeat++) {
    for (int dir = 0; dir < KAON_DIRS; dir++)
      for (int i = 0; i < N; i++) {
        send[dir][i] = ((comm->rank * 8 + dir) * 100 + repeat) * 1e4 + i;
        receive[dir][i] = -1;
      }
    must(ctx, comm->ops->exchange_start(exchange));
    must(ctx, comm->ops->exchange_finish(exchange));
    for (int dir = 0; dir < KAON_DIRS; dir++)
      for (int i = 0; i < N; i++) {
        const int sent = i < N - 7 * (dir % 4), theirs = (dir + 4) % 8;
        const double expected = ((messages[dir].peer * 8 + theirs) * 100 + repeat) * 1e4 + i;
        assert_true(receive[dir][i] == (sent ? expected : -1));
      }
  }
  comm->ops->exchange_destroy(&exchange);
  assert_null(exchange);
  kaon_context_destroy(&ctx);
}

static void exchanges_tell_directions_apart(void **state) {
  (void)state;
  tell_directions_apart(0);
}

/* Messages longer than the limit of one: about four pieces, the last one shorter. */
static void long_messages_go_in_pieces(void **state) {
  (void)state;
  tell_directions_apart(6400);
}

static void an_empty_exchange_does_nothing(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_exchange *exchange = NULL;
  must(ctx, ctx->comm->ops->exchange_create(ctx->comm, NULL, 0, &exchange));
  must(ctx, ctx->comm->ops->exchange_start(exchange));
  must(ctx, ctx->comm->ops->exchange_finish(exchange));
  ctx->comm->ops->exchange_destroy(&exchange);
  kaon_context_destroy(&ctx);
}

/* Every rank writes numbers with two equal halves, then its progress, to everybody's board while
 * all of them read. No read is incomplete, and none is older than the progress that was announced.
 */
static void put_and_read(kaon_comm *comm, int mapped) {
  enum { N = 500, TURNS = 200, ROOM = (N + 1) * 8 };
  kaon_context *ctx = comm->ctx;
  kaon_window *board = NULL;
  uint64_t *numbers = calloc(2 * N, sizeof *numbers), *there = numbers + N;
  int64_t incomplete = 0, early = 0;
  const size_t room = (size_t)comm->ranks * ROOM;
  must(ctx, comm->ops->window_create(comm, room, mapped, &board));
  for (uint64_t turn = 1; turn <= TURNS; turn++) {
    for (int i = 0; i < N; i++) numbers[i] = turn << 32 | turn;
    for (int r = 0; r < comm->ranks; r++) {
      const size_t at = (size_t)comm->rank * ROOM;
      const uint32_t said = (uint32_t)turn;
      must(ctx, comm->ops->window_put(board, r, at, numbers, 8, N));
      must(ctx, comm->ops->window_put(board, r, at + N * 8, &said, 4, 1));
    }
    for (int r = 0; r < comm->ranks; r++) {
      uint32_t said = 0;
      must(ctx, comm->ops->window_get(board, (size_t)r * ROOM + N * 8, &said, 4, 1));
      must(ctx, comm->ops->window_get(board, (size_t)r * ROOM, there, 8, N));
      for (int i = 0; i < N; i++) incomplete += there[i] >> 32 != (uint32_t)there[i];
      for (int i = 0; i < N; i++) early += (uint32_t)there[i] < said;
      assert_true(r != comm->rank || said == turn);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int r = 0; r < comm->ranks; r++) {
    must(ctx, comm->ops->window_get(board, (size_t)r * ROOM, there, 8, N));
    assert_true(there[0] == ((uint64_t)TURNS << 32 | TURNS) && there[N - 1] == there[0]);
  }
  comm->ops->window_destroy(&board);
  assert_int_equal(incomplete, 0);
  assert_int_equal(early, 0);
  free(numbers);
}

static void what_is_put_on_a_board_is_whole_and_in_order(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_comm *comm = ctx->comm;
  if (comm->ops->window_create == NULL) printf("  no boards: skipped\n");
  for (int mapped = 0; mapped < 2 && comm->ops->window_create != NULL; mapped++)
    if (!mapped || comm->local_ranks == comm->ranks) put_and_read(comm, mapped);
  kaon_context_destroy(&ctx);
}

/* Mapped boards are the same memory. Boards may be destroyed in any order, and ranks need not be
 * in step. */
static void boards_come_and_go(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_comm *comm = ctx->comm;
  const int here = comm->ops->window_create != NULL && comm->local_ranks == comm->ranks;
  if (!here) printf("  no memory that ranks share: skipped\n");
  for (int n = 0; n < 30 && here; n++) {
    kaon_window *boards[3] = {NULL};
    for (int i = 0; i < 3; i++)
      must(ctx, comm->ops->window_create(comm, (size_t)(comm->rank + 1) * 1000, i % 2, &boards[i]));
    for (int r = 0; r < comm->ranks; r++)
      __atomic_store_n((int *)boards[1]->there[r] + comm->rank, 1 + n, __ATOMIC_RELEASE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < comm->ranks; r++) {
      const int *mine = boards[1]->mine;
      assert_int_equal(__atomic_load_n(mine + r, __ATOMIC_ACQUIRE), 1 + n);
    }
    for (int i = 0; i < 3; i++) comm->ops->window_destroy(&boards[(i + comm->rank) % 3]);
  }
  kaon_context_destroy(&ctx);
}

/* Whichever rank fails first, all ranks return its status with its sentence. A second agreement on
 * the same failure sends nothing, on any rank. */
static void all_ranks_return_the_first_failure(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  const int ranks = ctx->comm->ranks;
  for (int failing = 0; failing < ranks; failing++) {
    kaon_status status = KAON_OK;
    must(ctx, kaon_context_agree(ctx, KAON_OK));
    if (ctx->comm->rank == failing)
      status = kaon_fail(ctx, KAON_ERR_FORMAT, "file %d is damaged", failing);
    if (ctx->comm->rank > failing) status = kaon_fail(ctx, KAON_ERR_MEMORY, "too late to be told");
    if (ctx->comm->rank != failing) /* meets the failure further down than the rank that failed */
      status = kaon_agree(ctx, status);
    status = kaon_agree(ctx, status);
    status = kaon_agree(ctx, status);
    assert_int_equal(status, KAON_ERR_FORMAT);
    char expected[100];
    snprintf(expected, sizeof expected, "file %d is damaged", failing);
    assert_non_null(strstr(kaon_last_error(ctx), expected));
  }
  /* the next failure is a new one */
  kaon_status status = KAON_OK;
  if (ctx->comm->rank == ranks - 1) status = kaon_fail(ctx, KAON_ERR_IO, "the disk is full");
  status = kaon_context_agree(ctx, status);
  assert_int_equal(status, KAON_ERR_IO);
  char expected[100];
  snprintf(expected, sizeof expected, "rank %d: the disk is full", ranks - 1);
  assert_string_equal(kaon_last_error(ctx), ranks > 1 ? expected : "the disk is full");
  kaon_context_destroy(&ctx);
}

/* The sentence of the rank that failed takes precedence over that of a rank that waited for it, at
 * any position. */
static void the_reason_comes_before_those_who_waited(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  const int ranks = ctx->comm->ranks, rank = ctx->comm->rank;
  char expected[100];
  for (int failing = 0; failing < ranks; failing++) {
    must(ctx, kaon_context_agree(ctx, KAON_OK));
    kaon_status status = rank == failing
                             ? kaon_fail(ctx, KAON_ERR_DEVICE, "the device of %d is gone", rank)
                             : kaon_fail(ctx, KAON_ERR_COMM, "%d waited in vain", rank);
    assert_int_equal(kaon_agree(ctx, status), KAON_ERR_DEVICE);
    snprintf(expected, sizeof expected, "rank %d: the device of %d is gone", failing, failing);
    assert_string_equal(kaon_last_error(ctx), expected + (ranks > 1 ? 0 : strlen("rank 0: ")));
  }
  must(ctx, kaon_context_agree(ctx, KAON_OK));
  assert_int_equal(kaon_agree(ctx, kaon_fail(ctx, KAON_ERR_COMM, "the network is down")),
                   KAON_ERR_COMM);
  assert_string_equal(kaon_last_error(ctx), "the network is down");
  kaon_context_destroy(&ctx);
}

/* The last rank neither sends nor sums, as if it had failed. With patience the others agree on a
 * failure; without it they would wait for ever. */
static void who_is_waited_for_in_vain_is_given_up(void **state) {
  (void)state;
  double number = 1, arrived = 0, begin = MPI_Wtime();
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_comm *comm = ctx->comm;
  const int last = comm->ranks - 1, absent = comm->rank == last;
  kaon_message message = {0, absent ? 0 : last, &number, &arrived, sizeof number};
  kaon_exchange *exchange = NULL;
  if (comm->ranks == 1 || strcmp(comm->ops->name, "MPI") != 0) {
    printf("  of several ranks over MPI: skipped\n");
    kaon_context_destroy(&ctx);
    return;
  }
  const int paired = absent || comm->rank == 0;
  message.dir = absent ? 4 : 0;
  must(ctx, comm->ops->exchange_create(comm, &message, paired, &exchange));
  ctx->options.patience = 0.2;
  kaon_status status = KAON_OK;
  if (!absent) {
    must(ctx, comm->ops->exchange_start(exchange));
    status = comm->ops->exchange_finish(exchange);
    assert_int_equal(status, paired ? KAON_ERR_COMM : KAON_OK);
    if (paired) assert_non_null(strstr(kaon_last_error(ctx), "gave up waiting for an exchange"));
  }
  assert_int_equal(kaon_agree(ctx, status), KAON_ERR_COMM);
  assert_true(MPI_Wtime() - begin > 0.2);
  assert_non_null(strstr(kaon_last_error(ctx), "rank 0 of"));
  status = KAON_OK;
  if (!absent) {
    must(ctx, comm->ops->sum_start(comm, &number, 1));
    status = comm->ops->sum_finish(comm);
    assert_int_equal(comm->ops->sum_start(comm, &number, 1), KAON_ERR_COMM);
  }
  assert_int_equal(kaon_agree(ctx, status), KAON_ERR_COMM);
  comm->ops->exchange_destroy(&exchange);
  kaon_context_destroy(&ctx);
}

/* A failure that the application ignores does not affect its next calls. */
static void a_tolerated_failure_is_not_the_next_one(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  const int last = ctx->comm->ranks - 1, odd[4] = {4, 4, 4, 5};
  kaon_lattice *lattice = NULL;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_lattice_create(ctx, odd, KAON_PERIODIC, &lattice));
  for (int i = 0; i < 2; i++) {
    const kaon_status mine = ctx->comm->rank == last ? KAON_ERR_MEMORY : KAON_OK;
    assert_int_equal(kaon_context_agree(ctx, mine), KAON_ERR_MEMORY);
  }
  must(ctx, kaon_context_agree(ctx, KAON_OK));
  kaon_context_destroy(&ctx);
}

/* An array that one rank could not allocate: all ranks learn of it and stay in step. */
static void one_rank_without_an_array_fails_all(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  const int last = ctx->comm->ranks - 1;
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_vector *v = NULL;
  must(ctx, kaon_lattice_create(ctx, (int[4]){4, 4, 8, 16}, KAON_PERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(ctx, kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 1, &v));
  double *links = calloc((size_t)lattice->volume * 72, sizeof *links);
  const void *array = ctx->comm->rank == last ? NULL : links;
  must_refuse(ctx, KAON_ERR_ARGUMENT,
              kaon_gauge_import(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, &array));
  must_refuse(ctx, KAON_ERR_ARGUMENT,
              kaon_gauge_export(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE,
                                (void *[]){ctx->comm->rank == last ? NULL : links}));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_vector_import(v, 0, array, KAON_BASIS_UKQCD));
  must(ctx, kaon_vector_import(v, 0, links, KAON_BASIS_UKQCD));
  double value = 1;
  must(ctx, kaon_comm_sum(ctx, &value, 1));
  assert_true(value == ctx->comm->ranks);
  free(links);
  kaon_vector_destroy(&v);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
}

static void a_grid_that_does_not_fit_is_refused(void **state) {
  (void)state;
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  const int wrong[][4] = {
      {world_size(), 1, 1, 2}, {1, 0, 1, 1}, {1, 1, 1, -1}, {1 << 16, 1 << 16, 1, 1}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_context_create_ranks(&options, NULL, wrong[i], &ctx));
    assert_null(ctx);
    assert_non_null(strstr(kaon_last_error(NULL), "grid"));
  }
  const int right[4] = {1, 1, world_size(), 1};
  must(NULL, kaon_context_create_ranks(&options, NULL, right, &ctx));
  assert_memory_equal(ctx->comm->grid, right, sizeof right);
  kaon_context_destroy(&ctx);
}

/* One rank with other options: all are told, with that rank's number. */
/* The others do not wait for ever for who never came to them. */
static void options_that_one_rank_cannot_take_fail_all(void **state) {
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  (void)state;
  if (world_rank() == world_size() - 1) options.threads = -1;
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_context_create_ranks(&options, NULL, NULL, &ctx));
  assert_null(ctx);
  assert_non_null(strstr(kaon_last_error(NULL), "threads"));
}

static void machines_that_differ_are_refused(void **state) {
  (void)state;
  kaon_context_options options = ranks_options(KAON_ISA_X86_64);
  kaon_context *ctx = NULL;
  if (world_size() == 1 || options.backend == KAON_BACKEND_CUDA) skip();
  if (world_rank() == world_size() - 1) options.isa = KAON_ISA_SCALAR;
  must_refuse(NULL, KAON_ERR_UNSUPPORTED, kaon_context_create_ranks(&options, NULL, NULL, &ctx));
  char expected[32];
  snprintf(expected, sizeof expected, "rank %d: ", world_size() - 1);
  assert_non_null(strstr(kaon_last_error(NULL), expected));
  assert_non_null(strstr(kaon_last_error(NULL), "KAON_ISA"));
}

/* Memory that one rank alone lacks. */
static void one_rank_without_memory_fails_all(void **state) {
  (void)state;
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  if (world_rank() == world_size() - 1) options.memory_limit = 1; /* too small for anything */
  must_refuse(NULL, KAON_ERR_MEMORY, kaon_context_create_ranks(&options, NULL, NULL, &ctx));
  assert_null(ctx);
  assert_non_null(strstr(kaon_last_error(NULL), "reduction buffer"));
}

/* The application's communicator: half of the processes each, in reverse order. */
static void an_application_hands_in_its_communicator(void **state) {
  (void)state;
#ifdef RANKS_BY_QMP
  QMP_comm_t theirs;
#else
  MPI_Comm theirs;
#endif
  const int rank = world_rank(), ranks = world_size();
  const int half = ranks > 1 ? rank % 2 : 0, members = ranks > 1 ? ranks / 2 : 1;
#ifdef RANKS_BY_QMP
  assert_int_equal(QMP_comm_split(QMP_comm_get_default(), half, ranks - rank, &theirs),
                   QMP_SUCCESS);
#else
  MPI_Comm_split(MPI_COMM_WORLD, half, ranks - rank, &theirs);
#endif
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  const int grid[4] = {members, 1, 1, 1};
  kaon_context *ctx = NULL;
  must(NULL, kaon_context_create_ranks(&options, &theirs, grid, &ctx));
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  must(ctx, kaon_context_query(ctx, &info));
  assert_int_equal(info.ranks, members);
  assert_int_equal(info.rank, (ranks - 1 - rank) / (ranks > 1 ? 2 : 1));
  assert_string_equal(info.communicator, kaon_ranks_library());
  assert_in_range(info.local_rank, 0, members - 1);
  double value = rank;
  must(ctx, kaon_comm_sum(ctx, &value, 1));
  double expected = 0;
  for (int r = half; r<ranks; r += ranks> 1 ? 2 : 1) expected += r;
  assert_true(value == expected);
  kaon_context_destroy(&ctx);
#ifdef RANKS_BY_QMP
  QMP_comm_free(theirs);
#else
  MPI_Comm_free(&theirs);
#endif
}

static const struct CMUnitTest comm[] = {
    cmocka_unit_test(sums_are_added_in_the_order_of_ranks),
    cmocka_unit_test(long_sums_and_not_finite_ones),
    cmocka_unit_test(numbers_and_bytes_reach_whom_they_are_for),
    cmocka_unit_test(exchanges_tell_directions_apart),
    cmocka_unit_test(long_messages_go_in_pieces),
    cmocka_unit_test(an_empty_exchange_does_nothing),
    cmocka_unit_test(what_is_put_on_a_board_is_whole_and_in_order),
    cmocka_unit_test(boards_come_and_go),
    cmocka_unit_test(all_ranks_return_the_first_failure),
    cmocka_unit_test(the_reason_comes_before_those_who_waited),
    cmocka_unit_test(who_is_waited_for_in_vain_is_given_up),
    cmocka_unit_test(a_tolerated_failure_is_not_the_next_one),
    cmocka_unit_test(one_rank_without_an_array_fails_all),
    cmocka_unit_test(a_grid_that_does_not_fit_is_refused),
    cmocka_unit_test(options_that_one_rank_cannot_take_fail_all),
    cmocka_unit_test(machines_that_differ_are_refused),
    cmocka_unit_test(one_rank_without_memory_fails_all),
    cmocka_unit_test(an_application_hands_in_its_communicator),
};
RANKS_MAIN(comm)

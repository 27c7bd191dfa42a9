/* fake_recorder.h - a substitute recorder for the CPU, which executes at once: it calls the
 * operations of a loop where a device would repeat them, and counts. Include <string.h> and
 * <stdlib.h> before. */
#ifndef FAKE_RECORDER_H
#define FAKE_RECORDER_H

#include "lib/core/backend.h"
#include "lib/core/error.h"
#include "lib/math/steps/start.h"

struct kaon_recorder {
  kaon_loop loop;
  kaon_issue form;
  int columns;
  kaon_column_state *copy[2];
};

static struct {
  int records, runs, serves, refuse;
  int loops;  /* of the recordings, those of steps that are repeated (WHILE) */
  int starts; /* solves begun without a wait for norms */
} calls;

static kaon_status stand_in_create(kaon_context *ctx, int columns, kaon_recorder **recorder) {
  (void)ctx;
  *recorder = calloc(1, sizeof **recorder);
  (*recorder)->columns = columns;
  for (int i = 0; i < 2; i++)
    (*recorder)->copy[i] = calloc((size_t)columns, sizeof(kaon_column_state));
  return KAON_OK;
}

static void stand_in_destroy(kaon_recorder **recorder) {
  for (int i = 0; i < 2; i++) free((*recorder)->copy[i]);
  free(*recorder);
  *recorder = NULL;
}

static kaon_status stand_in_record(kaon_recorder *r, const kaon_loop *loop, kaon_issue form) {
  r->loop = *loop;
  r->form = form;
  calls.records++;
  calls.loops += form != KAON_ISSUE_REPLAY && loop->before == NULL;
  return calls.refuse ? KAON_ERR_UNSUPPORTED : KAON_OK;
}

static int columns_with(const kaon_recorder *r, int gate) {
  int n = 0;
  for (int k = 0; k < r->columns; k++) n += (r->loop.state[k].gate & gate) != 0;
  return n;
}

static kaon_status stand_in_post(kaon_recorder *r, const kaon_column_state *state, int number) {
  memcpy(r->copy[number], state, (size_t)r->columns * sizeof *state);
  return KAON_OK;
}

static kaon_status stand_in_blocks(kaon_recorder *r, int blocks) {
  for (int i = 0; i < blocks; i++) {
    if (r->form != KAON_ISSUE_REPLAY && columns_with(r, KAON_GATE_STEP | KAON_GATE_SERVICE) == 0)
      return KAON_OK;
    KAON_TRY(r->loop.steps(r->loop.user));
    if (r->form != KAON_ISSUE_REPLAY && r->form != KAON_ISSUE_CDP && /* which the host serves */
        columns_with(r, KAON_GATE_SERVICE) > columns_with(r, KAON_GATE_STEP))
      KAON_TRY(r->loop.service(r->loop.user));
  }
  return KAON_OK;
}

static kaon_status stand_in_run(kaon_recorder *r, int blocks) {
  const kaon_loop *loop = &r->loop;
  int refused = 0;
  calls.runs++;
  if (loop->before == NULL) return stand_in_blocks(r, blocks);
  KAON_TRY(loop->before(loop->user));
  KAON_TRY(stand_in_blocks(r, blocks));
  for (int k = 0; k < r->columns; k++) refused |= kaon_start_refused(&loop->state[k]);
  refused |= columns_with(r, KAON_GATE_STEP | KAON_GATE_SERVICE) > 0;
  if (loop->after != NULL && !refused) KAON_TRY(loop->after(loop->user));
  KAON_TRY(stand_in_post(r, loop->norms, 1));
  return stand_in_post(r, loop->state, 0);
}

static kaon_status stand_in_serve(kaon_recorder *r) {
  calls.serves++;
  return r->loop.service(r->loop.user);
}

/* A whole solve's look brings what it must and no more. */
static void stand_in_look(const kaon_column_state *from, int number, kaon_column_state *host) {
  memset(host, 0xff, sizeof *host);
  kaon_snapshot_read(host, from, number);
}

static kaon_status stand_in_wait(kaon_recorder *r, int number, kaon_column_state *host) {
  for (int k = 0; k < r->columns && r->loop.before != NULL; k++)
    stand_in_look(&r->copy[number][k], number, &host[k]);
  if (r->loop.before != NULL) return KAON_OK;
  memcpy(host, r->copy[number], (size_t)r->columns * sizeof *host);
  return KAON_OK;
}

static kaon_status stand_in_start(kaon_context *ctx, const kaon_start *start) {
  int odd = 0;
  (void)ctx;
  calls.starts++;
  memcpy(start->state, start->prepared, (size_t)start->columns * sizeof *start->state);
  for (int k = 0; k < start->columns; k++) odd |= !kaon_start_ordinary(start, k);
  for (int k = 0; k < start->columns; k++) kaon_start_column(start, k, !odd);
  return KAON_OK;
}

static const kaon_record_ops stand_in = {.create = stand_in_create,
                                         .destroy = stand_in_destroy,
                                         .record = stand_in_record,
                                         .run = stand_in_run,
                                         .service_waiting = stand_in_serve,
                                         .post = stand_in_post,
                                         .wait = stand_in_wait,
                                         .start = stand_in_start};

#endif

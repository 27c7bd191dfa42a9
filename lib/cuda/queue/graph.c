/* graph.c - recorded blocks of steps (kaon_record_ops) as CUDA graphs.
 *
 *   REPLAY  two graphs: the steps of a block, the service
 *   WHILE   one graph, whose body the device repeats, using conditional nodes (CUDA 12.4; the
 *           decisions are in loop.cu):
 *             decide; while (again) { steps; decide; if (serve) { service; decide } }
 *           for a whole solve:
 *             before; decide; while ...; if (begun and over) { after }; snapshot
 *   TAIL    the two graphs of REPLAY, each of which launches its successor (tail.cu)
 *   CDP     a list of the block's launches, which the device executes (launch_list.c,
 *           cdp_image.c), and the service's graph
 *   PERSISTENT  the graph of WHILE, in which one kernel executes such a list
 *
 * A block is what the stream captures while kaon_loop.steps runs. Nothing is executed during
 * capture. A function that needs an answer from the device or new memory checks
 * kaon_context.recording and fails. So steps that cannot be recorded are detected without harm. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cpu/clock.h"
#include "lib/cuda/device.h"
#include "lib/cuda/queue/launch_list.h"
#include "lib/cuda/queue/completion.h"

enum { COPIES = 2 };

struct kaon_recorder {
  kaon_context *ctx;
  int columns;
  kaon_issue form;
  kaon_loop_control *control;
  cudaGraphExec_t steps, service; /* WHILE: steps is the whole loop */
  kaon_list_recorder *lister;     /* CDP, PERSISTENT */
  int cooperative;                /* PERSISTENT: uses a cooperative launch */
  char *copy[COPIES];             /* pinned */
  cudaEvent_t arrived[COPIES];
  int64_t usual;          /* nanoseconds that waits usually take */
  int limit;              /* limit of blocks that is set on the device; 0: not set */
  int reports_completion; /* a run ends by reporting a snapshot (kaon_loop.before) */
  kaon_completion completion;
};

static cudaStream_t stream_of(const kaon_recorder *r) {
  return kaon_cuda_machine_of(r->ctx)->stream;
}

/* ---- capturing ---- */

typedef struct part {
  kaon_recorder *recorder;
  const kaon_loop *loop;
  kaon_loop_stage stage;
  kaon_loop_handles handles;
  int decides; /* ends with a decision */
} part;

static kaon_column_state *copy_of(const kaon_recorder *r, int number) {
  return (kaon_column_state *)(void *)r->copy[number];
}

static kaon_status copy_states(const kaon_recorder *r, const kaon_column_state *state, int number) {
  return kaon_cuda_check(r->ctx,
                         cudaMemcpyAsync(r->copy[number], state, (size_t)r->columns * sizeof *state,
                                         cudaMemcpyDeviceToHost, stream_of(r)),
                         "a host poll");
}

static kaon_status issue_part(const part *p) {
  kaon_recorder *r = p->recorder;
  if (p->stage == KAON_LOOP_STEPPED)
    KAON_TRY(r->form == KAON_ISSUE_PERSISTENT
                 ? kaon_list_recorder_launch_resident(r->lister, r->cooperative)
                 : p->loop->steps(p->loop->user));
  if (p->stage == KAON_LOOP_SERVICED) KAON_TRY(p->loop->service(p->loop->user));
  if (p->stage == KAON_LOOP_ENTRY && p->loop->before != NULL)
    KAON_TRY(p->loop->before(p->loop->user));
  if (p->stage == KAON_LOOP_END) KAON_TRY(p->loop->after(p->loop->user));
  if (p->stage == KAON_LOOP_SNAPSHOT)
    kaon_cuda_loop_snapshot(r->control, p->loop->state, p->loop->norms, r->columns, copy_of(r, 0),
                            copy_of(r, 1), r->completion.loop_done, stream_of(r));
  if (r->form == KAON_ISSUE_TAIL)
    kaon_cuda_loop_tail(r->control, p->loop->state, r->columns, p->stage, stream_of(r));
  if (p->decides)
    kaon_cuda_loop_decide(r->control, p->loop->state, r->columns, p->stage, p->handles,
                          stream_of(r));
  return kaon_cuda_pending(r->ctx, "recording");
}

static void drop(cudaGraphExec_t *exec) {
  if (*exec != NULL) cudaGraphExecDestroy(*exec);
  *exec = NULL;
}

static cudaError_t instantiate(const kaon_recorder *r, cudaGraphExec_t *exec, cudaGraph_t graph) {
#if CUDART_VERSION >= 12000
  const unsigned flags = r->form == KAON_ISSUE_TAIL ? cudaGraphInstantiateFlagDeviceLaunch : 0;
  return cudaGraphInstantiate(exec, graph, flags);
#else
  (void)r;
  return cudaGraphInstantiateWithFlags(exec, graph, 0);
#endif
}

/* *exec from `graph`, which is destroyed. */
static kaon_status finish(const kaon_recorder *r, cudaGraph_t graph, kaon_status status,
                          cudaGraphExec_t *exec) {
  if (status == KAON_OK)
    status = kaon_cuda_check(r->ctx, instantiate(r, exec, graph), "making a graph");
  if (status == KAON_OK)
    status = kaon_cuda_check(r->ctx, cudaGraphUpload(*exec, stream_of(r)), "a graph's transfer");
  if (graph != NULL) cudaGraphDestroy(graph);
  cudaGetLastError();
  return status;
}

/* Records what the part issues as a separate graph. */
static kaon_status record_part(const part *p, cudaGraphExec_t *exec) {
  const kaon_recorder *r = p->recorder;
  kaon_cuda_machine *machine = kaon_cuda_machine_of(r->ctx);
  cudaGraph_t graph = NULL;
  KAON_TRY(kaon_cuda_check(
      r->ctx, cudaStreamBeginCapture(machine->stream, cudaStreamCaptureModeThreadLocal),
      "recording"));
  r->ctx->recording = 1;
  kaon_status status = issue_part(p);
  r->ctx->recording = 0;
  const cudaError_t error = cudaStreamEndCapture(machine->stream, &graph);
  if (status == KAON_OK) status = kaon_cuda_check(r->ctx, error, "recording");
  return finish(r, graph, status, exec);
}

static kaon_status record_service(kaon_recorder *r, const kaon_loop *loop) {
  const part service = {.recorder = r, .loop = loop, .stage = KAON_LOOP_SERVICED};
  return record_part(&service, &r->service);
}

static kaon_status record_replay(kaon_recorder *r, const kaon_loop *loop) {
  const part steps = {.recorder = r, .loop = loop, .stage = KAON_LOOP_STEPPED};
  KAON_TRY(record_part(&steps, &r->steps));
  return record_service(r, loop);
}

#if CUDART_VERSION >= 12040

/* Graphs that a device launches must not contain dependent launches. */
static kaon_status record_tail(kaon_recorder *r, const kaon_loop *loop) {
  const int dependent = r->ctx->dependent;
  r->ctx->dependent = 0;
  kaon_status status = record_replay(r, loop);
  r->ctx->dependent = dependent;
  if (status != KAON_OK) return status;
  const cudaGraphExec_t two[2] = {r->steps, r->service};
  return r->ctx->backend->memory->to_device(r->ctx, &r->control->steps, two, sizeof two);
}

static cudaError_t last_captured(cudaStream_t stream, cudaGraphNode_t *last) {
  enum cudaStreamCaptureStatus capturing;
  const cudaGraphNode_t *nodes = NULL;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaGraphEdgeData *edges = NULL; /* the conditional node waits for the whole node */
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &capturing, NULL, NULL, &nodes, &edges, &count);
#else
  const cudaError_t error =
      cudaStreamGetCaptureInfo_v2(stream, &capturing, NULL, NULL, &nodes, &count);
#endif
  if (error != cudaSuccess) return error;
  if (capturing != cudaStreamCaptureStatusActive || count != 1)
    return cudaErrorStreamCaptureInvalidated;
  *last = nodes[0];
  return cudaSuccess;
}

/* Appends what the part issues to a graph, after node `after`, or at the start if that is NULL.
 * *last: its last node. */
static kaon_status record_into(const part *p, cudaGraph_t graph, const cudaGraphNode_t *after,
                               cudaGraphNode_t *last) {
  const kaon_recorder *r = p->recorder;
  kaon_cuda_machine *machine = kaon_cuda_machine_of(r->ctx);
  cudaGraph_t same = NULL;
  KAON_TRY(kaon_cuda_check(
      r->ctx,
      cudaStreamBeginCaptureToGraph(machine->stream, graph, after, NULL, after != NULL,
                                    cudaStreamCaptureModeThreadLocal),
      "recording"));
  r->ctx->recording = 1;
  kaon_status status = issue_part(p);
  r->ctx->recording = 0;
  if (status == KAON_OK)
    status = kaon_cuda_check(r->ctx, last_captured(machine->stream, last), "recording");
  const cudaError_t error = cudaStreamEndCapture(machine->stream, &same);
  if (status == KAON_OK) status = kaon_cuda_check(r->ctx, error, "recording");
  return status;
}

/* Appends a conditional node after *last and updates *last. *body: the graph that it runs. */
static kaon_status add_condition(const kaon_recorder *r, cudaGraph_t graph, cudaGraphNode_t *last,
                                 unsigned long long handle, enum cudaGraphConditionalNodeType type,
                                 cudaGraph_t *body) {
  struct cudaGraphNodeParams node = {.type = cudaGraphNodeTypeConditional};
  const cudaGraphNode_t after = *last;
  node.conditional.handle = handle;
  node.conditional.type = type;
  node.conditional.size = 1;
#if CUDART_VERSION >= 13000
  const cudaError_t error = cudaGraphAddNode(last, graph, &after, NULL, 1, &node);
#else
  const cudaError_t error = cudaGraphAddNode(last, graph, &after, 1, &node);
#endif
  KAON_TRY(kaon_cuda_check(r->ctx, error, "a conditional node"));
  *body = node.conditional.phGraph_out[0];
  return KAON_OK;
}

static kaon_status condition(const kaon_recorder *r, cudaGraph_t graph,
                             unsigned long long *handle) {
  cudaGraphConditionalHandle made;
  KAON_TRY(
      kaon_cuda_check(r->ctx, cudaGraphConditionalHandleCreate(&made, graph, 0, 0), "a condition"));
  *handle = made;
  return KAON_OK;
}

/* Appends the conditional part after the loop, and the snapshot. *last: the node of the loop. */
static kaon_status build_end(kaon_recorder *r, const kaon_loop *loop, cudaGraph_t graph,
                             cudaGraphNode_t *last) {
  part p = {.recorder = r, .loop = loop, .stage = KAON_LOOP_SNAPSHOT};
  part guard = {.recorder = r, .loop = loop, .stage = KAON_LOOP_GUARD, .decides = 1};
  const part end = {.recorder = r, .loop = loop, .stage = KAON_LOOP_END};
  cudaGraph_t body = NULL;
  cudaGraphNode_t inner;
  if (loop->after != NULL) {
    KAON_TRY(condition(r, graph, &guard.handles.service_waiting));
    KAON_TRY(record_into(&guard, graph, last, last));
    KAON_TRY(
        add_condition(r, graph, last, guard.handles.service_waiting, cudaGraphCondTypeIf, &body));
    KAON_TRY(record_into(&end, body, NULL, &inner));
  }
  return record_into(&p, graph, last, last);
}

static kaon_status build_while(kaon_recorder *r, const kaon_loop *loop, cudaGraph_t graph) {
  part p = {.recorder = r, .loop = loop, .decides = 1};
  cudaGraph_t body = NULL, served = NULL;
  cudaGraphNode_t last, inner;
  KAON_TRY(condition(r, graph, &p.handles.again));
  p.stage = KAON_LOOP_ENTRY;
  KAON_TRY(record_into(&p, graph, NULL, &last));
  KAON_TRY(add_condition(r, graph, &last, p.handles.again, cudaGraphCondTypeWhile, &body));
  KAON_TRY(condition(r, body, &p.handles.service_waiting));
  p.stage = KAON_LOOP_STEPPED;
  KAON_TRY(record_into(&p, body, NULL, &inner));
  KAON_TRY(add_condition(r, body, &inner, p.handles.service_waiting, cudaGraphCondTypeIf, &served));
  p.stage = KAON_LOOP_SERVICED;
  KAON_TRY(record_into(&p, served, NULL, &inner));
  return loop->before != NULL ? build_end(r, loop, graph, &last) : KAON_OK;
}

static kaon_status record_while(kaon_recorder *r, const kaon_loop *loop) {
  cudaGraph_t graph = NULL;
  KAON_TRY(kaon_cuda_check(r->ctx, cudaGraphCreate(&graph, 0), "a graph"));
  return finish(r, graph, build_while(r, loop, graph), &r->steps);
}

#else

static kaon_status record_while(kaon_recorder *r, const kaon_loop *loop) {
  (void)loop;
  return kaon_fail(r->ctx, KAON_ERR_UNSUPPORTED,
                   "cuda: loops on the device need CUDA 12.4; build with it, or use issue=replay");
}

static kaon_status record_tail(kaon_recorder *r, const kaon_loop *loop) {
  return record_while(r, loop);
}

#endif

/* ---- lists ---- */

static kaon_status list(kaon_recorder *r, const kaon_loop *loop) {
  if (r->lister == NULL)
    return kaon_fail(r->ctx, KAON_ERR_UNSUPPORTED,
                     "cuda: the solver was created for another value of the option issue");
  return kaon_list_recorder_record(r->lister, loop);
}

static kaon_status record_cdp(kaon_recorder *r, const kaon_loop *loop) {
  KAON_TRY(list(r, loop));
  return record_service(r, loop);
}

/* A driver may refuse a cooperative kernel inside a loop. An ordinary launch is correct too: all
 * blocks of the kernel fit the device at once, and all earlier work ends without it, so all blocks
 * become resident. */
static kaon_status record_resident(kaon_recorder *r, const kaon_loop *loop) {
  KAON_TRY(list(r, loop));
  r->cooperative = 1;
  const kaon_status status = record_while(r, loop);
  if (status == KAON_OK) return KAON_OK;
  kaon_log(r->ctx, KAON_LOG_DEBUG,
           "cuda: the persistent kernel is launched without cooperative launch: %s",
           kaon_last_error(r->ctx));
  drop(&r->steps);
  r->cooperative = 0;
  return record_while(r, loop);
}

/* ---- entries of the table ---- */

static void destroy(kaon_recorder **recorder) {
  if (recorder == NULL || *recorder == NULL) return;
  kaon_recorder *r = *recorder;
  *recorder = NULL;
  kaon_cuda_enter(r->ctx);
  kaon_cuda_wait_stream(r->ctx, stream_of(r), "a recording's end");
  drop(&r->steps);
  drop(&r->service);
  for (int i = 0; i < COPIES; i++) {
    if (r->arrived[i] != NULL) cudaEventDestroy(r->arrived[i]);
    if (r->copy[i] != NULL) cudaFreeHost(r->copy[i]);
  }
  kaon_context *ctx = r->ctx;
  kaon_list_recorder_destroy(&r->lister);
  kaon_pool_release(ctx, r->control);
  free(r);
  kaon_context_release(ctx);
}

static kaon_status build(kaon_recorder *r) {
  void *control = NULL;
  KAON_TRY(kaon_pool_allocate(r->ctx, sizeof *r->control, "a recorded loop's control", &control));
  r->control = control;
  KAON_TRY(r->ctx->backend->memory->clear(r->ctx, control, sizeof *r->control));
  const kaon_issue wanted = r->ctx->lab.issue;
  if (wanted == KAON_ISSUE_CDP || wanted == KAON_ISSUE_PERSISTENT)
    KAON_TRY(kaon_list_recorder_create(r->ctx, wanted, control, &r->lister));
  for (int i = 0; i < COPIES; i++) {
    void *copy = NULL;
    const size_t bytes = (size_t)r->columns * sizeof(kaon_column_state);
    KAON_TRY(kaon_cuda_check(
        r->ctx, cudaHostAlloc(&copy, bytes + sizeof *r->completion.loop_done, cudaHostAllocDefault),
        "pinned memory for host polls"));
    r->copy[i] = copy;
    if (i == 0) r->completion.loop_done = (kaon_loop_done *)(void *)(r->copy[i] + bytes);
    KAON_TRY(kaon_cuda_check(
        r->ctx, cudaEventCreateWithFlags(&r->arrived[i], cudaEventDisableTiming), "an event"));
  }
  return KAON_OK;
}

static kaon_status create(kaon_context *ctx, int columns, kaon_recorder **recorder) {
  kaon_recorder *r = calloc(1, sizeof *r);
  *recorder = NULL;
  if (r == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "cuda: out of host memory for a recorder");
  r->ctx = ctx;
  r->columns = columns;
  kaon_context_retain(ctx);
  kaon_cuda_enter(ctx);
  const kaon_status status = build(r);
  *recorder = r;
  if (status != KAON_OK) destroy(recorder);
  return status;
}

static kaon_status record(kaon_recorder *r, const kaon_loop *loop, kaon_issue form) {
  kaon_cuda_enter(r->ctx);
  drop(&r->steps);
  drop(&r->service);
  r->form = form;
  r->limit = 0;
  r->reports_completion = loop->before != NULL;
  const kaon_status status = form == KAON_ISSUE_PERSISTENT ? record_resident(r, loop)
                             : form == KAON_ISSUE_CDP      ? record_cdp(r, loop)
                             : form == KAON_ISSUE_TAIL     ? record_tail(r, loop)
                             : form == KAON_ISSUE_WHILE    ? record_while(r, loop)
                                                           : record_replay(r, loop);
  if (status == KAON_OK) return KAON_OK;
  drop(&r->steps);
  drop(&r->service);
  return status;
}

static kaon_status launch(const kaon_recorder *r, cudaGraphExec_t exec) {
  kaon_cuda_enter(r->ctx);
  return kaon_cuda_check(r->ctx, cudaGraphLaunch(exec, stream_of(r)), "launching a graph");
}

/* Marks a copy that has not arrived, in its last field. No state has this value. */
enum { NOT_YET = -1 };

static volatile int32_t *last_number(const kaon_recorder *r, int number) {
  return &copy_of(r, number)[r->columns - 1].unknowns;
}

static kaon_status run(kaon_recorder *r, int blocks) {
  kaon_cuda_enter(r->ctx);
  if (r->form != KAON_ISSUE_REPLAY) {
    const int counts = r->form == KAON_ISSUE_WHILE || r->form == KAON_ISSUE_PERSISTENT;
    if (!counts || blocks != r->limit) kaon_cuda_loop_start(r->control, blocks, stream_of(r));
    r->limit = blocks;
    if (r->reports_completion) kaon_completion_expect(&r->completion);
    return r->form == KAON_ISSUE_CDP ? kaon_list_recorder_launch_cdp(r->lister)
                                     : launch(r, r->steps);
  }
  for (int i = 0; i < blocks; i++) KAON_TRY(launch(r, r->steps));
  return KAON_OK;
}

static kaon_status service_waiting(kaon_recorder *r) {
  return launch(r, r->service);
}

static kaon_status post(kaon_recorder *r, const kaon_column_state *state, int number) {
  kaon_cuda_enter(r->ctx);
  *last_number(r, number) = NOT_YET;
  KAON_TRY(copy_states(r, state, number));
  return kaon_cuda_check(r->ctx, cudaEventRecord(r->arrived[number], stream_of(r)), "a host poll");
}

/* The length of the next sleep, `passed` nanoseconds into a wait. Normally it is nearly all that is
 * left of the usual time. If much is left it is half of that, since this wait may be shorter.
 * Beyond the usual time it is a quarter of the excess. So there are few sleeps; each costs some 5
 * us of processor time. The usual time falls at once and rises slowly: a wait is never shorter than
 * its sleeps, so a long sleep would otherwise lengthen the next ones. */
static int64_t sleep_for_ns(int64_t passed, int64_t usual) {
  const int64_t shortest = 10000, longest = 5000000, much = 3000000, left = usual - passed;
  const int64_t wanted = left <= 0 ? -left / 4 : left > much ? left / 2 : left / 32 * 31 - shortest;
  return wanted < shortest ? shortest : wanted < longest ? wanted : longest;
}

/* Returns 1 once the event has occurred or cannot occur any more. While the last field of the copy
 * is missing, the event cannot have occurred either. So the driver is queried only now and then, in
 * case of an error. */
static int has_arrived(const kaon_recorder *r, int number, int64_t passed, int64_t *asked,
                       cudaError_t *answer) {
  static const int64_t often_enough = 1000000; /* nanoseconds */
  const int arrived = *last_number(r, number) != NOT_YET;
  if (!arrived && passed - *asked < often_enough) return 0;
  *asked = passed;
  do *answer = cudaEventQuery(r->arrived[number]);
  while (arrived && *answer == cudaErrorNotReady);
  return *answer != cudaErrorNotReady;
}

/* Sleeps in short intervals. The driver's blocking wait costs some 100 us of processor time and
 * wakes no earlier. */
static kaon_status sleep_until(kaon_recorder *r, int number) {
  if (r->ctx->options.sync == KAON_SYNC_POLLING)
    return kaon_cuda_await(r->ctx, r->arrived[number], "work on the device");
  const int64_t begin = kaon_nanoseconds();
  int64_t passed = 0, asked = 0;
  cudaError_t error = cudaErrorNotReady;
  kaon_status watched = KAON_OK;
  unsigned long slack = 0;
  while (!has_arrived(r, number, passed, &asked, &error)) {
    if (passed == asked && passed > 0) /* the driver was queried */
      watched = kaon_cuda_check_ranks(r->ctx, 1e-9 * (double)passed);
    if (watched != KAON_OK) break;
    const struct timespec pause = {0, sleep_for_ns(passed, r->usual)};
    if (passed == 0) slack = kaon_cuda_timer_slack(1);
    nanosleep(&pause, NULL);
    passed = kaon_nanoseconds() - begin;
  }
  if (passed > 0) {
    kaon_cuda_timer_slack_back(slack);
    r->usual += r->usual > 0 && passed > r->usual ? (passed - r->usual) / 4 : passed - r->usual;
  }
  if (cudaPeekAtLastError() == cudaErrorNotReady) cudaGetLastError(); /* not an error */
  return watched != KAON_OK ? watched : kaon_cuda_check(r->ctx, error, "work on the device");
}

static kaon_status wait(kaon_recorder *r, int number, kaon_column_state *host) {
  KAON_TRY(kaon_cuda_pending(r->ctx, "a kernel launch"));
  if (r->reports_completion) { /* states and norms arrive together */
    KAON_TRY(kaon_completion_await(r->ctx, &r->completion));
    for (int k = 0; k < r->columns; k++)
      kaon_snapshot_read(&host[k], &copy_of(r, number)[k], number);
    return KAON_OK;
  }
  KAON_TRY(sleep_until(r, number));
  memcpy(host, r->copy[number], (size_t)r->columns * sizeof *host);
  return KAON_OK;
}

static kaon_status start(kaon_context *ctx, const kaon_start *what) {
  kaon_cuda_enter(ctx);
  kaon_cuda_loop_begin(what, kaon_cuda_machine_of(ctx)->stream);
  return kaon_cuda_pending(ctx, "a kernel launch");
}

const kaon_record_ops kaon_cuda_record = {
    .create = create,
    .destroy = destroy,
    .record = record,
    .run = run,
    .service_waiting = service_waiting,
    .post = post,
    .wait = wait,
    .start = start,
};

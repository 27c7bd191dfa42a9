/* launch_list.c - lists of launches (launch_list.h): how launchers append to them and how recorders
 * store them. */
#include "lib/cuda/queue/launch_list.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"

static void refuse(kaon_launch_list *list, const char *why) {
  if (list->refused == NULL) list->refused = why;
}

static int is_about(const kaon_launch_list *list, const kaon_column_state *state) {
  return state == NULL || state == list->state;
}

void kaon_launch_list_append(kaon_launch_list *list, const kaon_launch_list_item *launch) {
  if (launch->kind == KAON_LISTED_NONE) {
    refuse(list, "a step has a kernel that the device cannot launch from a list");
    return;
  }
  if ((unsigned)launch->chunks != launch->blocks) refuse(list, "a step has several columns");
  if (!is_about(list, launch->gate.state) || !is_about(list, launch->state) ||
      !is_about(list, launch->summed))
    refuse(list, "a step reads other scalars than its own");
  if (launch->summed != NULL && launch->chunks > KAON_RESIDENT_CHUNKS)
    refuse(list, "a sum has too many partial sums");
  if (launch->bytes > KAON_CALL_BYTES) refuse(list, "a kernel's arguments are too long");
  if (list->count >= KAON_LIST_CAPACITY) refuse(list, "a step has too many kernels");
  if (list->refused != NULL) return;
  kaon_launch_list_entry *e = &list->entry[list->count++];
  memset(e, 0, sizeof *e);
  e->kind = launch->kind;
  e->chunks = launch->chunks;
  e->mask = launch->gate.state != NULL ? launch->gate.mask : 0;
  e->sums = (int)launch->sums;
  e->summed = launch->summed != NULL;
  memcpy(e->call, launch->call, launch->bytes);
}

/* Reduces a list that consists of repetitions to one of them. Returns how many there were. */
static int fold(kaon_launch_list *list) {
  for (int n = 1; 2 * n <= list->count; n++) {
    if (list->count % n != 0) continue;
    const size_t rest = (size_t)(list->count - n) * sizeof *list->entry;
    if (memcmp(list->entry, list->entry + n, rest) != 0) continue;
    const int turns = list->count / n;
    list->count = n;
    return turns;
  }
  return 1;
}

/* Vector updates with the same number of chunks distribute a column's words in the same way. */
static void join(kaon_launch_list *list) {
  for (int i = 0; i + 1 < list->count; i++) {
    kaon_launch_list_entry *e = &list->entry[i];
    const kaon_launch_list_entry *next = e + 1;
    const int updates = e->kind % KAON_LISTED_PRECISION < KAON_LISTED_SELL &&
                        next->kind % KAON_LISTED_PRECISION < KAON_LISTED_SELL;
    e->joined = updates && !e->summed && e->chunks == next->chunks && e->mask == next->mask;
  }
}

/* ---- the list of a recorder ---- */

struct kaon_list_recorder {
  kaon_context *ctx;
  kaon_issue form;
  kaon_launch_list list;
  kaon_listed listed;
  kaon_launch_list_entry *entry; /* device memory */
  int precision;
  cudaError_t usable; /* CDP: whether such kernels can be launched */
};

void kaon_list_recorder_destroy(kaon_list_recorder **lister) {
  if (lister == NULL || *lister == NULL) return;
  kaon_list_recorder *l = *lister;
  *lister = NULL;
  kaon_pool_release(l->ctx, l->entry);
  kaon_pool_release(l->ctx, l->listed.room);
  free(l);
}

/* Tests whether kernels that launch kernels work here; under the Multi-Process Service a driver
 * refuses them. The test kernel has nothing to do, because the state of its column is all 0. */
static cudaError_t try_cdp(kaon_list_recorder *l) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(l->ctx);
  kaon_listed idle = l->listed;
  if (machine->cdp_image == NULL) {
    const cudaError_t error = kaon_cdp_create(&machine->cdp_image);
    if (error != cudaSuccess) return error;
  }
  idle.state = (void *)l->entry;
  const cudaError_t cleared = cudaMemsetAsync(l->entry, 0, sizeof *idle.state, machine->stream);
  return cleared != cudaSuccess ? cleared
                                : kaon_cdp_launch(machine->cdp_image, 0, &idle, machine->stream);
}

static kaon_status build(kaon_list_recorder *l) {
  const size_t room = KAON_RESIDENT_WORDS * sizeof *l->listed.room;
  void *taken = NULL;
  KAON_TRY(
      kaon_pool_allocate(l->ctx, KAON_LIST_ENTRIES * sizeof *l->entry, "a list of steps", &taken));
  l->entry = taken;
  l->listed.entry = taken;
  if (l->form == KAON_ISSUE_CDP) { /* without the image another form serves as well */
    l->usable = try_cdp(l);
    cudaGetLastError();
    return KAON_OK;
  }
  KAON_TRY(kaon_pool_allocate(l->ctx, room, "a persistent kernel's sums", &taken));
  l->listed.room = taken;
  return l->ctx->backend->memory->clear(l->ctx, taken, room);
}

kaon_status kaon_list_recorder_create(kaon_context *ctx, kaon_issue form,
                                      kaon_loop_control *control, kaon_list_recorder **lister) {
  kaon_list_recorder *l = *lister = calloc(1, sizeof *l);
  if (l == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "cuda: out of host memory for a list of steps");
  l->ctx = ctx;
  l->form = form;
  l->listed.control = control;
  const kaon_status status = build(l);
  if (status != KAON_OK) kaon_list_recorder_destroy(lister);
  return status;
}

/* Issues the steps into the list. Launches that bypass the list are captured from the stream;
 * *besides is their number of nodes. */
static kaon_status record_launches(kaon_list_recorder *l, const kaon_loop *loop, size_t *besides) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(l->ctx);
  cudaGraph_t graph = NULL;
  *besides = 0;
  KAON_TRY(kaon_cuda_check(
      l->ctx, cudaStreamBeginCapture(machine->stream, cudaStreamCaptureModeThreadLocal),
      "listing steps"));
  l->ctx->recording = 1;
  l->ctx->list = &l->list;
  kaon_status status = loop->steps(loop->user);
  l->ctx->list = NULL;
  l->ctx->recording = 0;
  if (status == KAON_OK) status = kaon_cuda_pending(l->ctx, "listing steps");
  const cudaError_t error = cudaStreamEndCapture(machine->stream, &graph);
  if (status == KAON_OK) status = kaon_cuda_check(l->ctx, error, "listing steps");
  if (status == KAON_OK && graph != NULL)
    status =
        kaon_cuda_check(l->ctx, cudaGraphGetNodes(graph, NULL, besides), "a list's other work");
  if (graph != NULL) cudaGraphDestroy(graph);
  cudaGetLastError();
  return status;
}

static kaon_status refused(const kaon_list_recorder *l, const char *why) {
  return kaon_fail(l->ctx, KAON_ERR_UNSUPPORTED, "cuda: steps cannot be listed: %s", why);
}

/* Chooses the grid: at most as many blocks as the longest entry has work for, and as the device
 * holds at once. */
static kaon_status choose_blocks(kaon_list_recorder *l) {
  int most = 0, wanted = 1;
  KAON_TRY(kaon_cuda_check(l->ctx, kaon_cuda_resident[l->precision]->blocks(l->listed.count, &most),
                           "a persistent kernel's room"));
  for (int i = 0; i < l->list.count; i++)
    if (l->list.entry[i].chunks > wanted) wanted = l->list.entry[i].chunks;
  if (most < 1) return refused(l, "the persistent kernel does not fit on the device");
  l->listed.blocks = wanted < most ? wanted : most;
  return KAON_OK;
}

kaon_status kaon_list_recorder_record(kaon_list_recorder *l, const kaon_loop *loop) {
  size_t besides = 0;
  if (l->usable != cudaSuccess)
    return kaon_fail(l->ctx, KAON_ERR_UNSUPPORTED,
                     "cuda: kernels that launch kernels (CUDA 13) cannot be launched here: %s",
                     cudaGetErrorString(l->usable));
  l->list.count = 0;
  l->list.refused = NULL;
  l->list.state = loop->state;
  KAON_TRY(record_launches(l, loop, &besides));
  if (l->list.refused != NULL) return refused(l, l->list.refused);
  if (besides > 0)
    return refused(l, "a step has a kernel that the device cannot launch from a list");
  l->listed.turns = fold(&l->list);
  join(&l->list);
  l->listed.count = l->list.count;
  l->listed.state = (kaon_column_state *)loop->state;
  if (l->list.count == 0) return refused(l, "a step has no kernel");
  if (l->list.count > KAON_LIST_ENTRIES) return refused(l, "a step has too many kernels");
  l->precision = l->list.entry[0].kind / KAON_LISTED_PRECISION;
  for (int i = 0; i < l->list.count; i++)
    if (l->list.entry[i].kind / KAON_LISTED_PRECISION != l->precision)
      return refused(l, "a step has vectors of two precisions");
  if (l->form == KAON_ISSUE_PERSISTENT) KAON_TRY(choose_blocks(l));
  return l->ctx->backend->memory->to_device(l->ctx, l->entry, l->list.entry,
                                            (size_t)l->list.count * sizeof *l->entry);
}

kaon_status kaon_list_recorder_launch_cdp(const kaon_list_recorder *l) {
  const kaon_cuda_machine *machine = kaon_cuda_machine_of(l->ctx);
  return kaon_cuda_check(
      l->ctx, kaon_cdp_launch(machine->cdp_image, l->precision, &l->listed, machine->stream),
      "launching steps");
}

kaon_status kaon_list_recorder_launch_resident(const kaon_list_recorder *l, int cooperative) {
  const kaon_cuda_machine *machine = kaon_cuda_machine_of(l->ctx);
  return kaon_cuda_check(
      l->ctx, kaon_cuda_resident[l->precision]->launch(&l->listed, cooperative, machine->stream),
      "launching a persistent kernel");
}

/* delay.c - delays that the queue's work can hide. A stream forks off that of the context, waits,
 * and is joined again. Only events connect them, so both can be recorded. */
#include "lib/cuda/queue/delay.h"

#include "lib/cuda/device.h"

kaon_status kaon_cuda_delay_open(kaon_context *ctx) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  int least = 0, greatest = 0;
  if (!(ctx->lab.reduce_delay > 0)) return KAON_OK;
  KAON_TRY(kaon_cuda_check(ctx, cudaDeviceGetStreamPriorityRange(&least, &greatest),
                           "asking for priorities"));
  KAON_TRY(kaon_cuda_check(ctx,
                           cudaStreamCreateWithPriority(&machine->aside, cudaStreamNonBlocking,
                                                        /* its block is scheduled first */
                                                        greatest),
                           "a stream for delays"));
  KAON_TRY(kaon_cuda_check(ctx, cudaEventCreateWithFlags(&machine->fork, cudaEventDisableTiming),
                           "an event"));
  return kaon_cuda_check(ctx, cudaEventCreateWithFlags(&machine->join, cudaEventDisableTiming),
                         "an event");
}

void kaon_cuda_delay_close(kaon_cuda_machine *machine) {
  if (machine->fork != NULL) cudaEventDestroy(machine->fork);
  if (machine->join != NULL) cudaEventDestroy(machine->join);
  if (machine->aside != NULL) cudaStreamDestroy(machine->aside);
}

kaon_status kaon_cuda_delay_start(kaon_context *ctx, double seconds) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  KAON_TRY(
      kaon_cuda_check(ctx, cudaEventRecord(machine->fork, machine->stream), "a delay's start"));
  KAON_TRY(kaon_cuda_check(ctx, cudaStreamWaitEvent(machine->aside, machine->fork, 0),
                           "a delay's start"));
  KAON_TRY(kaon_cuda_check(ctx, kaon_delay_launch(machine->aside, seconds), "a delay"));
  return kaon_cuda_check(ctx, cudaEventRecord(machine->join, machine->aside), "a delay's end");
}

kaon_status kaon_cuda_delay_finish(kaon_context *ctx) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  return kaon_cuda_check(ctx, cudaStreamWaitEvent(machine->stream, machine->join, 0),
                         "a delay's end");
}

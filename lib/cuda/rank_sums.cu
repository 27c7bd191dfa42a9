/* rank_sums.cu - sums over ranks of scalars that stand in column states: by mail, where kernels
 * store into the other ranks' memory, or packed into a message that something else carries. A block
 * a column; sums are added in the order of the ranks, so all ranks have the same bits. */
#include "lib/cuda/rank_sums.h"

#include "lib/cuda/dependent.h"
#include "lib/cuda/reduce.h"

enum { THREADS = 128 };

typedef struct mail_call {
  kaon_sum_call sum;
  kaon_mailbox box;
  int parts;
} mail_call;

typedef struct take_call {
  kaon_sum_call sum;
  const double *messages;
  int ranks;
} take_call;

/* ---- mail ---- */

/* Where `sender`'s number stands in the mail of the rank that has `words`. */
static __device__ __forceinline__ uint64_t *mail_at(uint64_t *words, int ranks, uint32_t mark,
                                                    int sender, int number) {
  return words + ((int64_t)(mark & 1) * ranks + sender) * KAON_MAIL_WORDS + 2 * (int64_t)number;
}

static __device__ __forceinline__ void mail_write(uint64_t *at, uint32_t mark, double x) {
  const uint64_t bits = (uint64_t)__double_as_longlong(x), above = (uint64_t)mark << 32;
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1,%2};" ::"l"(at), "l"(above | (uint32_t)bits),
               "l"(above | bits >> 32)
               : "memory");
}

static __device__ __forceinline__ marked_sum mail_read(const uint64_t *at) {
  marked_sum x;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(x.low), "=l"(x.high)
               : "l"(at)
               : "memory");
  return x;
}

/* The number of the sum after `turn` sums, by which it is known. 0 is left out, for cleared memory
 * bears it, and 1 with it, so that halves alternate. */
static __device__ __forceinline__ uint32_t mail_mark(uint32_t turn) {
  return turn + 1 != 0 ? turn + 1 : 2;
}

/* Marks come again after 2^32 sums. So each sum clears a number of its half, from every sender, that
 * it does not use: one after another, so that no mark lies about for longer than it takes to clear
 * them all. Nobody writes there now: the next sum is the other half's, and the one after that comes
 * from ranks that have had our part of the next. */
static __device__ __forceinline__ void mail_sweep(const kaon_mailbox &box, uint32_t mark,
                                                  int used) {
  const int number = (int)(mark / 2 % (KAON_MAIL_WORDS / 2)), sender = (int)threadIdx.x;
  if (blockIdx.x != 0 || sender >= box.ranks || number < used) return;
  uint64_t *at = mail_at(box.words[box.rank], box.ranks, mark, sender, number);
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1,%1};" ::"l"(at), "l"(UINT64_C(0)) : "memory");
}

static __device__ __forceinline__ uint64_t nanoseconds(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/* A rank that does not come has ended: so does this one, and says of whom it waited for what. */
static __device__ __noinline__ void mail_complain(const kaon_mailbox &box, int sender,
                                                  uint32_t mark) {
  volatile uint32_t *complaint = box.complaint;
  complaint[KAON_COMPLAINT_RANK] = (uint32_t)sender;
  complaint[KAON_COMPLAINT_NUMBER] = mark;
  __threadfence_system();
  complaint[KAON_COMPLAINT_KIND] = KAON_COMPLAINT_SUM;
  __threadfence_system();
  __trap();
}

static __device__ __forceinline__ double mail_wait(const kaon_mailbox &box, const uint64_t *at,
                                                   int sender, uint32_t mark) {
  enum { LOOKS = 4096 };
  uint64_t begin = 0;
  for (int looks = 0;; looks++) {
    const marked_sum x = mail_read(at);
    if (marked_is(x, mark)) return marked_number(x);
    if (looks < LOOKS) continue;
    looks = 0;
    const uint64_t now = nanoseconds();
    if (begin == 0) begin = now;
    if (now - begin > box.patience) mail_complain(box, sender, mark);
  }
}

/* ---- what both ways share ---- */

/* Adds part[rank][2 n] of a column in the order of the ranks, into its slots; then the recurrence.
 * All threads of the block; part is complete for all of them. */
static __device__ __forceinline__ void conclude(const kaon_sum_call &c, int column,
                                                const double *part, int ranks, int64_t stride) {
  const int values = 2 * c.n;
  if (c.state == NULL) return;
  kaon_column_state *state = &c.state[column];
  if ((state->gate & c.gate) == 0) return; /* one word: the same in all threads */
  for (int v = threadIdx.x; v < values; v += THREADS) {
    double x = part[v];
    for (int r = 1; r < ranks; r++) x += part[r * stride + v];
    state->slot[c.slot[v / 2]][v % 2] = x;
  }
  if (c.then == 0) return;
  __syncthreads(); /* the gate, too, has been read by all */
  if (threadIdx.x == 0) recurrence_run(c.then, state);
}

static __global__ void __launch_bounds__(THREADS) mail_kernel(const __grid_constant__ mail_call a) {
  extern __shared__ double part[]; /* [rank][2 n] */
  kaon_wait_for_previous();
  const uint32_t mark = mail_mark(*(volatile uint32_t *)a.box.turn);
  const int column = (int)blockIdx.x, values = 2 * a.sum.n, items = values * a.box.ranks;
  if (a.parts & KAON_SUM_SEND)
    for (int i = threadIdx.x; i < items; i += THREADS) {
      const int to = i / values, v = i % values;
      mail_write(mail_at(a.box.words[to], a.box.ranks, mark, a.box.rank, column * values + v), mark,
                 a.sum.state[column].slot[a.sum.slot[v / 2]][v % 2]);
    }
  if (!(a.parts & KAON_SUM_TAKE)) return;
  if (a.sum.state != NULL) state_prefetch(&a.sum.state[column]);
  for (int i = threadIdx.x; i < items; i += THREADS) {
    const int from = i / values, v = i % values;
    part[i] = mail_wait(
        a.box, mail_at(a.box.words[a.box.rank], a.box.ranks, mark, from, column * values + v), from,
        mark);
  }
  __syncthreads();
  mail_sweep(a.box, mark, (int)gridDim.x * values);
  /* every block has read the turn before its ticket */
  if (threadIdx.x == 0 &&
      (gridDim.x == 1 || atomicInc(a.box.ticket, gridDim.x - 1) == gridDim.x - 1))
    *(volatile uint32_t *)a.box.turn = mark;
  conclude(a.sum, column, part, a.box.ranks, values);
}

extern "C" void kaon_rank_sums_mail(const kaon_launch *launch, const kaon_sum_call *call,
                                    const kaon_mailbox *box, int parts) {
  mail_call a;
  a.sum = *call;
  a.box = *box;
  a.parts = parts;
  kaon_cuda_launch(launch, mail_kernel, (unsigned)call->columns, THREADS, a,
                   (unsigned)(sizeof(double) * 2 * (size_t)call->n * (size_t)box->ranks));
}

/* ---- messages ---- */

static __global__ void __launch_bounds__(THREADS)
    pack_kernel(const __grid_constant__ kaon_sum_call c, double *message) {
  const int column = (int)blockIdx.x, values = 2 * c.n;
  for (int v = threadIdx.x; v < values; v += THREADS)
    message[(int64_t)column * values + v] = c.state[column].slot[c.slot[v / 2]][v % 2];
}

extern "C" void kaon_rank_sums_pack(const kaon_launch *launch, const kaon_sum_call *call,
                                    double *message) {
  pack_kernel<<<(unsigned)call->columns, THREADS, 0, (cudaStream_t)launch->queue>>>(*call, message);
}

static __global__ void __launch_bounds__(THREADS) take_kernel(const __grid_constant__ take_call a) {
  const int column = (int)blockIdx.x, values = 2 * a.sum.n;
  conclude(a.sum, column, a.messages + (int64_t)column * values, a.ranks,
           (int64_t)a.sum.columns * values);
}

extern "C" void kaon_rank_sums_take(const kaon_launch *launch, const kaon_sum_call *call,
                                    const double *messages, int ranks) {
  take_call a;
  a.sum = *call;
  a.messages = messages;
  a.ranks = ranks;
  take_kernel<<<(unsigned)call->columns, THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

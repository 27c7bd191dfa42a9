/* peer_messages.h - the kernels of peer_messages.cu: messages between ranks that store into each other's memory,
 * moved by kernels of their own where those that work on them know nothing of it. */
#ifndef KAON_LIB_CUDA_PEER_MESSAGES_H
#define KAON_LIB_CUDA_PEER_MESSAGES_H

#include "lib/vector/layout.h"
#include "lib/core/launch.h"

/* Lines of 256 bytes, all addresses whole ones. */
typedef struct kaon_peer_message {
  int dir;
  const void *from;    /* what is sent */
  void *there;         /* the neighbour's memory for it, first half */
  const void *arrived; /* ours, first half */
  void *to;            /* where the message is read */
  int64_t lines;
} kaon_peer_message;

typedef struct kaon_peer_messages kaon_peer_messages;
struct kaon_peer_messages {
  kaon_peer_exchange peer;
  int n;
  kaon_peer_message message[KAON_DIRS]; /* one behind the other in `from`, and so in `arrived` */
};

#ifdef __cplusplus
extern "C" {
#endif

/* The first half of an exchange: all messages into the neighbours' memory. */
void kaon_peer_messages_send(const kaon_launch *launch, const kaon_peer_messages *call);
/* The second: waits for all that come, copies them and ends the turn. */
void kaon_peer_messages_receive(const kaon_launch *launch, const kaon_peer_messages *call);

#ifdef __cplusplus
}
#endif
#endif

/* peer_messages.h - messages between ranks that store into each other's memory, moved by separate
 * kernels (peer_messages.cu). For operators whose kernels do not exchange messages themselves. */
#pragma once

#include "lib/vector/layout.h"
#include "lib/core/launch.h"

/* One message, in lines of 256 bytes. All addresses are multiples of that. */
typedef struct kaon_peer_message {
  int dir;
  const void *from;    /* what is sent */
  void *there;         /* the buffer in the neighbour's memory, first half */
  const void *arrived; /* the local receive buffer, first half */
  void *to;            /* where the message is read */
  int64_t lines;
} kaon_peer_message;

typedef struct kaon_peer_messages kaon_peer_messages;
struct kaon_peer_messages {
  kaon_peer_exchange peer;
  int n;
  kaon_peer_message message[KAON_DIRS]; /* contiguous in `from`, and likewise in `arrived` */
};

KAON_BEGIN_C

/* The first half of an exchange: stores all messages into the neighbours' memory. */
void kaon_peer_messages_send(const kaon_launch *launch, const kaon_peer_messages *call);
/* The second half: waits for all incoming messages, copies them and increments the sequence
 * number. */
void kaon_peer_messages_receive(const kaon_launch *launch, const kaon_peer_messages *call);

KAON_END_C

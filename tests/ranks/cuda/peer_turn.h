/* peer_turn.h - one turn of an exchange by kernels, as its contract says (kaon_peer_exchange in
 * lib/core/launch.h): what hops do between their arithmetic, without the arithmetic. */
#ifndef PEER_TURN_H
#define PEER_TURN_H

#include "lib/core/launch.h"

typedef struct peer_turn_message {
  int dir;              /* of kaon_message */
  const uint32_t *from; /* this rank's numbers, `words` of them */
  uint32_t *send;       /* where they go: kaon_message.send */
  const uint32_t *come; /* kaon_message.receive */
  uint32_t *to;         /* where what came is put */
  int words;
} peer_turn_message;

typedef struct peer_turn_call {
  kaon_peer_exchange peer;
  peer_turn_message messages[8];
  int n;
} peer_turn_call;

#ifdef __cplusplus
extern "C" {
#endif
/* On stream `queue`. */
void peer_turn(const peer_turn_call *call, void *queue);
#ifdef __cplusplus
}
#endif
#endif

/* send_ahead.h - operators that can start an application's messages before the application
 * (KAON_CAPABILITY_SEND_AHEAD). */
#pragma once

#include "lib/operator/operator_internal.h"

typedef struct kaon_send_ahead {
  /* 1: A has messages, and a pass over vectors split in two to hide them pays off. */
  int (*pays)(const kaon_operator *A);
  /* Starts the exchange for an application to x. That application must be A's next, with the same
   * gate. Until then neither x nor what A reads may change. Collective. */
  kaon_status (*send)(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass);
  /* Receives the messages that were started, if the application fails or does not come. */
  void (*cancel)(kaon_operator *A, int columns);
} kaon_send_ahead;

/* `pays`; 0 without the capability. */
int kaon_operator_sends_ahead(const kaon_operator *A);
/* `send`, after checks of x and the pass. */
kaon_status kaon_operator_send(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass);
void kaon_operator_cancel_send(kaon_operator *A, int columns);

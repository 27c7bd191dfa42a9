/* recurrences_flexible.h - the recurrence of flexible CG; see recurrences.h, which includes this. */
#pragma once

enum { KAON_S_QZ = KAON_S_RT /* (q, K r), behind (r, K r) */ };

/* beta = -alpha (q, K r') / (r, K r). The previous alpha and (r, K r) are still in their slots. */
static inline KAON_HD void kaon_fcg_beta(kaon_column_state *s) {
  const double *qz = s->slot[KAON_S_QZ];
  const double f = -s->slot[KAON_S_ALPHA][0] / s->slot[KAON_S_RHO][0];
  const double re = f * qz[0], im = f * qz[1];
  kaon_pcg_beta(s);
  if (!(s->gate & KAON_GATE_STEP)) return;
  if (kaon_finite(re) && kaon_finite(im))
    kaon_set(s, KAON_S_BETA, re, im);
  else
    kaon_broken(s, KAON_CAUSE_NOT_FINITE, 1);
}

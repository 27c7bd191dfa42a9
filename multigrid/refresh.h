/* refresh.h - which update a multigrid preconditioner needs, judged by the solves with it. */
#pragma once

#include <kaon/multigrid.h>

typedef struct kaon_refresh_rule {
  int reference; /* most steps of a solve from the last rebuild to the update after it; 0: not known */
  int steps;     /* most steps of a solve since the last update; 0: none was reported */
  int failed;    /* 1: a solve since then did not converge */
  kaon_multigrid_refresh last;
} kaon_refresh_rule;

/* A solve took so many steps. */
void kaon_refresh_solved(kaon_refresh_rule *rule, int steps, int converged);
/* REBUILD after a failure. REFRESH if solves take more than 1.5 times the steps of `reference`, or
 * REBUILD if the last update was a REFRESH. Else UPDATE. */
kaon_multigrid_refresh kaon_refresh_choose(const kaon_refresh_rule *rule);
/* The preconditioner was updated so. */
void kaon_refresh_updated(kaon_refresh_rule *rule, kaon_multigrid_refresh how);

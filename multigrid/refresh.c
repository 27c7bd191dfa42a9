/* refresh.c - Contract: refresh.h. */
#include "multigrid/refresh.h"

static const double most_growth = 1.5;

void kaon_refresh_solved(kaon_refresh_rule *rule, int steps, int converged) {
  if (steps > rule->steps) rule->steps = steps;
  if (!converged) rule->failed = 1;
}

kaon_multigrid_refresh kaon_refresh_choose(const kaon_refresh_rule *rule) {
  if (rule->failed) return KAON_MULTIGRID_REBUILD;
  if (rule->reference == 0 || rule->steps <= most_growth * rule->reference)
    return KAON_MULTIGRID_UPDATE;
  return rule->last == KAON_MULTIGRID_REFRESH ? KAON_MULTIGRID_REBUILD : KAON_MULTIGRID_REFRESH;
}

void kaon_refresh_updated(kaon_refresh_rule *rule, kaon_multigrid_refresh how) {
  if (how == KAON_MULTIGRID_REBUILD)
    rule->reference = 0;
  else if (rule->reference == 0)
    rule->reference = rule->steps;
  rule->steps = rule->failed = 0;
  rule->last = how;
}

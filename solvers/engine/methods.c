/* methods.c - finds the descriptor of a method, by KAON_METHOD_LIST (kaon/solver.h), and describes
 * it to users. */
#include "lib/core/output.h"
#include "solvers/engine/method.h"
#include "lib/core/entry.h"

static const struct {
  const char *name, *purpose;
  const kaon_method_ops *ops;
} methods[] = {
#define KAON_X(value, descriptor, name, purpose) \
  [value] = {name, purpose, &kaon_method_##descriptor},
    KAON_METHOD_LIST(KAON_X)
#undef KAON_X
};
enum { METHODS = sizeof methods / sizeof *methods };

const kaon_method_ops *kaon_method_find(kaon_method method) {
  return (int)method >= 0 && (int)method < METHODS ? methods[method].ops : NULL;
}

const char *kaon_method_name(kaon_method method) {
  return methods[method].name;
}

static kaon_method number_of(const kaon_method_ops *m) {
  int i = 0;
  while (methods[i].ops != m) i++;
  return (kaon_method)i;
}

kaon_status kaon_method_query(kaon_method method, kaon_method_info *info) {
  KAON_ENTER(NULL, info);
  const kaon_method_ops *m = kaon_method_find(method);
  KAON_TRY(kaon_output_check(NULL, "kaon_method_info", info));
  if (m == NULL)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "method: there are methods 0 to %d, but not %d",
                     METHODS - 1, (int)method);
  const kaon_method_info made = {.name = methods[method].name,
                                 .title = m->title,
                                 .purpose = methods[method].purpose,
                                 .option = m->option,
                                 .traits = m->traits & KAON_METHOD_PUBLIC,
                                 .normal = m->normal != NULL ? number_of(m->normal) : method,
                                 .products = m->products.step,
                                 .preconditions = m->preconditions.step,
                                 .cost = m->cost[0],
                                 .with = m->cost[1],
                                 .diagonal = m->cost[2],
                                 .cycles = m->storage.per_direction > 0};
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

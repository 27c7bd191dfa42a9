/* methods.h - the methods as kaon_method_query() describes them, for tests that go through all. */
#ifndef KAON_TESTS_METHODS_H
#define KAON_TESTS_METHODS_H

#include <kaon/solver.h>

#define KAON_X(value, descriptor, name, purpose) +1
enum { METHODS = KAON_METHOD_LIST(KAON_X) };
#undef KAON_X

static inline kaon_method_info method_info(int method) {
  kaon_method_info info = KAON_METHOD_INFO_INIT;
  (void)kaon_method_query((kaon_method)method, &info);
  return info;
}

static inline const char *method_name(int method) {
  return method_info(method).name;
}

/* 1: the method has one of the traits. */
static inline int method_has(int method, unsigned traits) {
  return (method_info(method).traits & traits) != 0;
}

/* for (int m = 0; m < METHODS; m = next_krylov(m)): all but stationary methods, from CG on. */
static inline int next_krylov(int m) {
  do m++;
  while (m < METHODS && method_has(m, KAON_METHOD_STATIONARY));
  return m;
}

/* The coarsest inner precision that a method offers. */
static inline int coarsest(int method) {
  return method_has(method, KAON_METHOD_NO_HALF) ? KAON_SINGLE : KAON_HALF;
}

#endif

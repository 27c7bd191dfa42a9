/* precisions.h - the number types of vectors, for kernels that use more than one precision. */
#pragma once

#include <stdint.h>

enum { DOUBLE, SINGLE, HALF }; /* values of kaon_precision */

template <int PRECISION>
struct number_of;
template <>
struct number_of<DOUBLE> {
  typedef double type;
};
template <>
struct number_of<SINGLE> {
  typedef float type;
};
template <>
struct number_of<HALF> {
  typedef int16_t type;
};

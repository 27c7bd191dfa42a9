/* convert.h - converts a site of a vector between precisions on the GPU (convert.cu, and the listed
 * steps of sparse/cuda/listed.h). */
#pragma once

#include "blas/cuda/unit.h"
#include "lib/cuda/precisions.h"

typedef struct convert_call {
  int64_t sites; /* including masked ones */
  int ncomp, nrhs, add, clear;
  int parted; /* a block handles 32 sites of a column */
  kaon_view v[2];
  kaon_cuda_sums sums;
} convert_call;

/* The factor from a site's integers to values. */
template <int PRECISION>
KAON_DEVICE float step_of(const kaon_view &v, int64_t unit, int lane) {
  return PRECISION == HALF ? kaon_half_unit(v.scale[unit * KAON_LANES + lane]) : 1.0f;
}

template <int PRECISION>
KAON_DEVICE double value_of(typename number_of<PRECISION>::type x, float step) {
  return PRECISION == HALF ? (double)((float)x * step) : (double)x;
}

/* Converts a site of any size, component by component; twice if the largest must be known first. */
template <int FROM, int TO>
KAON_DEVICE void convert_site(const convert_call &a, int64_t unit, int lane, double *sum) {
  typedef typename number_of<FROM>::type source;
  typedef typename number_of<TO>::type target;
  const int from_pack = kaon_pack(KAON_ACCESS, a.ncomp, (int)sizeof(source));
  const int to_pack = kaon_pack(KAON_ACCESS, a.ncomp, (int)sizeof(target));
  const source *from = (const source *)a.v[0].data + unit * a.ncomp * KAON_LANES;
  target *to = (target *)a.v[1].data + unit * a.ncomp * KAON_LANES;
  const float x_step = step_of<FROM>(a.v[0], unit, lane);
  const float old_step = a.add ? step_of<TO>(a.v[1], unit, lane) : 1.0f;
  float largest = 0;
#pragma unroll 1
  for (int pass = TO == HALF ? 0 : 1; pass < 2; pass++) {
    const float factor = kaon_half_factor(largest), y_step = kaon_half_unit(largest);
#pragma unroll 1
    for (int c = 0; c < a.ncomp; c++) {
      target *y = to + site_offset(c, lane, to_pack);
      const double old = a.add ? value_of<TO>(*y, old_step) : 0;
      const double value = old + value_of<FROM>(from[site_offset(c, lane, from_pack)], x_step);
      if (pass == 0) {
        largest = quantise_largest(largest, (float)value);
        continue;
      }
      *y = TO == HALF ? (target)__float2int_rn((float)value * factor) : (target)value;
      const double stored_value = value_of<TO>(*y, y_step);
      if (sums_want(a.sums, 0)) *sum = fma(stored_value, stored_value, *sum);
    }
  }
  if (TO == HALF) a.v[1].scale[unit * KAON_LANES + lane] = largest;
  if (!a.clear) return;
#pragma unroll 1
  for (int c = 0; c < a.ncomp; c++)
    ((source *)a.v[0].data)[unit * a.ncomp * KAON_LANES + site_offset(c, lane, from_pack)] = 0;
  if (FROM == HALF) a.v[0].scale[unit * KAON_LANES + lane] = 0;
}

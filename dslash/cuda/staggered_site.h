/* staggered_site.h - what the GPU's staggered kernels do at a site: load and store its colours, and
 * load, rebuild or apply links (lib/math/recon8.h). */
#pragma once

#include "dslash/cuda/site.h"
#include "lib/math/recon8.h"
#include "lib/math/staggered_hop.h"

enum { COLOURS = KAON_STAGGERED_REALS };

/* ---- a site's colours ---- */

KAON_DEVICE kaon_view colour_view(const kaon_view &v, int column) {
  kaon_view c;
  c.data = (stored *)v.data + (int64_t)column * (COLOURS * KAON_LANES);
  c.scale = KAON_IS_HALF ? v.scale + column * KAON_LANES : NULL;
  return c;
}

/* Where the conversion unit has spare capacity. Hops of one column with 18-real links wait for
 * memory. Hops of several columns convert each link once for all of them. */
template <int RECON, int COLUMNS>
KAON_DEVICE constexpr bool separate_link() {
  return COLUMNS > 1 || RECON != 18;
}

/* A column's site as stored. */
typedef struct raw_colour {
  craw c[3];
} raw_colour;

/* Loads the site given the address of its first packet. */
KAON_DEVICE raw_colour colour_load(const char *first) {
  stored raw[COLOURS];
  raw_colour d;
  packets_read<COLOURS, false>(first, raw);
#pragma unroll
  for (int i = 0; i < 3; i++) d.c[i] = c_load_raw(raw + 2 * i);
  return d;
}

/* Multiplies by `factor`; half: converts the integers. */
KAON_DEVICE vcolour colour_scaled(const raw_colour &raw, real factor) {
  vcolour d;
#if KAON_IS_HALF
  const real offset = PACKED_OFFSET * factor;
#endif
#pragma unroll
  for (int i = 0; i < 3; i++)
#if KAON_IS_HALF
    d.c[i] = c_from_raw_scaled(raw.c[i], factor, offset);
#else
    d.c[i] = c_scale(c_from_raw(raw.c[i]), factor);
#endif
  return d;
}

/* The unit of the integers apart from their scale. */
KAON_DEVICE real colour_unit(real sign) {
  return KAON_IS_HALF ? sign * KAON_HALF_STEP : sign;
}

KAON_DEVICE vcolour colour_read(const kaon_view &v, uint32_t site, int units) {
  real factor = colour_unit(1);
  if (KAON_IS_HALF) factor *= v.scale[scale_at(site, units)];
  return colour_scaled(
      colour_load(packet_address<COLOURS>(v.data, packet_at<COLOURS>(site, units))), factor);
}

KAON_DEVICE void colour_write(const kaon_view &v, uint32_t site, int units, const vcolour *d) {
  typedef packets<COLOURS> p;
  char *to = (char *)packet_address<COLOURS>(v.data, packet_at<COLOURS>(site, units));
  const real *value = (const real *)d;
  stored q[COLOURS];
#if KAON_IS_HALF
  v.scale[scale_at(site, units)] = quantise_site<COLOURS, true>(value, q);
#else
#pragma unroll
  for (int i = 0; i < COLOURS; i++) q[i] = value[i];
#endif
#pragma unroll
  for (int g = 0; g < p::count; g++, to += KAON_LANES * p::bytes) {
    words<p::bytes> x;
    memcpy(&x, q + g * p::group, p::bytes);
    if constexpr (p::bytes == 16)
      __stcs((uint4 *)to, make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]));
    else if constexpr (p::bytes == 8)
      __stcs((uint2 *)to, make_uint2(x.w[0], x.w[1]));
    else
      __stcs((unsigned *)to, x.w[0]);
  }
}

/* ---- links ---- */

/* Loads the packets of a link; bypasses the first-level cache if only one warp reads them. */
template <int RECON, bool SHARED>
KAON_DEVICE void link_packets(const stored *links, uint32_t at, stored *raw) {
  typedef packets<RECON> p;
  const char *first = packet_address<RECON>(links, packet_at<RECON>(at, 1));
#pragma unroll
  for (int g = 0; g < p::count; g++) {
    const char *from = first + g * (KAON_LANES * p::bytes);
    const words<p::bytes> x = SHARED ? read_shared<p::bytes>(from) : read_once<p::bytes>(from);
    memcpy(raw + g * p::group, &x, p::bytes);
  }
}

/* Multiplies a link by its phase. It is used for several columns; multiplying one column costs a
 * third of it. */
KAON_DEVICE void link_times_i(real y, real *numbers) {
  const vcomplex phase = phase_of(y);
#pragma unroll
  for (int i = 0; i < 18; i += 2) {
    const vcomplex z = c_mul(phase, c_make(numbers[i], numbers[i + 1]));
    numbers[i] = z.re;
    numbers[i + 1] = z.im;
  }
}

/* Row 2 of a link in 12 half-precision reals is a product of two integers. With one column the unit
 * is applied once more to the result, which saves four multiplications (link_add_owing). */
template <int RECON, int COLUMNS>
KAON_DEVICE constexpr bool row2_owes() {
  return KAON_IS_HALF && RECON == 12 && COLUMNS == 1;
}

/* The link of site `at` as 18 reals. Half: in units of 1 / 32767, except from 8 reals, which give
 * values. OWES: row 2 is in units of 1 / 32767^2. */
template <int RECON, bool BESIDE, bool OWES>
KAON_DEVICE void link_numbers(const stored *raw, real *numbers) {
  vcomplex u[9];
  if constexpr (RECON == 8) {
    vcomplex z[4];
#pragma unroll
    for (int i = 0; i < 4; i++) z[i] = number_load<BESIDE>(raw + 2 * i);
    recon_finish8(raw, z, u);
  } else {
#pragma unroll
    for (int i = 0; i < RECON / 2; i++) u[i] = number_load<BESIDE>(raw + 2 * i);
    if constexpr (RECON == 12) {
      recon_row2(u);
#pragma unroll
      for (int i = 6; i < 9 && KAON_IS_HALF && !OWES; i++) u[i] = c_scale(u[i], KAON_HALF_STEP);
    }
  }
#pragma unroll
  for (int i = 0; i < 9; i++) {
    numbers[2 * i] = u[i].re;
    numbers[2 * i + 1] = u[i].im;
  }
}

/* d += U chi, or U^dagger chi, for a link whose row 2 has the squared unit. */
template <bool BACKWARD>
KAON_DEVICE void link_add_owing(const real *u, vcolour *chi, vcolour *d) {
  vcolour owing = *d;
  if constexpr (BACKWARD)
    chi->c[2] = c_scale(chi->c[2], KAON_HALF_STEP);
  else
    owing.c[2] = c_make(0, 0);
  colour_add_link(u, KAON_LINK_BUFFER, BACKWARD, chi, &owing);
  if constexpr (!BACKWARD) {
    owing.c[2].re = v_fma(owing.c[2].re, KAON_HALF_STEP, d->c[2].re);
    owing.c[2].im = v_fma(owing.c[2].im, KAON_HALF_STEP, d->c[2].im);
  }
  *d = owing;
}

/* The link in 8 reals, in the form that lib/math/recon8.h applies. */
template <bool BESIDE>
KAON_DEVICE vlink8 link_applied(const stored *raw) {
  vcomplex z[4];
#pragma unroll
  for (int i = 0; i < 4; i++) z[i] = number_load<BESIDE>(raw + 2 * i);
  return link8_of(raw, z);
}

/* link8_swapped of the stored link; half: a complex number is selected as one word. */
KAON_DEVICE raw_colour colour_times_i_of(const stored *link, const raw_colour &chi) {
  raw_colour d;
#if KAON_IS_HALF
#pragma unroll
  for (int i = 0; i < 3; i++) d.c[i] = link[2] & 1 ? chi.c[i] : chi.c[(i + 1) % 3];
#else
  vcomplex plain[3], turned[3];
#pragma unroll
  for (int i = 0; i < 3; i++) plain[i] = c_from_raw(chi.c[i]);
  link8_swapped(link, plain, turned);
#pragma unroll
  for (int i = 0; i < 3; i++) {
    d.c[i].re = turned[i].re;
    d.c[i].im = turned[i].im;
  }
#endif
  return d;
}

/* A long link's phase as stored; 0, which is the phase 1, if there are none. There is no branch. */
KAON_DEVICE real phase_read(int phased, const stored *phases, uint32_t at) {
#if defined(KAON_PREC_DOUBLE)
  double y = 0;
  asm volatile(
      "{.reg .pred w; setp.ne.s32 w, %2, 0;"
      "@w ld.global.nc.L1::no_allocate.f64 %0, [%1];}"
      : "+d"(y)
      : "l"(phases + at), "r"(phased));
  return y;
#elif defined(KAON_PREC_SINGLE)
  float y = 0;
  asm volatile(
      "{.reg .pred w; setp.ne.s32 w, %2, 0;"
      "@w ld.global.nc.L1::no_allocate.f32 %0, [%1];}"
      : "+f"(y)
      : "l"(phases + at), "r"(phased));
  return y;
#else
  int16_t y = 0;
  asm volatile(
      "{.reg .pred w; setp.ne.s32 w, %2, 0;"
      "@w ld.global.nc.L1::no_allocate.u16 %0, [%1];}"
      : "+h"(y)
      : "l"(phases + at), "r"(phased));
  return (real)y * KAON_HALF_STEP;
#endif
}

/* kernel.h - what a kernel file sees: its precision, its instruction set, and the names it exports.
 * A CPU file is compiled once for every (instruction set, precision), a CUDA file once for every
 * precision. CMake defines one of each:
 *   instruction set    KAON_ISA_SCALAR, KAON_ISA_X86_64, KAON_ISA_AVX2, KAON_ISA_AVX512
 *   storage precision  KAON_PREC_DOUBLE, KAON_PREC_SINGLE, KAON_PREC_HALF
 * The file exports one constant table, named by KAON_EXPORT(kaon_dslash_ops) etc. Arithmetic is in
 * `real` (half: float). A block has W lanes; a `vreal` holds VL of them. A kernel loops over the W
 * / VL parts of a block (2 in double, else 1). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/vector/layout.h"
#include "lib/core/launch.h"

#if defined(__CUDACC__) /* one thread a site: lib/math sees blocks of one lane */
#define KAON_W 1
#define KAON_ISA_NAME cuda
#elif defined(KAON_ISA_AVX512)
#define KAON_W 16
#define KAON_ISA_NAME avx512
#elif defined(KAON_ISA_AVX2)
#define KAON_W 8
#define KAON_ISA_NAME avx2
#elif defined(KAON_ISA_X86_64)
#define KAON_W 4
#define KAON_ISA_NAME x86_64
#elif defined(KAON_ISA_SCALAR)
#define KAON_W 1
#define KAON_ISA_NAME scalar
#else
#error "kernel.h: define one of KAON_ISA_SCALAR, KAON_ISA_X86_64, KAON_ISA_AVX2, KAON_ISA_AVX512"
#endif

#if defined(KAON_PREC_DOUBLE)
typedef double real;   /* arithmetic */
typedef double stored; /* memory */
#define KAON_PREC_NAME d
#define KAON_IS_HALF 0
#define KAON_VL (KAON_W > 1 ? KAON_W / 2 : 1)
#elif defined(KAON_PREC_SINGLE)
typedef float real;
typedef float stored;
#define KAON_PREC_NAME s
#define KAON_IS_HALF 0
#define KAON_VL KAON_W
#elif defined(KAON_PREC_HALF)
typedef float real;
typedef int16_t stored;
#define KAON_PREC_NAME h
#define KAON_IS_HALF 1
#define KAON_VL KAON_W
#elif !defined(KAON_PREC_ALL) /* the conversion file sees every precision and has no `real` */
#error "kernel.h: define one of KAON_PREC_DOUBLE, KAON_PREC_SINGLE, KAON_PREC_HALF, KAON_PREC_ALL"
#endif

#define KAON_PARTS (KAON_W / KAON_VL)

#define KAON_PASTE2_(a, b) a##_##b
#define KAON_PASTE2(a, b) KAON_PASTE2_(a, b)
#define KAON_EXPORT_ISA(name) KAON_PASTE2(name, KAON_ISA_NAME)

#define KAON_PASTE3_(a, b, c) a##_##b##_##c
#define KAON_PASTE3(a, b, c) KAON_PASTE3_(a, b, c)
#define KAON_EXPORT(name) KAON_PASTE3(name, KAON_ISA_NAME, KAON_PREC_NAME)

#define KAON_INLINE static inline __attribute__((always_inline))
/* Keeps a single copy of the function: compilers like to make copies for constant arguments. */
#if defined(__clang__)
#define KAON_ONCE static __attribute__((noinline))
#else
#define KAON_ONCE static __attribute__((noinline, noclone))
#endif

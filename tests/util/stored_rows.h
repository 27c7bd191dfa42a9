/* stored_rows.h - rows in host memory in the layout that the kernels of sparse_ops.h expect, for
 * tests and measurements that call kernel tables directly. Functions are static; a failure ends
 * the program. */
#ifndef STORED_ROWS_H
#define STORED_ROWS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "lib/math/half.h"
#include "sparse/storage/csr.h"
#include "sparse/sparse_ops.h"

typedef struct stored_shape {
  kaon_precision precision; /* of the vectors: double or single */
  int form, half, wide, lanes;
  int columns;      /* KAON_COLUMNS_...; NARROW only where columns are near each other */
  int64_t interior; /* blocks that meet no ghost */
  int rounded;      /* half: integers by the library's way of rounding */
} stored_shape;

typedef struct stored_rows {
  kaon_context *ctx;
  kaon_stored_matrix matrix;
  void *arrays[6];     /* in the machine's memory */
  int64_t index_bytes; /* that a product reads besides values and scales, but for padding */
} stored_rows;

/* What a value becomes when it is stored; largest: of the row's numbers. */
static inline int16_t stored_integer(double value, float largest) {
  return (int16_t)(largest > 0 ? lrint(value / largest * 32767) : 0);
}

static inline double stored_number(double value, float largest, const stored_shape *shape) {
  if (shape->half && shape->rounded)
    return (double)lrintf((float)value * kaon_half_factor(largest)) * largest / 32767;
  if (shape->half) return (double)stored_integer(value, largest) * largest / 32767;
  return shape->precision == KAON_DOUBLE ? value : (double)(float)value;
}

static inline float stored_largest(const kaon_csr *csr, int64_t row) {
  float largest = 0;
  for (int64_t i = csr->start[row] * csr->reals; i < csr->start[row + 1] * csr->reals; i++)
    largest = fmaxf(largest, (float)fabs(csr->value[i]));
  return largest;
}

static inline void *stored_room(size_t bytes) {
  void *p = calloc(bytes > 0 ? bytes : 1, 1);
  if (p == NULL) abort();
  return p;
}

/* Where blocks of W rows begin, in units of W entries; CSR: rows, in entries. */
static inline int64_t *stored_starts(const kaon_csr *csr, const stored_shape *shape, int width,
                                     int64_t blocks, int *longest) {
  const int64_t n = shape->form == KAON_STORED_CSR ? csr->rows : blocks;
  int64_t *start = stored_room((size_t)(n + 1) * sizeof *start);
  *longest = 0;
  for (int64_t i = 0; i < csr->rows; i++)
    if (csr->start[i + 1] - csr->start[i] > *longest)
      *longest = (int)(csr->start[i + 1] - csr->start[i]);
  for (int64_t b = 0; b < n; b++) {
    int64_t length = 0;
    if (shape->form == KAON_STORED_CSR) {
      length = csr->start[b + 1] - csr->start[b];
    } else {
      for (int64_t i = b * width; i < (b + 1) * width && i < csr->rows; i++)
        if (csr->start[i + 1] - csr->start[i] > length) length = csr->start[i + 1] - csr->start[i];
      if (shape->form == KAON_STORED_ELL) length = *longest;
    }
    start[b + 1] = start[b] + length;
  }
  return start;
}

static inline void stored_put(void *values, int64_t at, double value, float largest,
                              const stored_shape *shape) {
  if (shape->half)
    ((int16_t *)values)[at] = stored_integer(value, largest);
  else if (shape->precision == KAON_DOUBLE)
    ((double *)values)[at] = value;
  else
    ((float *)values)[at] = (float)value;
}

/* Entry j of a row, or its padding. */
static inline void stored_entry(const kaon_csr *csr, const stored_shape *shape, int width, int pack,
                                const int64_t *start, int64_t row, int64_t j, float largest,
                                int32_t *column, void *values) {
  const int64_t first = csr->start[row], length = csr->start[row + 1] - first;
  const int64_t from = first + (j < length ? j : length - 1);
  const int64_t slot = shape->form == KAON_STORED_CSR ? first + j : start[row / width] + j;
  const int64_t at = shape->form == KAON_STORED_CSR ? slot : slot * width + row % width;
  column[at] = length > 0 ? csr->column[from] : (int32_t)row;
  for (int c = 0; c < csr->reals; c++) {
    const int64_t place =
        shape->form == KAON_STORED_CSR
            ? slot * csr->reals + c
            : kaon_packed_index(slot, 0, c, (int)(row % width), 1, csr->reals, width, pack);
    stored_put(values, place, j < length ? csr->value[from * csr->reals + c] : 0, largest, shape);
  }
}

static inline void *stored_array(kaon_context *ctx, const void *host, size_t bytes) {
  void *device = NULL;
  if (kaon_pool_allocate(ctx, bytes > 0 ? bytes : 1, "a stored matrix", &device) != KAON_OK ||
      ctx->backend->memory->to_device(ctx, device, host, bytes) != KAON_OK) {
    fprintf(stderr, "stored_rows: %s\n", kaon_last_error(ctx));
    abort();
  }
  return device;
}

static inline void *stored_upload(stored_rows *s, int number, void *host, size_t bytes) {
  s->arrays[number] = stored_array(s->ctx, host, bytes);
  free(host);
  return s->arrays[number];
}

/* SELL and ELL: 16 bits from the least column of W. */
static inline void stored_narrow(stored_rows *s, int width, int64_t lines, const int32_t *column) {
  uint16_t *columns16 = stored_room((size_t)(lines * width) * sizeof *columns16);
  int32_t *line = stored_room((size_t)lines * sizeof *line);
#pragma omp parallel for schedule(static) if (lines > 10000)
  for (int64_t e = 0; e < lines; e++) {
    int32_t least = column[e * width];
    for (int l = 0; l < width; l++)
      if (column[e * width + l] < least) least = column[e * width + l];
    line[e] = ~least;
    for (int l = 0; l < width; l++) {
      if (column[e * width + l] - least > UINT16_MAX) abort();
      columns16[e * width + l] = (uint16_t)(column[e * width + l] - least);
    }
  }
  s->matrix.columns16 = stored_upload(s, 1, columns16, (size_t)(lines * width) * sizeof *columns16);
  s->matrix.line = stored_upload(s, 4, line, (size_t)lines * sizeof *line);
  s->index_bytes += 2 * s->matrix.entries + 4 * lines;
}

/* Lists of columns relative to a block's first row, found by searching the existing ones.
 * Overwrites column. */
static inline void stored_share(stored_rows *s, int width, const int64_t *start, int64_t blocks,
                                int32_t *column) {
  int32_t *pattern = stored_room((size_t)blocks * sizeof *pattern);
  int64_t *list = stored_room((size_t)blocks * sizeof *list), lists = 0; /* their first blocks */
  int64_t lines = 0;
#pragma omp parallel for schedule(static) if (blocks > 10000)
  for (int64_t b = 0; b < blocks; b++)
    for (int64_t i = start[b] * width; i < start[b + 1] * width; i++)
      column[i] -= (int32_t)(b * width);
  for (int64_t b = 0, n; b < blocks; b++) {
    const int64_t length = start[b + 1] - start[b];
    const size_t bytes = (size_t)(length * width) * sizeof *column;
    for (n = 0; n < lists; n++) {
      const int32_t *other = column + (int64_t)pattern[list[n]] * width;
      if (start[list[n] + 1] - start[list[n]] == length &&
          memcmp(other, column + start[b] * width, bytes) == 0)
        break;
    }
    if (n == lists) { /* lists move down to one another's ends */
      list[lists++] = b;
      memmove(column + lines * width, column + start[b] * width, bytes);
      pattern[b] = (int32_t)lines;
      lines += length;
    } else
      pattern[b] = pattern[list[n]];
  }
  const size_t bytes = (size_t)(lines * width) * sizeof *column;
  s->matrix.column = s->arrays[1] = stored_array(s->ctx, column, bytes);
  s->matrix.pattern = stored_upload(s, 5, pattern, (size_t)blocks * sizeof *pattern);
  s->index_bytes += (int64_t)bytes + 4 * blocks;
  free(list);
  free(column);
}

/* CSR values of complex numbers are (re, im) pairs on every machine. */
static inline void stored_open(kaon_context *ctx, const kaon_csr *csr, const stored_shape *shape,
                               stored_rows *s) {
  const int width = ctx->backend->width;
  const size_t size = shape->half ? 2 : shape->precision == KAON_DOUBLE ? 8 : 4;
  const int pack = kaon_pack(ctx->backend->access, csr->reals, (int)size);
  const int64_t blocks = (csr->rows + width - 1) / width;
  int longest;
  int64_t *start = stored_starts(csr, shape, width, blocks, &longest);
  const int64_t starts = shape->form == KAON_STORED_CSR ? csr->rows : blocks;
  const int64_t slots = start[starts] * (shape->form == KAON_STORED_CSR ? 1 : width);
  int32_t *column = stored_room((size_t)slots * sizeof *column);
  float *scale = stored_room((size_t)csr->rows * sizeof *scale);
  void *values = stored_room((size_t)slots * (size_t)csr->reals * size);
#pragma omp parallel for schedule(static) if (csr->rows > 10000)
  for (int64_t row = 0; row < csr->rows; row++) {
    scale[row] = stored_largest(csr, row);
    const int64_t own = csr->start[row + 1] - csr->start[row];
    const int64_t length =
        shape->form == KAON_STORED_CSR ? own : start[row / width + 1] - start[row / width];
    for (int64_t j = 0; j < length; j++)
      stored_entry(csr, shape, width, pack, start, row, j, scale[row], column, values);
  }
  *s = (stored_rows){.ctx = ctx};
  s->matrix = (kaon_stored_matrix){.form = shape->form,
                                   .reals = csr->reals,
                                   .half = shape->half,
                                   .wide = shape->wide,
                                   .rows = csr->rows,
                                   .blocks = blocks,
                                   .interior = shape->interior,
                                   .entries = csr->start[csr->rows],
                                   .length = longest,
                                   .lanes = shape->lanes,
                                   .columns = shape->columns};
  const int64_t start_size = shape->wide ? 8 : 4;
  s->index_bytes = shape->form == KAON_STORED_ELL ? 0 : starts * start_size;
  if (shape->form != KAON_STORED_CSR && shape->columns == KAON_COLUMNS_16BIT) {
    stored_narrow(s, width, start[starts], column);
    free(column);
  } else if (shape->form != KAON_STORED_CSR && shape->columns == KAON_COLUMNS_SHARED) {
    stored_share(s, width, start, blocks, column);
  } else {
    s->matrix.columns = KAON_COLUMNS_32BIT;
    s->matrix.column = stored_upload(s, 1, column, (size_t)slots * sizeof *column);
    s->index_bytes += 4 * s->matrix.entries;
  }
  if (!shape->wide)
    for (int64_t i = 0; i <= starts; i++) ((int32_t *)start)[i] = (int32_t)start[i];
  s->matrix.start = stored_upload(s, 0, start, (size_t)((starts + 1) * start_size));
  if (shape->form == KAON_STORED_ELL) s->matrix.start = NULL;
  s->matrix.value = stored_upload(s, 2, values, (size_t)slots * (size_t)csr->reals * size);
  s->matrix.scale = stored_upload(s, 3, scale, (size_t)csr->rows * sizeof *scale);
}

static inline void stored_close(stored_rows *s) {
  for (int i = 0; i < 6; i++) kaon_pool_release(s->ctx, s->arrays[i]);
}

#endif

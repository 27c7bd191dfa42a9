/* sweep_sections.c - a sweep's classes of spatial sections, by the rows' coordinates. In each
 * dimension the reach is the largest distance between two rows that overlap. Sections are wider
 * than the reach, and two sections of one class have another one between them, so their rows never
 * overlap. Source: kaon/relax.h, SECTIONS. */
#include <math.h>
#include <stdlib.h>

#include "sparse/order/orderings.h"
#include "sparse/order/sweep_order.h"

enum { MOST_DIMENSIONS = 3 };

typedef struct sections {
  const kaon_matrix *matrix;
  const double *at; /* owned by the caller */
  int dimensions;
  double low[MOST_DIMENSIONS], high[MOST_DIMENSIONS], reach[MOST_DIMENSIONS];
  int64_t count[MOST_DIMENSIONS]; /* sections; 1: not divided */
} sections;

static const double *place(const sections *s, int64_t row) {
  const int32_t *order = s->matrix->order;
  return s->at + (order != NULL ? order[row] : row) * s->dimensions;
}

/* Rows that overlap share a column, so the reach is the largest distance between rows of a
 * column. */
static kaon_status measure(sections *s) {
  KAON_AUTO(kaon_csr_destroy) kaon_csr *columns = NULL;
  const kaon_csr *rows = s->matrix->rows->rows;
  for (int64_t i = 0; i < rows->rows; i++)
    for (int d = 0; d < s->dimensions; d++) {
      const double x = place(s, i)[d];
      if (!isfinite(x))
        return kaon_fail(s->matrix->ctx, KAON_ERR_NOT_FINITE,
                         "kaczmarz: coordinate %d of row %lld (counted from 1) is %g", d,
                         (long long)(s->matrix->order != NULL ? s->matrix->order[i] : i) + 1, x);
      s->low[d] = fmin(s->low[d], x);
      s->high[d] = fmax(s->high[d], x);
    }
  KAON_TRY(kaon_csr_transpose(s->matrix->ctx, rows, 0, &columns));
  for (int64_t j = 0; j < columns->rows; j++)
    for (int d = 0; d < s->dimensions; d++) {
      double low = INFINITY, high = -INFINITY;
      for (int64_t n = columns->start[j]; n < columns->start[j + 1]; n++) {
        low = fmin(low, place(s, columns->column[n])[d]);
        high = fmax(high, place(s, columns->column[n])[d]);
      }
      s->reach[d] = fmax(s->reach[d], high - low);
    }
  return KAON_OK;
}

/* The section of a row, and its class. */
static void section_of(const sections *s, int64_t row, int64_t *section, int *class) {
  *section = 0;
  *class = 0;
  for (int d = 0; d < s->dimensions; d++) {
    const double width = (s->high[d] - s->low[d]) / (double)s->count[d];
    int64_t n = s->count[d] > 1 ? (int64_t)((place(s, row)[d] - s->low[d]) / width) : 0;
    if (n >= s->count[d]) n = s->count[d] - 1;
    *section = *section * s->count[d] + n;
    *class = 2 * *class + (int)(n % 2);
  }
}

/* Numbers the sections from 0, class by class, by a counting sort of (class, section). */
static kaon_status fill(const sections *s, int64_t all, const int32_t *numbered,
                        kaon_sweep_rows **made) {
  const int64_t n = s->matrix->rows->rows->rows;
  const int launches = 1 << s->dimensions;
  KAON_AUTOFREE int64_t *count = calloc((size_t)(all * launches) + 1, sizeof *count);
  KAON_TRY(KAON_CHECK_MEMORY(s->matrix->ctx, count != NULL,
                             "kaczmarz: out of host memory for %lld sections", (long long)all));
  int64_t used = 0, section;
  int class;
  for (int64_t i = 0; i < n; i++) {
    section_of(s, i, &section, &class);
    used += count[class * all + section + 1]++ == 0;
  }
  KAON_TRY(kaon_sweep_rows_new(s->matrix->ctx, n, launches, used > 0 ? used : 1, 0, made));
  kaon_sweep_rows *m = *made;
  int64_t g = 0;
  for (int c = 0; c < launches; c++) {
    m->launch[c] = g;
    for (int64_t k = c * all; k < (c + 1) * all; k++) {
      if (count[k + 1] > 0) m->group[g++] = count[k];
      count[k + 1] += count[k];
    }
  }
  m->launch[launches] = m->groups;
  m->group[m->groups] = n;
  for (int64_t i = 0; i < n; i++) {
    section_of(s, numbered[i], &section, &class);
    m->row[count[class * all + section]++] = numbered[i];
  }
  return KAON_OK;
}

kaon_status kaon_sweep_rows_sections(const kaon_matrix *matrix,
                                     const kaon_kaczmarz_options *options, kaon_sweep_rows **made) {
  const double most = 1 << 24; /* maximum number of sections */
  sections s = {.matrix = matrix, .at = options->coordinates, .dimensions = options->dimensions};
  if (s.at == NULL || s.dimensions < 1 || s.dimensions > MOST_DIMENSIONS)
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "kaczmarz: order SECTIONS needs options.coordinates of 1 to %d dimensions, "
                     "but %s; give a point for each row",
                     (int)MOST_DIMENSIONS,
                     s.at == NULL ? "they are NULL" : "dimensions is another");
  for (int d = 0; d < s.dimensions; d++) {
    s.low[d] = INFINITY;
    s.high[d] = -INFINITY;
  }
  KAON_TRY(measure(&s));
  double all = 1;
  for (int d = 0; d < s.dimensions; d++) { /* wider than the reach by more than rounding errors */
    const double length = s.high[d] - s.low[d], wide = s.reach[d] * (1 + 1e-6) + 1e-9 * length;
    const double fit = length > 0 && wide > 0 ? floor(length / wide) : 1;
    s.count[d] = fit < 1 ? 1 : fit > most ? (int64_t)most : (int64_t)fit;
    all *= (double)s.count[d];
  }
  for (int d = 0; all > most; d = (d + 1) % s.dimensions) {
    all = all / (double)s.count[d] * (double)((s.count[d] + 1) / 2);
    s.count[d] = (s.count[d] + 1) / 2;
  }
  KAON_AUTOFREE int32_t *numbered = NULL;
  KAON_TRY(kaon_sweep_by_index(matrix, &numbered));
  return fill(&s, (int64_t)all, numbered, made);
}

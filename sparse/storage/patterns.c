/* patterns.c - see patterns.h. A block is compared with the one before it. Where it differs, it is
 * found by a hash, and blocks with equal hashes are compared. If two different blocks have the same
 * hash, the later one counts as unique. */
#include "sparse/storage/patterns.h"

#include <stdlib.h>

typedef struct search {
  const kaon_csr *rows;
  int width;
  uint64_t *hash;  /* [block]; 0: like the block before */
  int32_t *bucket; /* [hash] block + 1; 0: free; the size is a power of two */
  uint64_t mask;
} search;

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 29;
}

static uint64_t hash_block(const search *s, int64_t block) {
  const kaon_csr *a = s->rows;
  const int64_t first = block * s->width;
  uint64_t h = 1;
  for (int64_t row = first; row < first + s->width; row++) {
    h = mix(h, (uint64_t)(a->start[row + 1] - a->start[row]));
    for (int64_t n = a->start[row]; n < a->start[row + 1]; n++) {
      const uint64_t ghost = a->column[n] >= a->rows;
      h = mix(h, (uint64_t)(uint32_t)(a->column[n] - first) | ghost << 32);
    }
  }
  return h != 0 ? h : 1;
}

static int same(const search *s, int64_t b, int64_t c) {
  const kaon_csr *a = s->rows;
  const int64_t first = b * s->width, distance = (c - b) * s->width;
  for (int64_t row = first; row < first + s->width; row++) {
    const int64_t n = a->start[row], m = a->start[row + distance], count = a->start[row + 1] - n;
    if (a->start[row + distance + 1] - m != count) return 0;
    for (int64_t i = 0; i < count; i++)
      if (a->column[n + i] + distance != a->column[m + i] ||
          (a->column[n + i] >= a->rows) != (a->column[m + i] >= a->rows))
        return 0;
  }
  return 1;
}

static int32_t find(const search *s, int64_t block) {
  uint64_t i = s->hash[block] & s->mask;
  for (; s->bucket[i] != 0; i = (i + 1) & s->mask)
    if (s->hash[s->bucket[i] - 1] == s->hash[block]) return s->bucket[i] - 1;
  s->bucket[i] = (int32_t)block + 1;
  return (int32_t)block;
}

kaon_status kaon_patterns_find(kaon_context *ctx, const kaon_csr *rows, int width, int64_t blocks,
                               int32_t *like) {
  const int64_t whole = rows->rows / width;
  search s = {.rows = rows, .width = width, .mask = 1};
  while ((int64_t)s.mask < 2 * whole) s.mask *= 2;
  s.hash = malloc(((size_t)whole + 1) * sizeof *s.hash);
  s.bucket = calloc(s.mask, sizeof *s.bucket);
  s.mask--;
  const int lacking = s.hash == NULL || s.bucket == NULL;
  if (!lacking) {
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t b = 0; b < whole; b++)
      s.hash[b] = b > 0 && same(&s, b - 1, b) ? 0 : hash_block(&s, b);
    for (int64_t b = 0; b < blocks; b++)
      like[b] = b < whole && s.hash[b] != 0 ? find(&s, b) : (int32_t)b;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t b = 0; b < whole; b++)
      if (like[b] != b && !same(&s, like[b], b)) like[b] = (int32_t)b;
    for (int64_t b = 1; b < whole; b++)
      if (s.hash[b] == 0) like[b] = like[b - 1];
  }
  free(s.hash);
  free(s.bucket);
  if (lacking)
    return kaon_fail(ctx, KAON_ERR_MEMORY,
                     "matrix: out of host memory to compare the columns of %lld blocks of rows",
                     (long long)blocks);
  return KAON_OK;
}

/* partition.c - divides rows among parts: in consecutive blocks, or by METIS if it was compiled in
 * (KAON_BUILD_METIS). */
#include <stdlib.h>

#include "sparse/order/orderings.h"

#ifdef KAON_BUILD_METIS
#include <metis.h>
#endif

int kaon_partition_by_graph(void) {
#ifdef KAON_BUILD_METIS
  return 1;
#else
  return 0;
#endif
}

/* A row belongs to the part that the middle of its entries falls into. An empty row counts as one
 * entry, so that rows without entries are divided too. */
static void blocks(const kaon_csr *csr, int parts, int32_t *part) {
  const double whole = (double)(csr->start[csr->rows] - csr->start[0] + csr->rows);
  for (int64_t i = 0; i < csr->rows; i++) {
    const double middle =
        0.5 * (double)(csr->start[i] + csr->start[i + 1] - 2 * csr->start[0]) + (double)i + 0.5;
    const int mine = (int)(middle / whole * parts);
    part[i] = mine < parts ? mine : parts - 1;
  }
}

#ifdef KAON_BUILD_METIS
/* Fewest rows in a part for METIS. With fewer there is nothing to gain, and METIS prints
 * warnings. */
enum { GRAPH_ROWS = 32 };

/* METIS' integers are as wide as it was compiled for, often 32 bits. */
static kaon_status by_metis(const kaon_context *ctx, const kaon_csr *csr, const kaon_graph *graph,
                            int parts, int32_t *part) {
  const int64_t joined = graph->start[graph->vertices];
  if (joined > (IDXTYPEWIDTH == 32 ? INT32_MAX : INT64_MAX))
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "partition: %lld couplings are more than this METIS can number (%d bits); "
                     "distribute the rows in blocks",
                     (long long)joined, IDXTYPEWIDTH);
  const size_t rows = (size_t)graph->vertices;
  idx_t *start = malloc((rows + 1) * sizeof *start), *weight = malloc(rows * sizeof *weight);
  idx_t *neighbour = malloc(((size_t)joined + 1) * sizeof *neighbour);
  idx_t *mine = malloc(rows * sizeof *mine);
  int answer = METIS_ERROR_MEMORY;
  if (start != NULL && weight != NULL && neighbour != NULL && mine != NULL) {
    for (size_t i = 0; i <= rows; i++) start[i] = (idx_t)graph->start[i];
    for (size_t i = 0; i < rows; i++) weight[i] = (idx_t)(csr->start[i + 1] - csr->start[i] + 1);
    for (int64_t n = 0; n < joined; n++) neighbour[n] = (idx_t)graph->neighbour[n];
    idx_t vertices = (idx_t)rows, constraints = 1, wanted = parts, cut = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NUMBERING] = 0;
    answer = METIS_PartGraphKway(&vertices, &constraints, start, neighbour, weight, NULL, NULL,
                                 &wanted, NULL, NULL, options, &cut, mine);
    for (size_t i = 0; i < rows && answer == METIS_OK; i++) part[i] = (int32_t)mine[i];
  }
  free(start);
  free(weight);
  free(neighbour);
  free(mine);
  if (answer == METIS_OK) return KAON_OK;
  if (answer == METIS_ERROR_MEMORY)
    return kaon_fail(ctx, KAON_ERR_MEMORY,
                     "partition: METIS is out of host memory for %zu rows with %lld couplings",
                     rows, (long long)joined);
  return kaon_fail(ctx, KAON_ERR_INTERNAL, "partition: METIS returned status %d", answer);
}

static kaon_status by_graph(const kaon_context *ctx, const kaon_csr *csr, int parts,
                            int32_t *part) {
  KAON_AUTO(kaon_graph_destroy) kaon_graph *graph = NULL;
  KAON_TRY(kaon_graph_create(ctx, csr, &graph));
  return by_metis(ctx, csr, graph, parts, part);
}
#endif

kaon_status kaon_partition_rows(const kaon_context *ctx, const kaon_csr *csr,
                                kaon_partition_kind kind, int parts, int32_t *part) {
  if (parts < 1)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "partition: %d parts were asked for, but at least 1 is needed", parts);
  if (kind == KAON_PARTITION_GRAPH) {
    if (!kaon_partition_by_graph())
      return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                       "partition: this kaon was built without METIS; install libmetis-dev and "
                       "build it again, or distribute the rows in blocks");
#ifdef KAON_BUILD_METIS
    if (parts > 1 && csr->rows >= (int64_t)GRAPH_ROWS * parts)
      return by_graph(ctx, csr, parts, part);
#endif
  }
  blocks(csr, parts, part);
  return KAON_OK;
}

void kaon_partition_weigh(const kaon_csr *csr, int parts, const int32_t *part, int64_t *entries,
                          int64_t *cut, int64_t *heaviest) {
  *cut = *heaviest = 0;
  for (int p = 0; p < parts; p++) entries[p] = 0;
  for (int64_t i = 0; i < csr->rows; i++) {
    entries[part[i]] += csr->start[i + 1] - csr->start[i];
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++)
      if (csr->column[n] < csr->rows && part[csr->column[n]] != part[i]) ++*cut;
  }
  for (int p = 0; p < parts; p++)
    if (entries[p] > *heaviest) *heaviest = entries[p];
}

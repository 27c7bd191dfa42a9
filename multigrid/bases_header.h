/* bases_header.h - the header of a file of multigrid's bases (docs/files.md). */
#pragma once

#include <kaon/multigrid.h>

#include "lib/io/bytes.h"

#define KAON_BASES_ROOT "kaonMultigrid"

/* What the file says of itself. Blocks and vectors of levels - 1 levels. */
typedef struct kaon_bases_header {
  int levels;
  int extents[4], numbers; /* of level 0: of the whole lattice; complex numbers a site */
  int block[KAON_MULTIGRID_LEVELS - 1][4], vectors[KAON_MULTIGRID_LEVELS - 1];
  double norm; /* |A r| / |r| for the r of bases_file.c */
  int exact;   /* 1: A was in double precision */
} kaon_bases_header;

/* Collective like kaon_bytes_read. Errors: FORMAT, UNSUPPORTED, IO, MEMORY. */
kaon_status kaon_bases_header_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                   kaon_bases_header *header);
/* Levels, blocks and vectors that are 0 become the file's. whole: extents of the operator's lattice.
 * Errors: also SHAPE (other extents), ARGUMENT (options that differ). */
kaon_status kaon_bases_header_take(const kaon_context *ctx, const kaon_bytes *bytes,
                                   const int whole[4], kaon_multigrid_options *options);

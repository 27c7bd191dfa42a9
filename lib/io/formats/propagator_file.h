/* propagator_file.h - what the reader and the writer of USQCD propagator files share.
 * A file begins with the file XML usqcdPropFile, with type and info. Then follow, depending on the
 * type, one complex source and 12 solutions, or pairs. Each is a SciDAC record. Sources carry
 * usqcdSourceInfo, solutions usqcdPropInfo (usqcdInfo in old files) with source spin and colour.
 * Source: QIO 2.3 manual (DeTar), appendix A.2. */
#pragma once

#include <kaon/io.h>

#include "lib/io/bytes.h"

typedef struct kaon_propagator_type {
  kaon_propagator_kind kind;
  const char *name; /* <type> */
  int source_reals; /* reals a site */
} kaon_propagator_type;

enum { KAON_PROPAGATOR_TYPES = 3 };
extern const kaon_propagator_type kaon_propagator_types[KAON_PROPAGATOR_TYPES];

#define KAON_SQRT_HALF 0.70710678118654752440

/* As kaon_propagator_file_read, on opened input; put = NULL: probe. */
kaon_status kaon_propagator_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                       const kaon_propagator_read_options *options,
                                       kaon_propagator_file_info *info, kaon_spinor_put *put,
                                       kaon_source_put *put_source, void *sink);

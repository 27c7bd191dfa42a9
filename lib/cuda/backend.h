/* backend.h - the CUDA backend as the rest of the library sees it: one table, once a usable device
 * is there. No CUDA header here. */
#ifndef KAON_LIB_CUDA_BACKEND_H
#define KAON_LIB_CUDA_BACKEND_H

#include "lib/core/backend.h"

/* The table; `number`, counted round the devices there are, becomes the current device (below 0:
 * the current one stays). Errors, with a sentence each: NO_DEVICE (no driver, a driver too old, no
 * device, a device that this build has no code for), DEVICE (the driver failed). */
kaon_status kaon_cuda_backend(int number, const kaon_backend **backend);

extern const kaon_backend kaon_cuda_table;
/* The same with vector work by cuBLAS and scalars on the host (KAON_ISSUE_LIBRARY). */
extern const kaon_backend kaon_cuda_library_table;

#endif

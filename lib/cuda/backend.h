/* backend.h - the interface of the CUDA backend to the rest of the library: one table, available
 * once a usable device is found. This header includes no CUDA header. */
#pragma once

#include "lib/core/backend.h"

/* Returns the table. `number`, modulo the number of devices, becomes the current device; if it is
 * below 0 the current device stays. Errors, each with a message: NO_DEVICE (no driver, a driver too
 * old, no device, or a device that this build has no code for), DEVICE (the driver failed). */
kaon_status kaon_cuda_backend(int number, const kaon_backend **backend);

/* Shared memory of a multiprocessor of the current device; 0: not known. */
int64_t kaon_cuda_shared_bytes(void);

extern const kaon_backend kaon_cuda_table;
/* The same with vector work by cuBLAS and scalars on the host (KAON_ISSUE_LIBRARY). */
extern const kaon_backend kaon_cuda_library_table;

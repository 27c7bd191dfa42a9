/* refusal.h - explains why a device cannot be used. The message is chosen from facts that the
 * caller collected, so that tests reach all of them on a machine without a device. */
#pragma once

#include <kaon/status.h>

/* Values of cudaError_t with a message of their own (lib/cuda/device.c compares them with
 * CUDA's). */
enum {
  KAON_CUDA_SUCCESS = 0,
  KAON_CUDA_OLD_DRIVER = 35,
  KAON_CUDA_NO_FUNCTION = 98,
  KAON_CUDA_NO_DEVICE = 100,
  KAON_CUDA_NO_IMAGE = 209,
  KAON_CUDA_NEW_PTX = 222
};

/* Versions are 1000 major + 10 minor. */
typedef struct kaon_cuda_status_facts {
  const char *compiled; /* compute capabilities with compiled code; NULL: built without CUDA */
  int error;            /* of the last call that was tried, with its text and name */
  const char *text, *name;
  int devices, driver, runtime; /* driver 0: none is loaded */
  const char *device;           /* the device asked for its code; NULL: devices were only counted */
  int major, minor;             /* its compute capability */
} kaon_cuda_status_facts;

/* Returns KAON_OK, or NOT_BUILT, NO_DEVICE or DEVICE with a message for no context. */
kaon_status kaon_cuda_usable(const kaon_cuda_status_facts *facts);

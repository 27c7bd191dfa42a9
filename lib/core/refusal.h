/* refusal.h - why a device cannot be used, in a sentence: chosen from what was found out, so that a
 * machine without one can go through all of them. */
#ifndef KAON_LIB_REFUSAL_H
#define KAON_LIB_REFUSAL_H

#include <kaon/status.h>

/* Values of cudaError_t that have a sentence of their own (lib/cuda/device.c compares them with
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
  const char *compiled; /* compute capabilities that there is code for; NULL: built without CUDA */
  int error;            /* of the last thing that was tried; its text and name */
  const char *text, *name;
  int devices, driver, runtime; /* driver 0: none is loaded */
  const char *device;           /* that was asked for its code; NULL: they were counted only */
  int major, minor;             /* its compute capability */
} kaon_cuda_status_facts;

/* KAON_OK, NOT_BUILT, NO_DEVICE or DEVICE, these with a sentence (of no context). */
kaon_status kaon_cuda_usable(const kaon_cuda_status_facts *facts);

#endif

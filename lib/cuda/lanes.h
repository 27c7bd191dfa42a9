/* lanes.h - the shape of fields on the GPU: what the backend's table has for width and access. */
#ifndef KAON_LIB_CUDA_LANES_H
#define KAON_LIB_CUDA_LANES_H

/* Lanes of a block, bytes of an access. */
enum { KAON_LANES = 32, KAON_ACCESS = 16 };

#endif

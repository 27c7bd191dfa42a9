/* delay.h - launches the kernel of delay.cu. */
#pragma once

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launches one thread that ends `seconds` after it began. */
cudaError_t kaon_delay_launch(cudaStream_t stream, double seconds);

#ifdef __cplusplus
}
#endif

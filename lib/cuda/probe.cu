/* probe.cu - an empty kernel that shows whether the device can load this build's code, and for
 * which compute capability that code was compiled. */
static __global__ void probe_kernel(void) {}

/* *capability: 90 means 9.0. */
extern "C" cudaError_t kaon_cuda_probe(int *capability) {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)probe_kernel);
  *capability = error == cudaSuccess ? attributes.ptxVersion : 0;
  return error;
}

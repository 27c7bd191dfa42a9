/* probe.cu - a kernel that does nothing: whether the device can load this build's code. */
static __global__ void probe_kernel(void) {}

extern "C" cudaError_t kaon_cuda_probe(void) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, (const void *)probe_kernel);
}

/* probe.cu - a kernel that does nothing: whether the device can load this build's code, and which.
 */
static __global__ void probe_kernel(void) {}

extern "C" cudaError_t kaon_cuda_probe(void) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, (const void *)probe_kernel);
}

/* The virtual architecture that the code in use was compiled for, as in __CUDA_ARCH__ / 10. */
extern "C" int kaon_cuda_code(void) {
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, (const void *)probe_kernel) != cudaSuccess) return 0;
  return attributes.ptxVersion;
}

/* chain.c - the image of kernels that launch kernels (sparse/cuda/chain.cu, linked on the device by
 * KaonCuda.cmake), loaded where the form CDP is asked for. */
#include "lib/cuda/list.h"

#if CUDART_VERSION >= 13000 && defined(KAON_CHAIN_IMAGE)

extern const unsigned char kaon_chain_image[];
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    ".globl kaon_chain_image\n"
    ".hidden kaon_chain_image\n"
    "kaon_chain_image:\n"
    ".incbin \"" KAON_CHAIN_IMAGE
    "\"\n"
    ".balign 8\n"
    ".popsection\n");

cudaError_t kaon_chain_open(kaon_chain *chain) {
  static const char *const names[2] = {"kaon_chain_cuda_d", "kaon_chain_cuda_s"};
  cudaLibrary_t library;
  cudaError_t error = cudaLibraryLoadData(&library, kaon_chain_image, NULL, NULL, 0, NULL, NULL, 0);
  if (error != cudaSuccess) return error;
  chain->library = library;
  for (int p = 0; p < 2 && error == cudaSuccess; p++) {
    cudaKernel_t kernel = NULL;
    error = cudaLibraryGetKernel(&kernel, library, names[p]);
    chain->kernel[p] = (void *)kernel;
  }
  if (error != cudaSuccess) kaon_chain_close(chain);
  return error;
}

void kaon_chain_close(kaon_chain *chain) {
  if (chain->library != NULL) cudaLibraryUnload((cudaLibrary_t)chain->library);
  *chain = (kaon_chain){NULL, {NULL, NULL}};
}

#else

cudaError_t kaon_chain_open(kaon_chain *chain) {
  *chain = (kaon_chain){NULL, {NULL, NULL}};
  return cudaErrorNotSupported;
}

void kaon_chain_close(kaon_chain *chain) {
  (void)chain;
}

#endif

cudaError_t kaon_chain_launch(const kaon_chain *chain, int precision, const kaon_listed *list,
                              cudaStream_t stream) {
  kaon_listed argument = *list;
  int done = 0;
  void *arguments[2] = {&argument, &done};
  const dim3 one = {1, 1, 1};
  return cudaLaunchKernel(chain->kernel[precision], one, one, arguments, 0, stream);
}

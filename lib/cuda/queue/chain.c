/* chain.c - the image of kernels that launch kernels (sparse/cuda/chain.cu, linked on the device by
 * KaonCuda.cmake), loaded where the form CDP is asked for. */
#include "lib/cuda/queue/list.h"

#include <stdlib.h>

#if CUDART_VERSION >= 13000 && defined(KAON_CHAIN_IMAGE)

struct kaon_chain {
  cudaLibrary_t library;
  cudaKernel_t kernel[2]; /* by precision */
};

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

cudaError_t kaon_chain_create(kaon_chain **chain) {
  static const char *const names[2] = {"kaon_chain_cuda_d", "kaon_chain_cuda_s"};
  kaon_chain *c = *chain = calloc(1, sizeof *c);
  if (c == NULL) return cudaErrorMemoryAllocation;
  cudaError_t error =
      cudaLibraryLoadData(&c->library, kaon_chain_image, NULL, NULL, 0, NULL, NULL, 0);
  for (int p = 0; p < 2 && error == cudaSuccess; p++)
    error = cudaLibraryGetKernel(&c->kernel[p], c->library, names[p]);
  if (error != cudaSuccess) kaon_chain_destroy(chain);
  return error;
}

void kaon_chain_destroy(kaon_chain **chain) {
  if (*chain == NULL) return;
  if ((*chain)->library != NULL) cudaLibraryUnload((*chain)->library);
  free(*chain);
  *chain = NULL;
}

cudaError_t kaon_chain_launch(const kaon_chain *chain, int precision, const kaon_listed *list,
                              cudaStream_t stream) {
  kaon_listed argument = *list;
  int done = 0;
  void *arguments[2] = {&argument, &done};
  const dim3 one = {1, 1, 1};
  return cudaLaunchKernel((const void *)chain->kernel[precision], one, one, arguments, 0, stream);
}

#else

cudaError_t kaon_chain_create(kaon_chain **chain) {
  *chain = NULL;
  return cudaErrorNotSupported;
}

void kaon_chain_destroy(kaon_chain **chain) {
  (void)chain;
}

cudaError_t kaon_chain_launch(const kaon_chain *chain, int precision, const kaon_listed *list,
                              cudaStream_t stream) {
  (void)chain, (void)precision, (void)list, (void)stream;
  return cudaErrorNotSupported;
}

#endif

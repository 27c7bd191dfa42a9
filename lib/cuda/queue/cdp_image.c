/* cdp_image.c - loads the image of kernels that launch kernels (sparse/cuda/cdp.cu, device-linked
 * by KaonCuda.cmake). Used for the form CDP. */
#include "lib/cuda/queue/launch_list.h"

#include <stdlib.h>

#if CUDART_VERSION >= 13000 && defined(KAON_CHAIN_IMAGE)

struct kaon_cdp_image {
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

cudaError_t kaon_cdp_create(kaon_cdp_image **cdp_image) {
  static const char *const names[2] = {"kaon_chain_cuda_d", "kaon_chain_cuda_s"};
  kaon_cdp_image *c = *cdp_image = calloc(1, sizeof *c);
  if (c == NULL) return cudaErrorMemoryAllocation;
  cudaError_t error =
      cudaLibraryLoadData(&c->library, kaon_chain_image, NULL, NULL, 0, NULL, NULL, 0);
  for (int p = 0; p < 2 && error == cudaSuccess; p++)
    error = cudaLibraryGetKernel(&c->kernel[p], c->library, names[p]);
  if (error != cudaSuccess) kaon_cdp_destroy(cdp_image);
  return error;
}

void kaon_cdp_destroy(kaon_cdp_image **cdp_image) {
  if (*cdp_image == NULL) return;
  if ((*cdp_image)->library != NULL) cudaLibraryUnload((*cdp_image)->library);
  free(*cdp_image);
  *cdp_image = NULL;
}

cudaError_t kaon_cdp_launch(const kaon_cdp_image *cdp_image, int precision, const kaon_listed *list,
                            cudaStream_t stream) {
  kaon_listed argument = *list;
  int done = 0;
  void *arguments[2] = {&argument, &done};
  const dim3 one = {1, 1, 1};
  return cudaLaunchKernel((const void *)cdp_image->kernel[precision], one, one, arguments, 0,
                          stream);
}

#else

cudaError_t kaon_cdp_create(kaon_cdp_image **cdp_image) {
  *cdp_image = NULL;
  return cudaErrorNotSupported;
}

void kaon_cdp_destroy(kaon_cdp_image **cdp_image) {
  (void)cdp_image;
}

cudaError_t kaon_cdp_launch(const kaon_cdp_image *cdp_image, int precision, const kaon_listed *list,
                            cudaStream_t stream) {
  (void)cdp_image, (void)precision, (void)list, (void)stream;
  return cudaErrorNotSupported;
}

#endif

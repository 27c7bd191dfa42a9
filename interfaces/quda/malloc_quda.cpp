// malloc_quda.cpp - memory for C++ applications. Contract: include/malloc_quda.h.
#include "malloc_quda.h"

#include <stdlib.h>
#include <string.h>
#include <kaon/kaon.h>

extern "C" {
#include "state.h"
}

static void *allocate(const char *func, const char *file, int line, size_t size) {
  void *ptr = nullptr;
  if (posix_memalign(&ptr, 64, size) == 0) return ptr;
  kaon_quda_check(
      func, kaon_quda_refuse(KAON_ERR_MEMORY,
                             "no %zu bytes of memory at %s:%d; use a smaller lattice or more ranks",
                             size, file, line));
  return nullptr;
}

static bool on_a_gpu() {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  return kaon_quda()->ctx != nullptr && kaon_context_query(kaon_quda()->ctx, &info) == KAON_OK &&
         strcmp(info.backend, "cuda") == 0;
}

namespace quda {
namespace pool {

void *device_malloc_(const char *func, const char *file, int line, size_t size) {
  if (on_a_gpu())
    kaon_quda_check(
        func, kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                               "kaon's libquda has no pool of device memory, which %s:%d asks for; "
                               "allocate by CUDA (PyQUDA: leave out use_malloc_quda)",
                               file, line));
  return allocate(func, file, line, size);
}
void device_free_(const char *, const char *, int, void *ptr) {
  free(ptr);
}
void *pinned_malloc_(const char *func, const char *file, int line, size_t size) {
  return allocate(func, file, line, size);
}
void pinned_free_(const char *, const char *, int, void *ptr) {
  free(ptr);
}

}  // namespace pool
}  // namespace quda

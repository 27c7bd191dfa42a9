// malloc_quda.cpp - memory for C++ applications. Contract: include/malloc_quda.h.
#include "malloc_quda.h"

#include <stdlib.h>

extern "C" {
#include "state.h"
}

static void *allocate(const char *func, const char *file, int line, size_t size) {
  void *ptr = nullptr;
  if (posix_memalign(&ptr, 64, size) == 0) return ptr;
  kaon_quda_check(
      func,
      kaon_quda_refuse(KAON_ERR_MEMORY,
                       "cannot allocate %zu bytes (%s:%d); use a smaller lattice or more ranks",
                       size, file, line));
  return nullptr;
}

namespace quda {
namespace pool {

void *device_malloc_(const char *func, const char *file, int line, size_t size) {
  if (kaon_quda_on_device(QUDA_CUDA_FIELD_LOCATION))
    kaon_quda_check(
        func, kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                               "device memory of QUDA's pool is not offered (%s:%d); allocate it "
                               "with CUDA (in PyQUDA leave out use_malloc_quda)",
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

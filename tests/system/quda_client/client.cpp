// An application in C++ that includes every header and takes memory.
#include <device.h>
#include <malloc_quda.h>
#include <quda_milc_interface.h>
#include <util_quda.h>
#include <cstdio>
#include <cstring>

int main() {
  void *memory = pool_device_malloc(100), *pinned = pool_pinned_malloc(100);
  std::memset(memory, 1, 100);
  std::memcpy(pinned, memory, 100);
  std::printf("%d %d\n", static_cast<char *>(pinned)[99],
              static_cast<int>(sizeof(QudaMultigridParam) > 0));
  pool_device_free(memory);
  pool_pinned_free(pinned);
  return 0;
}

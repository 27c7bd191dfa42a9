/** @file malloc_quda.h
 * Memory of the device that kaon uses, for C++ applications: device memory in a context on a GPU, host
 * memory in a context on the CPU. The functions exist where libquda was built with a C++ compiler. */
#pragma once

#include <cstddef>
#include "enum_quda.h"

namespace quda {
namespace pool {

/** Returns `size` bytes of memory. Prints the place of the call and ends the process where there is
 * none left. Call the macros below. */
void *device_malloc_(const char *func, const char *file, int line, std::size_t size);
/** Releases `ptr`, which may be NULL. */
void device_free_(const char *func, const char *file, int line, void *ptr);
/** As device_malloc_, for host memory that is copied to and from the device. */
void *pinned_malloc_(const char *func, const char *file, int line, std::size_t size);
/** Releases `ptr`, which may be NULL. */
void pinned_free_(const char *func, const char *file, int line, void *ptr);

}  // namespace pool
}  // namespace quda

#define pool_device_malloc(size) quda::pool::device_malloc_(__func__, __FILE__, __LINE__, size)
#define pool_device_free(ptr) quda::pool::device_free_(__func__, __FILE__, __LINE__, ptr)
#define pool_pinned_malloc(size) quda::pool::pinned_malloc_(__func__, __FILE__, __LINE__, size)
#define pool_pinned_free(ptr) quda::pool::pinned_free_(__func__, __FILE__, __LINE__, ptr)

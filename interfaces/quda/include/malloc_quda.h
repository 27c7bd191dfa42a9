/** @file malloc_quda.h
 * Memory for C++ applications. The functions exist where libquda was built with a C++ compiler. */
#pragma once

#include <cstddef>
#include "enum_quda.h"

namespace quda {
namespace pool {

/** Returns `size` bytes of memory that the library computes in. Call the macros below. Prints a
 * sentence and ends the process where there is none left, and in a context on a GPU. */
void *device_malloc_(const char *func, const char *file, int line, std::size_t size);
/** Releases `ptr`, which may be NULL. */
void device_free_(const char *func, const char *file, int line, void *ptr);
/** Returns `size` bytes of host memory, or ends the process likewise. */
void *pinned_malloc_(const char *func, const char *file, int line, std::size_t size);
/** Releases `ptr`, which may be NULL. */
void pinned_free_(const char *func, const char *file, int line, void *ptr);

}  // namespace pool
}  // namespace quda

#define pool_device_malloc(size) quda::pool::device_malloc_(__func__, __FILE__, __LINE__, size)
#define pool_device_free(ptr) quda::pool::device_free_(__func__, __FILE__, __LINE__, ptr)
#define pool_pinned_malloc(size) quda::pool::pinned_malloc_(__func__, __FILE__, __LINE__, size)
#define pool_pinned_free(ptr) quda::pool::pinned_free_(__func__, __FILE__, __LINE__, ptr)

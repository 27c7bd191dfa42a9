/** @file status.h
 * Status codes and error sentences; the version of the library. */
#ifndef KAON_STATUS_H
#define KAON_STATUS_H

/** Version of these headers. kaon_version() has the version of the linked library. */
#define KAON_VERSION_MAJOR 0
#define KAON_VERSION_MINOR 1
#define KAON_VERSION_PATCH 0
/** One number to compare: 10000 major + 100 minor + patch. Version 0.1.0 is 100. */
#define KAON_VERSION (KAON_VERSION_MAJOR * 10000 + KAON_VERSION_MINOR * 100 + KAON_VERSION_PATCH)

/** Marks public functions. The shared library exports these and no others. */
#if defined(__GNUC__)
#define KAON_API __attribute__((visibility("default")))
#else
#define KAON_API
#endif

/** Initial value of an output struct: its size, all else 0. For the `_INIT` macros. */
#ifdef __cplusplus
#define KAON_SIZED(type) kaon_sized<type>()
extern "C++" {
/** What KAON_SIZED() is in C++. */
template <class type>
inline type kaon_sized() {
  type made = type();
  made.size = sizeof(type);
  return made;
}
}
#else
#define KAON_SIZED(type) \
  { .size = sizeof(type) }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** A process and its device: see kaon/context.h. */
typedef struct kaon_context kaon_context;

/** All status codes: X(name, number, meaning). Numbers never change; new ones are appended. */
#define KAON_STATUS_LIST(X)                                               \
  X(KAON_OK, 0, "success")                                                \
  X(KAON_ERR_ARGUMENT, 1, "an argument is out of range or missing")       \
  X(KAON_ERR_SHAPE, 2, "extents, spaces or column counts do not fit")     \
  X(KAON_ERR_ALIAS, 3, "arguments that must not alias do")                \
  X(KAON_ERR_PRECISION, 4, "precisions do not fit this operation")        \
  X(KAON_ERR_STALE, 5, "an object is older than what it was made of")     \
  X(KAON_ERR_STATE, 6, "the object is not ready for this call")           \
  X(KAON_ERR_UNSUPPORTED, 7, "this combination is not offered")           \
  X(KAON_ERR_NOT_BUILT, 8, "this feature was not compiled in")            \
  X(KAON_ERR_NO_DEVICE, 9, "no usable device")                            \
  X(KAON_ERR_MEMORY, 10, "out of memory")                                 \
  X(KAON_ERR_DEVICE, 11, "the device reported an error")                  \
  X(KAON_ERR_COMM, 12, "the communicator reported an error")              \
  X(KAON_ERR_IO, 13, "a file could not be read or written")               \
  X(KAON_ERR_FORMAT, 14, "a file is not in a known or consistent format") \
  X(KAON_ERR_CHECKSUM, 15, "stored and computed checksums differ")        \
  X(KAON_ERR_UNITARITY, 16, "links are not in SU(3)")                     \
  X(KAON_ERR_NOT_FINITE, 17, "NaN or infinity where a number is needed")  \
  X(KAON_ERR_SINGULAR, 18, "a block that must be inverted is singular")   \
  X(KAON_ERR_CANCELLED, 19, "cancelled by the caller")                    \
  X(KAON_ERR_INTERNAL, 20, "a defect in kaon; please report it")

/** What functions return: #KAON_STATUS_LIST. */
typedef enum kaon_status {
#define KAON_X(name, number, text) name = number,
  KAON_STATUS_LIST(KAON_X)
#undef KAON_X
} kaon_status;

/** Name of a code, such as "KAON_ERR_SHAPE". "KAON_ERR_?" for an unknown code. Local. */
KAON_API const char *kaon_status_name(kaon_status status);
/** Meaning of a code in general. "unknown status" for an unknown code. Local. */
KAON_API const char *kaon_status_text(kaon_status status);

/** Sentence about this thread's last call of a function that returns a status, if it failed; "" if
 * it succeeded, and before the first call. `ctx` may be any context or NULL, and changes nothing.
 * Never `NULL`. Valid until the thread's next such call. Local. */
KAON_API const char *kaon_last_error(const kaon_context *ctx);

/** Version of the linked library, such as "0.1.0". Local. */
KAON_API const char *kaon_version(void);
/** Commit that the library was built from: 12 hexadecimal digits. "-dirty" follows if the sources
 * had changes. "unknown" if they were not in a git checkout. Local. */
KAON_API const char *kaon_commit(void);

#ifdef __cplusplus
}
#endif
#endif

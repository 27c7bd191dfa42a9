/* status.h - what every kaon function returns, and the sentence behind it.
 * All functions of the library return kaon_status unless they cannot fail. On failure a full
 * sentence that names both values and the remedy is kept per context and thread: kaon_last_error().
 */
#ifndef KAON_STATUS_H
#define KAON_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_context kaon_context;

/* X(name, number, text): the one list of status codes. Numbers are ABI: append only. */
#define KAON_STATUS_LIST(X)                                                    \
  X(KAON_OK, 0, "success")                                                     \
  X(KAON_ERR_ARGUMENT, 1, "an argument is out of range or missing")            \
  X(KAON_ERR_SHAPE, 2, "extents, spaces or column counts do not fit")          \
  X(KAON_ERR_ALIAS, 3, "arguments that must not alias do")                     \
  X(KAON_ERR_PRECISION, 4, "precisions do not fit this operation")             \
  X(KAON_ERR_STALE, 5, "a derived field is older than the links it came from") \
  X(KAON_ERR_STATE, 6, "the object is not ready for this call")                \
  X(KAON_ERR_UNSUPPORTED, 7, "this combination is not offered")                \
  X(KAON_ERR_NOT_BUILT, 8, "this feature was not compiled in")                 \
  X(KAON_ERR_NO_DEVICE, 9, "no usable device")                                 \
  X(KAON_ERR_MEMORY, 10, "out of memory")                                      \
  X(KAON_ERR_DEVICE, 11, "the device reported an error")                       \
  X(KAON_ERR_COMM, 12, "the communicator reported an error")                   \
  X(KAON_ERR_IO, 13, "a file could not be read or written")                    \
  X(KAON_ERR_FORMAT, 14, "a file is not in a known or consistent format")      \
  X(KAON_ERR_CHECKSUM, 15, "stored and computed checksums differ")             \
  X(KAON_ERR_UNITARITY, 16, "links are not in SU(3)")                          \
  X(KAON_ERR_NOT_FINITE, 17, "NaN or infinity where a number is needed")       \
  X(KAON_ERR_SINGULAR, 18, "a block that must be inverted is singular")        \
  X(KAON_ERR_CANCELLED, 19, "cancelled by the caller")                         \
  X(KAON_ERR_INTERNAL, 20, "a defect in kaon; please report it")

typedef enum kaon_status {
#define KAON_X(name, number, text) name = number,
  KAON_STATUS_LIST(KAON_X)
#undef KAON_X
} kaon_status;

/* The code's name ("KAON_ERR_SHAPE") and its general meaning. Never NULL; "KAON_ERR_?" / "unknown
 * status" otherwise. */
const char *kaon_status_name(kaon_status status);
const char *kaon_status_text(kaon_status status);

/* The sentence of the calling thread's last failure on `ctx`; ctx = NULL: of calls that have no
 * context yet. Kept of the 8 contexts of the thread that failed last (ctx = NULL is one). Never
 * NULL, "" if nothing failed. Valid until the thread's next failing call. Not collective. */
const char *kaon_last_error(const kaon_context *ctx);

#ifdef __cplusplus
}
#endif
#endif

/* options.h - every options struct by name: defaults, ranges, text. One table a struct drives all
 * of it (and the docs). */
#ifndef KAON_OPTIONS_H
#define KAON_OPTIONS_H

#include <kaon/fatten.h>
#include <kaon/kaczmarz.h>
#include <kaon/multishift.h>
#include <kaon/precond.h>
#include <kaon/relax.h>
#include <kaon/schwarz.h>
#include <kaon/sparse.h>
#include <kaon/sparse_precond.h>
#include <kaon/staggered.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kaon_options_kind {
  KAON_OPTIONS_CONTEXT,
  KAON_OPTIONS_DIRAC,
  KAON_OPTIONS_EVEN_ODD,
  KAON_OPTIONS_SOLVER,
  KAON_OPTIONS_HEATBATH,
  KAON_OPTIONS_SCHWARZ,
  KAON_OPTIONS_MATRIX,
  KAON_OPTIONS_MATRIX_OPERATOR,
  KAON_OPTIONS_SHELL,
  KAON_OPTIONS_PRECOND,
  KAON_OPTIONS_CHEBYSHEV,
  KAON_OPTIONS_MULTISHIFT,
  KAON_OPTIONS_RELAX,
  KAON_OPTIONS_FAULTS,
  KAON_OPTIONS_KACZMARZ,
  KAON_OPTIONS_STAGGERED,
  KAON_OPTIONS_FATTEN
} kaon_options_kind;

/* Fills `options` with its defaults (the same as the _INIT macro). */
kaon_status kaon_options_init(kaon_options_kind kind, void *options);
/* Sets fields from "key=value, key=value"; keys are field names, enumerations by name
 * ("sloppy=half"). All or nothing: on error (ARGUMENT: unknown key, bad or out-of-range value; the
 * sentence names what is allowed) nothing changes. */
kaon_status kaon_options_parse(kaon_options_kind kind, void *options, const char *text);
/* Checks size, version and every range. */
kaon_status kaon_options_check(kaon_options_kind kind, const void *options);
/* Writes "key=value, ..." of all settable fields, at most `room` bytes with the NUL; *length what
 * it takes. */
kaon_status kaon_options_print(kaon_options_kind kind, const void *options, char *text, size_t room,
                               size_t *length);
/* Help lines, one a field: "name (default) range: meaning". Iterate field = 0, 1, ... until NULL.
 */
const char *kaon_options_help(kaon_options_kind kind, int field);

#ifdef __cplusplus
}
#endif
#endif

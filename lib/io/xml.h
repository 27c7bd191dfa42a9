/* xml.h - the XML of QIO, ILDG and USQCD records, read by expat; and numbers in text.
 * Such a text is an outermost element whose children hold the values. Comments, CDATA, attributes,
 * character references, internal entities and the encodings UTF-8, UTF-16, ISO-8859-1 and US-ASCII
 * are understood. A child counts if it is of the outermost element's namespace, whatever its prefix
 * is. External entities are refused, and expat limits how far entities are expanded. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/core/error.h"

typedef struct kaon_text {
  const char *at;
  size_t length;
} kaon_text;

enum { KAON_XML_MAX = 1 << 24 }; /* longer texts are refused */

/* A parsed text. Its strings are UTF-8. */
typedef struct kaon_xml {
  char *pool;    /* the outermost element's name and its text before the first child; then the
                    same of each child. Each ends in NUL */
  size_t length; /* of the pool */
} kaon_xml;

/* Parses `length` bytes. `where` begins messages: the file and the record. Texts end at their first
 * NUL; blank lines may come before them. Release *xml by kaon_xml_free, also after a failure.
 * Errors: FORMAT (the message has the line), MEMORY. */
kaon_status kaon_xml_parse(const kaon_context *ctx, const char *where, const char *text,
                           size_t length, kaon_xml *xml);
void kaon_xml_free(kaon_xml *xml);
/* 1 if a text may be XML: it begins with <, in any encoding. */
int kaon_xml_begins(const char *text, size_t length);

/* Name of the outermost element; "" before a text was parsed. */
const char *kaon_xml_root(const kaon_xml *xml);
/* The text of the outermost element (name NULL), or of its first child of this name, with all that
 * is in elements inside it. Returns 1 if it exists, else 0 and "". */
int kaon_xml_find(const kaon_xml *xml, const char *name, kaon_text *content);

/* Reads integers separated by blanks. Returns how many (at most max), -1 if absent, -2 if
 * malformed, too many, beyond +-2^53, or if two children of this name differ. */
int kaon_xml_integers(const kaon_xml *xml, const char *name, int64_t *values, int max);
/* Reads one integer: 1 found, 0 absent, -1 malformed. */
int kaon_xml_integer(const kaon_xml *xml, const char *name, int64_t *value);
/* Reads a hexadecimal number of at most 32 bits, with or without 0x: 1 found, 0 absent, -1
 * malformed. */
int kaon_xml_hex32(const kaon_xml *xml, const char *name, uint32_t *value);
/* Reads a decimal number and the size of one unit of its last printed digit: 1, 0, -1 as above. */
int kaon_xml_decimal(const kaon_xml *xml, const char *name, double *value, double *last_digit);
/* Copies the trimmed text, cut to to_size - 1 characters; "" if absent. */
void kaon_xml_string(const kaon_xml *xml, const char *name, char *to, size_t to_size);

/* The same for a text without an element. */
int kaon_text_decimal(kaon_text text, double *value, double *last_digit);
int kaon_text_hex32(kaon_text text, uint32_t *value);
int kaon_text_integer(kaon_text text, int64_t *value);
kaon_text kaon_text_trim(kaon_text text);
/* 1 if equal to `word`, ignoring case. */
int kaon_text_is(kaon_text text, const char *word);

/* Escapes & < > " ' into `to`; what XML may not contain, control characters and bytes that are no
 * UTF-8, becomes a blank. Returns the length needed without the NUL; if it is >= to_size, the
 * result was cut. */
size_t kaon_xml_escape(const char *text, char *to, size_t to_size);

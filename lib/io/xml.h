/* xml.h - the XML subset of QIO and ILDG headers: the text between <tag ...> and </tag>.
 * It is tolerant on purpose: existing files have unbalanced quotes in attributes, missing
 * prologues, and NUL padding. Not supported: a tag nested in itself, comments, CDATA. */
#ifndef KAON_LIB_IO_XML_H
#define KAON_LIB_IO_XML_H

#include <stddef.h>
#include <stdint.h>

typedef struct kaon_text {
  const char *at;
  size_t length;
} kaon_text;

/* Returns 1 and the content if the element exists, else 0. */
int kaon_xml_find(kaon_text xml, const char *tag, kaon_text *content);

/* Reads integers separated by blanks. Returns how many (at most max), -1 if absent, -2 if
 * malformed, too many or beyond +-2^53. */
int kaon_xml_integers(kaon_text xml, const char *tag, int64_t *values, int max);
/* Reads one integer: 1 found, 0 absent, -1 malformed. */
int kaon_xml_integer(kaon_text xml, const char *tag, int64_t *value);
/* Reads a hexadecimal number of at most 32 bits, with or without 0x: 1 found, 0 absent, -1
 * malformed. */
int kaon_xml_hex32(kaon_text xml, const char *tag, uint32_t *value);
/* Reads a decimal number and the size of one unit of its last printed digit: 1, 0, -1 as above. */
int kaon_xml_decimal(kaon_text xml, const char *tag, double *value, double *last_digit);
/* Copies the trimmed text, cut to to_size - 1 characters; "" if absent. */
void kaon_xml_string(kaon_text xml, const char *tag, char *to, size_t to_size);

/* The same for a text without a tag. */
int kaon_text_decimal(kaon_text text, double *value, double *last_digit);
int kaon_text_hex32(kaon_text text, uint32_t *value);
int kaon_text_integer(kaon_text text, int64_t *value);
kaon_text kaon_text_trim(kaon_text text);
/* 1 if equal to `word`, ignoring case. */
int kaon_text_is(kaon_text text, const char *word);

/* Escapes & < > " ' and control characters (to blanks) into `to`. Returns the length needed without
 * the NUL; if it is >= to_size, the result was cut. */
size_t kaon_xml_escape(const char *text, char *to, size_t to_size);
/* The inverse; unknown entities are left alone. Always ends in NUL. */
void kaon_xml_unescape(kaon_text text, char *to, size_t to_size);

#endif

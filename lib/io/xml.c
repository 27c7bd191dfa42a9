/* xml.c - Contract: xml.h. */
#include "lib/io/xml.h"

#include <ctype.h>
#define XML_DTD /* declares the limits of expansion */
#include <expat.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/io/bytes.h"
#include "lib/io/decimal.h"

static int is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

kaon_text kaon_text_trim(kaon_text t) {
  while (t.length && is_blank(t.at[0])) t.at++, t.length--;
  while (t.length && is_blank(t.at[t.length - 1])) t.length--;
  return t;
}

int kaon_text_is(kaon_text t, const char *word) {
  t = kaon_text_trim(t);
  return t.length == strlen(word) && strncasecmp(t.at, word, t.length) == 0;
}

/* ---- numbers in text ---- */

/* Copies a short token for strtod and others; 0 if it is empty or too long for a number. */
static int token(kaon_text t, char buffer[64]) {
  if (t.length == 0 || t.length > 63) return 0;
  memcpy(buffer, t.at, t.length);
  buffer[t.length] = '\0';
  return strlen(buffer) == t.length;
}

int kaon_text_integer(kaon_text t, int64_t *value) {
  char s[64], *end;
  if (!token(kaon_text_trim(t), s)) return 0;
  long long v = strtoll(s, &end, 10);
  const long long limit = 1LL << 53;
  if (*end != '\0' || v < -limit || v > limit) return 0;
  *value = v;
  return 1;
}

int kaon_text_hex32(kaon_text t, uint32_t *value) {
  char s[64], *end;
  if (!token(kaon_text_trim(t), s) || !isxdigit((unsigned char)s[0])) return 0;
  unsigned long long v = strtoull(s, &end, 16);
  if (*end != '\0' || v > UINT32_MAX) return 0;
  *value = (uint32_t)v;
  return 1;
}

int kaon_text_decimal(kaon_text t, double *value, double *last_digit) {
  char s[64], *end;
  if (!token(kaon_text_trim(t), s)) return 0;
  if (s[strspn(s, "+-.0123456789eE")] != '\0') return 0; /* strtod would accept "inf", "nan", hex */
  *value = kaon_decimal_strtod(s, &end);
  if (end == s || *end != '\0' || !isfinite(*value)) return 0;
  const char *point = strchr(s, '.'), *exponent = strpbrk(s, "eE");
  const char *mantissa_end = exponent ? exponent : s + strlen(s);
  int decimals = point ? (int)(mantissa_end - point - 1) : 0;
  int power = exponent ? atoi(exponent + 1) : 0;
  *last_digit = pow(10.0, power - decimals);
  return 1;
}

/* ---- parsing ---- */

/* Namespace and local name, as expat joins them. No name may contain it. */
#define SEPARATOR '\n'

typedef struct builder {
  XML_Parser parser;
  kaon_xml *xml;
  size_t room;
  int depth;           /* of open elements */
  int children;        /* so far */
  int keeps;           /* text belongs to the pool's last string */
  char *namespace;     /* the outermost element's name up to its local part */
  const char *refusal; /* NULL: none */
} builder;

static void refuse(builder *b, const char *why) {
  if (b->refusal == NULL) b->refusal = why;
  XML_StopParser(b->parser, XML_FALSE);
}

static void append(builder *b, const char *text, size_t n) {
  kaon_xml *xml = b->xml;
  if (b->refusal != NULL) return;
  if (xml->length + n > KAON_XML_MAX) {
    refuse(b, "its text is longer than 16 MiB");
    return;
  }
  if (xml->length + n > b->room) {
    const size_t room = 2 * (xml->length + n);
    char *pool = realloc(xml->pool, room);
    if (pool == NULL) {
      refuse(b, "");
      return;
    }
    xml->pool = pool;
    b->room = room;
  }
  memcpy(xml->pool + xml->length, text, n);
  xml->length += n;
}

/* Ends the pool's last string, and begins that of an element. */
static void begin_string(builder *b, const char *name) {
  if (b->xml->length > 0) append(b, "", 1);
  append(b, name, strlen(name) + 1);
  b->keeps = 1;
}

static void XMLCALL element_begins(void *user, const char *name, const char **attributes) {
  (void)attributes;
  builder *b = user;
  const char *separator = strrchr(name, SEPARATOR), *local = separator ? separator + 1 : name;
  const size_t length = (size_t)(local - name);
  const int depth = b->depth++;
  if (depth == 0) {
    b->namespace = strndup(name, length);
    if (b->namespace == NULL) refuse(b, "");
    begin_string(b, local);
  } else if (depth == 1) {
    b->keeps = strlen(b->namespace) == length && memcmp(b->namespace, name, length) == 0;
    if (b->keeps) begin_string(b, local);
    b->children += b->keeps;
  }
}

static void XMLCALL element_ends(void *user, const char *name) {
  (void)name;
  builder *b = user;
  b->depth--;
  if (b->depth == 1) b->keeps = b->children == 0;
}

static void XMLCALL take_text(void *user, const char *text, int n) {
  builder *b = user;
  if (b->keeps) append(b, text, (size_t)n);
}

static int XMLCALL refuse_external(XML_Parser parser, const char *context, const char *base,
                                   const char *system, const char *public) {
  (void)parser, (void)context, (void)base, (void)system, (void)public;
  return XML_STATUS_ERROR;
}

static void XMLCALL refuse_skipped(void *user, const char *name, int parameter) {
  (void)name, (void)parameter;
  refuse(user, "it needs a document type (DTD) outside the file");
}

/* Cuts the text at its first NUL, and what is blank before it. Returns the number of lines left
 * out. Units of UTF-16 have two bytes, of which one is 0 in the letters of markup. */
static unsigned long cut(kaon_text *t) {
  const unsigned char *p = (const unsigned char *)t->at;
  unsigned long lines = 0;
  size_t n = 0;
  const int mark = t->length > 1 && (p[0] ^ p[1]) == 1 && p[0] >= 0xfe;
  if (mark || (t->length > 1 && (p[0] == 0) != (p[1] == 0))) {
    while (n + 1 < t->length && (p[n] != 0 || p[n + 1] != 0)) n += 2;
    t->length = n;
    return 0;
  }
  if (t->length > 2 && memcmp(p, "\xef\xbb\xbf", 3) == 0) t->at += 3, t->length -= 3;
  t->length = strnlen(t->at, t->length);
  for (; t->length && is_blank(t->at[0]); t->at++, t->length--) lines += t->at[0] == '\n';
  return lines;
}

int kaon_xml_begins(const char *text, size_t length) {
  kaon_text t = {text, length};
  cut(&t);
  const size_t mark = t.length > 2 && (unsigned char)t.at[0] >= 0xfe ? 2 : 0;
  const char *p = t.at + mark;
  return t.length > mark && (p[0] == '<' || (t.length > mark + 1 && p[0] == '\0' && p[1] == '<'));
}

static kaon_status refusal(const kaon_context *ctx, const char *where, const builder *b,
                           unsigned long lines) {
  const enum XML_Error code = XML_GetErrorCode(b->parser);
  if (code == XML_ERROR_NO_MEMORY || (b->refusal != NULL && b->refusal[0] == '\0'))
    return kaon_fail(ctx, KAON_ERR_MEMORY, "%s: out of memory for its XML", where);
  return kaon_fail(
      ctx, KAON_ERR_FORMAT, "%s is no well-formed XML: line %lu, column %lu: %s; get a sound copy",
      where, lines + XML_GetCurrentLineNumber(b->parser), XML_GetCurrentColumnNumber(b->parser) + 1,
      b->refusal != NULL ? b->refusal : XML_ErrorString(code));
}

kaon_status kaon_xml_parse(const kaon_context *ctx, const char *where, const char *text,
                           size_t length, kaon_xml *xml) {
  /* A text of some kilobytes has no use for more. */
  enum { FREELY_EXPANDED = 1 << 16, EXPANSION = 10 };
  builder b = {.xml = xml};
  kaon_text t = {text, length};
  *xml = (kaon_xml){NULL, 0};
  if (length > KAON_XML_MAX)
    return kaon_fail(ctx, KAON_ERR_FORMAT, "%s has %zu bytes, but XML is read up to 16 MiB", where,
                     length);
  const unsigned long lines = cut(&t);
  b.parser = XML_ParserCreateNS(NULL, SEPARATOR);
  if (b.parser == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "%s: out of memory", where);
  XML_SetUserData(b.parser, &b);
  XML_SetElementHandler(b.parser, element_begins, element_ends);
  XML_SetCharacterDataHandler(b.parser, take_text);
  XML_SetExternalEntityRefHandler(b.parser, refuse_external);
  XML_SetSkippedEntityHandler(b.parser, refuse_skipped);
  XML_SetBillionLaughsAttackProtectionActivationThreshold(b.parser, FREELY_EXPANDED);
  XML_SetBillionLaughsAttackProtectionMaximumAmplification(b.parser, EXPANSION);
  kaon_status status = KAON_OK;
  if (XML_Parse(b.parser, t.at, (int)t.length, 1) != XML_STATUS_OK)
    status = refusal(ctx, where, &b, lines);
  else
    append(&b, "", 1);
  if (status == KAON_OK && b.refusal != NULL) status = refusal(ctx, where, &b, lines);
  if (status != KAON_OK) kaon_xml_free(xml);
  XML_ParserFree(b.parser);
  free(b.namespace);
  return status;
}

void kaon_xml_free(kaon_xml *xml) {
  free(xml->pool);
  *xml = (kaon_xml){NULL, 0};
}

const char *kaon_xml_root(const kaon_xml *xml) {
  return xml->pool != NULL ? xml->pool : "";
}

/* The text of the next element of this name from `at` on, and where to look for another one. */
static const char *next_text(const kaon_xml *xml, const char *name, const char **at) {
  const char *end = xml->pool + xml->length;
  while (*at < end) {
    const char *found = *at, *text = found + strlen(found) + 1;
    *at = text + strlen(text) + 1;
    if (name == NULL || strcmp(found, name) == 0) return text;
  }
  return NULL;
}

int kaon_xml_find(const kaon_xml *xml, const char *name, kaon_text *content) {
  const char *at = xml->pool, *text = NULL;
  *content = (kaon_text){"", 0};
  if (xml->pool == NULL) return 0;
  if (name != NULL) next_text(xml, NULL, &at); /* children only */
  text = next_text(xml, name, &at);
  if (text != NULL) *content = kaon_text_trim((kaon_text){text, strlen(text)});
  return text != NULL;
}

/* As kaon_xml_find; -1 if another child of this name has another text. */
static int find_one(const kaon_xml *xml, const char *name, kaon_text *content) {
  const char *at, *text;
  if (!kaon_xml_find(xml, name, content)) return 0;
  at = content->at + content->length;
  at += strlen(at) + 1;
  while ((text = next_text(xml, name, &at)) != NULL) {
    const kaon_text other = kaon_text_trim((kaon_text){text, strlen(text)});
    if (other.length != content->length || memcmp(other.at, content->at, other.length) != 0)
      return -1;
  }
  return 1;
}

/* ---- values ---- */

int kaon_xml_integers(const kaon_xml *xml, const char *name, int64_t *values, int max) {
  kaon_text t;
  int n = 0;
  const int found = find_one(xml, name, &t);
  if (found != 1) return found - 1;
  for (; t.length; t = kaon_text_trim(t)) {
    kaon_text word = {t.at, 0};
    while (word.length < t.length && !is_blank(t.at[word.length])) word.length++;
    if (n == max || !kaon_text_integer(word, &values[n])) return -2;
    n++;
    t.at += word.length;
    t.length -= word.length;
  }
  return n;
}

int kaon_xml_integer(const kaon_xml *xml, const char *name, int64_t *value) {
  int n = kaon_xml_integers(xml, name, value, 1);
  return n == 1 ? 1 : n == -1 ? 0 : -1;
}

int kaon_xml_hex32(const kaon_xml *xml, const char *name, uint32_t *value) {
  kaon_text t;
  const int found = find_one(xml, name, &t);
  return found == 1 && !kaon_text_hex32(t, value) ? -1 : found;
}

int kaon_xml_decimal(const kaon_xml *xml, const char *name, double *value, double *last_digit) {
  kaon_text t;
  const int found = find_one(xml, name, &t);
  return found == 1 && !kaon_text_decimal(t, value, last_digit) ? -1 : found;
}

void kaon_xml_string(const kaon_xml *xml, const char *name, char *to, size_t to_size) {
  kaon_text t;
  kaon_xml_find(xml, name, &t);
  size_t n = t.length < to_size - 1 ? t.length : to_size - 1;
  while (n > 0 && n < t.length && (t.at[n] & 0xc0) == 0x80) n--; /* whole characters */
  memcpy(to, t.at, n);
  to[n] = '\0';
}

static const struct {
  char plain;
  const char *entity;
} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
enum { ENTITIES = sizeof entities / sizeof entities[0] };

size_t kaon_xml_escape(const char *text, char *to, size_t to_size) {
  size_t n = 0;
  while (*text) {
    const size_t length = kaon_utf8_length(text);
    char one[8] = {' '}; /* XML 1.0 forbids other control characters, and bytes that are no UTF-8 */
    if (length > 0) memcpy(one, text, length);
    if ((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t') one[0] = ' ';
    const char *out = one;
    for (int i = 0; i < ENTITIES; i++) {
      if (*text == entities[i].plain) out = entities[i].entity;
    }
    for (; *out; out++, n++) {
      if (n + 1 < to_size) to[n] = *out;
    }
    text += length > 0 ? length : 1;
  }
  if (to_size) to[n < to_size ? n : to_size - 1] = '\0';
  return n;
}

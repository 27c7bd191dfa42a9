/* xml.c - Contract: xml.h. */
#include "lib/io/xml.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Finds "<tag" or "</tag" followed by a blank, '/' or '>' in [from, end); NULL if there is none. */
static const char *find_tag(const char *from, const char *end, const char *tag, int closing) {
  size_t n = strlen(tag);
  while (from < end && (from = memchr(from, '<', (size_t)(end - from)))) {
    const char *name = from + 1;
    if (closing && name < end && *name == '/')
      name++;
    else if (closing)
      name = end;
    if ((size_t)(end - name) > n && memcmp(name, tag, n) == 0 &&
        (is_blank(name[n]) || name[n] == '>' || name[n] == '/')) {
      return from;
    }
    from++;
  }
  return NULL;
}

int kaon_xml_find(kaon_text xml, const char *tag, kaon_text *content) {
  const char *end = xml.at + xml.length;
  const char *open = find_tag(xml.at, end, tag, 0);
  if (!open) return 0;
  const char *start = memchr(open, '>', (size_t)(end - open));
  if (!start) return 0;
  content->at = start + 1;
  content->length = 0;
  if (start[-1] == '/') return 1; /* <tag/> */
  const char *close = find_tag(start + 1, end, tag, 1);
  if (!close) return 0;
  content->length = (size_t)(close - content->at);
  return 1;
}

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

int kaon_xml_integers(kaon_text xml, const char *tag, int64_t *values, int max) {
  kaon_text t;
  if (!kaon_xml_find(xml, tag, &t)) return -1;
  int n = 0;
  for (t = kaon_text_trim(t); t.length; t = kaon_text_trim(t)) {
    kaon_text word = {t.at, 0};
    while (word.length < t.length && !is_blank(t.at[word.length])) word.length++;
    if (n == max || !kaon_text_integer(word, &values[n])) return -2;
    n++;
    t.at += word.length;
    t.length -= word.length;
  }
  return n;
}

int kaon_xml_integer(kaon_text xml, const char *tag, int64_t *value) {
  int n = kaon_xml_integers(xml, tag, value, 1);
  return n == 1 ? 1 : n == -1 ? 0 : -1;
}

int kaon_text_hex32(kaon_text t, uint32_t *value) {
  char s[64], *end;
  if (!token(kaon_text_trim(t), s) || !isxdigit((unsigned char)s[0])) return 0;
  unsigned long long v = strtoull(s, &end, 16);
  if (*end != '\0' || v > UINT32_MAX) return 0;
  *value = (uint32_t)v;
  return 1;
}

int kaon_xml_hex32(kaon_text xml, const char *tag, uint32_t *value) {
  kaon_text t;
  if (!kaon_xml_find(xml, tag, &t)) return 0;
  return kaon_text_hex32(t, value) ? 1 : -1;
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

int kaon_xml_decimal(kaon_text xml, const char *tag, double *value, double *last_digit) {
  kaon_text t;
  if (!kaon_xml_find(xml, tag, &t)) return 0;
  return kaon_text_decimal(t, value, last_digit) ? 1 : -1;
}

void kaon_xml_string(kaon_text xml, const char *tag, char *to, size_t to_size) {
  kaon_text t = {"", 0};
  kaon_xml_find(xml, tag, &t);
  t = kaon_text_trim(t);
  size_t n = t.length < to_size - 1 ? t.length : to_size - 1;
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
  for (; *text; text++) {
    char c = *text;
    if ((unsigned char)c < 0x20 && c != '\n' && c != '\t') c = ' '; /* XML 1.0 forbids the others */
    char one[2] = {c, '\0'};
    const char *out = one;
    for (int i = 0; i < ENTITIES; i++) {
      if (c == entities[i].plain) out = entities[i].entity;
    }
    for (; *out; out++, n++) {
      if (n + 1 < to_size) to[n] = *out;
    }
  }
  if (to_size) to[n < to_size ? n : to_size - 1] = '\0';
  return n;
}

void kaon_xml_unescape(kaon_text text, char *to, size_t to_size) {
  size_t n = 0, i = 0;
  while (i < text.length && text.at[i] != '\0' && n + 1 < to_size) {
    char c = text.at[i];
    size_t step = 1;
    for (int e = 0; c == '&' && e < ENTITIES; e++) {
      size_t length = strlen(entities[e].entity);
      if (text.length - i >= length && memcmp(text.at + i, entities[e].entity, length) == 0) {
        c = entities[e].plain;
        step = length;
      }
    }
    to[n++] = c;
    i += step;
  }
  to[n] = '\0';
}

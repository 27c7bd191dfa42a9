/* rational_file.c - coefficients of rational approximations from text (kaon/multishift.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/io/decimal.h"
#include "solvers/shifts/rational_file.h"
#include "lib/core/entry.h"

enum { MOST_BYTES = 1 << 20, WORD = 32 };

typedef struct reader {
  const kaon_context *ctx;
  const char *name, *at, *end;
  int line;
} reader;

double kaon_rational_value(const kaon_rational *r, double x) {
  if (r == NULL) return NAN;
  double sum = r->constant;
  for (int i = 0; i < r->terms; i++) sum += r->residue[i] / (x + r->pole[i]);
  return sum;
}

/* ---- words ---- */

static int is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* 1 at the end of the text, too. */
static int word_ends(const reader *r, const char *at) {
  return at == r->end || is_blank(*at) || *at == '#';
}

static void skip(reader *r) {
  int comment = 0;
  for (; r->at < r->end; r->at++) {
    if (*r->at == '#') comment = 1;
    if (*r->at == '\n') {
      comment = 0;
      r->line++;
    }
    if (!comment && !is_blank(*r->at)) return;
  }
}

/* The next word in printable form, for messages. */
static const char *next_word(const reader *r, char text[WORD]) {
  const char *e = r->at;
  while (!word_ends(r, e)) e++;
  if (e == r->at) return strcpy(text, "the end of the file");
  return kaon_printable(r->at, (size_t)(e - r->at), text, WORD);
}

static kaon_status expect(reader *r, const char *word) {
  char found[WORD];
  const size_t length = strlen(word);
  skip(r);
  const int here = (size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0 &&
                   word_ends(r, r->at + length);
  if (!here)
    return kaon_fail(
        r->ctx, KAON_ERR_FORMAT,
        "%s, line %d: \"%s\" is expected, found %s; see kaon/multishift.h for the form", r->name,
        r->line, word, next_word(r, found));
  r->at += length;
  return KAON_OK;
}

static kaon_status number(reader *r, const char *what, double *value) {
  char found[WORD];
  skip(r);
  next_word(r, found);
  const kaon_decimal kind = kaon_decimal_read(&r->at, r->end, value);
  if ((kind != KAON_DECIMAL_WHOLE && kind != KAON_DECIMAL_FRACTION) || !word_ends(r, r->at))
    return kaon_fail(r->ctx, KAON_ERR_FORMAT, "%s, line %d: %s is expected, a number, found %s",
                     r->name, r->line, what, found);
  return KAON_OK;
}

static kaon_status named(reader *r, const char *word, double *value) {
  KAON_TRY(expect(r, word));
  return number(r, word, value);
}

static kaon_status parse(reader *r, kaon_rational *q) {
  double version, terms;
  KAON_TRY(named(r, "kaon-rational", &version));
  if (version != 1)
    return kaon_fail(r->ctx, KAON_ERR_FORMAT,
                     "%s: version %g of the form is not known, only 1 is; write it anew with this "
                     "kaon's scripts/rational_approximation.py",
                     r->name, version);
  KAON_TRY(named(r, "power", &q->power));
  KAON_TRY(named(r, "interval", &q->lo));
  KAON_TRY(number(r, "the interval's end", &q->hi));
  KAON_TRY(named(r, "error", &q->error));
  KAON_TRY(named(r, "constant", &q->constant));
  KAON_TRY(named(r, "terms", &terms));
  if (!(terms >= 1 && terms <= KAON_MULTISHIFT_MAX) || terms != floor(terms))
    return kaon_fail(r->ctx, KAON_ERR_FORMAT, "%s, line %d: %g terms, but 1 to %d are supported",
                     r->name, r->line, terms, (int)KAON_MULTISHIFT_MAX);
  q->terms = (int)terms;
  for (int i = 0; i < q->terms; i++) {
    KAON_TRY(number(r, "a residue", &q->residue[i]));
    KAON_TRY(number(r, "a pole", &q->pole[i]));
  }
  skip(r);
  char found[WORD];
  if (r->at < r->end)
    return kaon_fail(r->ctx, KAON_ERR_FORMAT, "%s, line %d: %s follows the last of %d terms",
                     r->name, r->line, next_word(r, found), q->terms);
  return KAON_OK;
}

/* Compares r(x) with x^power, evenly in log x, to find wrong digits or signs. */
static kaon_status check(const reader *r, const kaon_rational *q) {
  enum { POINTS = 2000 };
  double worst = 0, at = q->lo;
  if (!(q->lo > 0 && q->hi > q->lo && q->error >= 0))
    return kaon_fail(r->ctx, KAON_ERR_FORMAT,
                     "%s: interval %g to %g with error %g; 0 < LO < HI and an error of 0 or more "
                     "are needed",
                     r->name, q->lo, q->hi, q->error);
  for (int i = 0; i < q->terms; i++)
    if (!(q->pole[i] > -q->lo))
      return kaon_fail(r->ctx, KAON_ERR_FORMAT,
                       "%s: pole %d is %g, so that x + pole is 0 or negative on the interval from "
                       "%g; poles must be above %g",
                       r->name, i, q->pole[i], q->lo, -q->lo);
  for (int i = 0; i <= POINTS; i++) {
    const double x = q->lo * pow(q->hi / q->lo, (double)i / POINTS);
    const double off = fabs(kaon_rational_value(q, x) / pow(x, q->power) - 1);
    if (!(off <= worst)) worst = off, at = x;
  }
  if (!(worst <= 1.01 * q->error + 1e-13))
    return kaon_fail(r->ctx, KAON_ERR_FORMAT,
                     "%s: at x = %g the terms differ from x^%g by %.3g of it, but the file says at "
                     "most %.3g; a coefficient is wrong",
                     r->name, at, q->power, worst, q->error);
  return KAON_OK;
}

kaon_status kaon_rational_from_bytes(const kaon_context *ctx, const kaon_bytes *bytes,
                                     kaon_rational *result) {
  kaon_rational q = {0};
  if (bytes->size > MOST_BYTES)
    return kaon_fail(ctx, KAON_ERR_FORMAT, "%s: %lld bytes are too many for coefficients",
                     bytes->name, (long long)bytes->size);
  KAON_AUTOFREE char *text = malloc((size_t)bytes->size + 1);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, text != NULL, "%s: out of host memory for it", bytes->name));
  KAON_TRY(kaon_bytes_read(ctx, bytes, 0, (size_t)bytes->size, text));
  reader r = {ctx, bytes->name, text, text + bytes->size, 1};
  KAON_TRY(parse(&r, &q));
  KAON_TRY(check(&r, &q));
  *result = q;
  return KAON_OK;
}

kaon_status kaon_rational_read(kaon_context *ctx, const char *path, kaon_rational *r) {
  KAON_ENTER(ctx, path, r);
  kaon_bytes bytes;
  KAON_TRY(kaon_bytes_open(ctx, path, &bytes));
  const kaon_status status = kaon_rational_from_bytes(ctx, &bytes, r);
  kaon_bytes_close(&bytes);
  return status;
}

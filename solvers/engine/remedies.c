/* remedies.c - what may get further where a process ended without a solution: the one table that
 * messages and programs read. */
#include <kaon/solver.h>

#include <string.h>

/* Conditions of a row; all must hold. */
enum {
  ENTRIES = 1,  /* preconditioners can be made of A's entries */
  PRODUCTS = 2, /* products with A are all there is */
  COARSE = 4,   /* the inner process is not in double */
  HERMITIAN = 8,
  GENERAL = 16,   /* not Hermitian */
  DEFINITE = 32,  /* nothing has shown that A is not positive definite */
  INDEFINITE = 64 /* the breakdown has */
};
enum { SAME = -1 };

typedef struct row {
  unsigned needs;
  int method;          /* SAME: the failure's */
  const char *precond; /* NULL: the failure's */
  int in_double;       /* 0: in the failure's precision */
} row;

/* Rounding first, then factors of the same kind of process, then processes that need less of A.
 * CG on the normal equations breaks down for no regular A, and needs the most steps. */
static const row rows[] = {{ENTRIES | COARSE, SAME, NULL, 1},
                           {ENTRIES | HERMITIAN | DEFINITE, KAON_CG, "ic0", 1},
                           {ENTRIES | HERMITIAN | INDEFINITE, KAON_BICGSTAB, NULL, 1},
                           {ENTRIES, KAON_BICGSTAB, "ilu0", 1},
                           {ENTRIES, KAON_GCR, "ilu0", 1},
                           {ENTRIES, KAON_BICGSTAB, "none", 1},
                           {ENTRIES, KAON_CGNR, "none", 1},
                           {PRODUCTS | HERMITIAN | DEFINITE, KAON_CG, "none", 0},
                           {PRODUCTS | GENERAL, KAON_CGNR, "none", 0},
                           {PRODUCTS | HERMITIAN | DEFINITE | COARSE, KAON_CG, "none", 1},
                           {PRODUCTS | HERMITIAN | INDEFINITE, KAON_CGNR, "none", 1},
                           {PRODUCTS | GENERAL | COARSE, KAON_CGNR, "none", 1}};

static unsigned known_of(const kaon_failure *f) {
  const int indefinite =
      f->reason == KAON_BREAKDOWN && f->breakdown == KAON_BREAKDOWN_OPERATOR && f->hermitian;
  return (f->entries ? ENTRIES : PRODUCTS) | (f->sloppy != KAON_DOUBLE ? COARSE : 0) |
         (f->hermitian ? HERMITIAN : GENERAL) | (indefinite ? INDEFINITE : DEFINITE);
}

static int is_same(const kaon_remedy *a, kaon_method method, const char *precond,
                   kaon_precision sloppy) {
  return a->method == method && a->sloppy == sloppy && strcmp(a->precond, precond) == 0;
}

int kaon_remedies(const kaon_failure *f, kaon_remedy remedies[KAON_REMEDIES]) {
  int count = 0;
  if (f == NULL || f->precond == NULL || remedies == NULL) return 0;
  if (f->reason != KAON_STAGNATED && f->reason != KAON_BREAKDOWN && f->reason != KAON_DIVERGING)
    return 0;
  const unsigned known = known_of(f);
  for (size_t i = 0; i < sizeof rows / sizeof *rows && count < KAON_REMEDIES; i++) {
    const row *r = &rows[i];
    const kaon_remedy next = {r->method == SAME ? f->method : (kaon_method)r->method,
                              r->precond == NULL ? f->precond : r->precond,
                              r->in_double ? KAON_DOUBLE : f->sloppy};
    int old = is_same(&next, f->method, f->precond, f->sloppy);
    for (int k = 0; k < count; k++)
      old |= is_same(&remedies[k], next.method, next.precond, next.sloppy);
    if ((r->needs & ~known) == 0 && !old) remedies[count++] = next;
  }
  return count;
}

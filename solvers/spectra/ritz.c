/* ritz.c - dense problems of a few rows: Cholesky factors, Jacobi rotations for Hermitian
 * eigenvalues, Gaussian elimination with complete pivoting (Golub, Van Loan, Matrix Computations,
 * 4th edition, 4.2, 8.5, 3.4). They are a few lines each. LAPACK would be a dependency for this
 * alone, and its bits differ between machines. */
#include "solvers/spectra/ritz.h"

#include <math.h>
#include <string.h>

enum { MAX = KAON_RITZ_MAX };

/* l: the lower factor of g, for the independent rows, which `rows` lists. Returns their number. */
static int factor(int n, const kaon_z *g, double dependent, kaon_z *l, int *rows) {
  int m = 0;
  for (int i = 0; i < n; i++) {
    const double diagonal = creal(g[i * n + i]);
    double left = diagonal;
    for (int j = 0; j < m; j++) {
      kaon_z x = g[i * n + rows[j]];
      for (int k = 0; k < j; k++) x -= l[m * MAX + k] * conj(l[j * MAX + k]);
      x /= creal(l[j * MAX + j]);
      l[m * MAX + j] = x;
      left -= creal(x) * creal(x) + cimag(x) * cimag(x);
    }
    if (!(diagonal > 0) || !(left > dependent * diagonal)) continue;
    l[m * MAX + m] = sqrt(left);
    rows[m++] = i;
  }
  return m;
}

/* x = l^-1 x, x = l^-dagger x; `stride` from entry to entry. */
static void forward(int m, const kaon_z *l, kaon_z *x, int stride) {
  for (int i = 0; i < m; i++) {
    for (int k = 0; k < i; k++) x[i * stride] -= l[i * MAX + k] * x[k * stride];
    x[i * stride] /= creal(l[i * MAX + i]);
  }
}

static void backward(int m, const kaon_z *l, kaon_z *x, int stride) {
  for (int i = m - 1; i >= 0; i--) {
    for (int k = i + 1; k < m; k++) x[i * stride] -= conj(l[k * MAX + i]) * x[k * stride];
    x[i * stride] /= creal(l[i * MAX + i]);
  }
}

void kaon_ritz_solve(int n, const kaon_z *g, double dependent, kaon_z *c) {
  kaon_z l[MAX * MAX], x[MAX];
  int rows[MAX];
  const int m = factor(n, g, dependent, l, rows);
  for (int i = 0; i < m; i++) x[i] = c[rows[i]];
  forward(m, l, x, 1);
  backward(m, l, x, 1);
  memset(c, 0, (size_t)n * sizeof *c);
  for (int i = 0; i < m; i++) c[rows[i]] = x[i];
}

/* Rotates columns p and q, and rows since a is Hermitian, so that a_pq = 0. */
static void rotate(int m, kaon_z *a, kaon_z *u, int p, int q) {
  const double size = cabs(a[p * MAX + q]);
  if (size == 0) return;
  const kaon_z phase = a[p * MAX + q] / size;
  const double half = (creal(a[q * MAX + q]) - creal(a[p * MAX + p])) / (2 * size);
  const double t = (half < 0 ? -1 : 1) / (fabs(half) + sqrt(half * half + 1));
  const double c = 1 / sqrt(t * t + 1), s = t * c;
  for (int i = 0; i < m; i++) {
    const kaon_z x = a[i * MAX + p], y = a[i * MAX + q] * conj(phase);
    a[i * MAX + p] = c * x - s * y;
    a[i * MAX + q] = s * x + c * y;
    const kaon_z v = u[i * MAX + p], w = u[i * MAX + q] * conj(phase);
    u[i * MAX + p] = c * v - s * w;
    u[i * MAX + q] = s * v + c * w;
  }
  for (int i = 0; i < m; i++) {
    const kaon_z x = a[p * MAX + i], y = a[q * MAX + i] * phase;
    a[p * MAX + i] = c * x - s * y;
    a[q * MAX + i] = s * x + c * y;
  }
}

/* Makes a diagonal; the columns of u are its eigenvectors. */
static void diagonalise(int m, kaon_z *a, kaon_z *u) {
  memset(u, 0, MAX * MAX * sizeof *u);
  for (int i = 0; i < m; i++) u[i * MAX + i] = 1;
  for (int sweep = 0; sweep < 40; sweep++) {
    double off = 0, all = 0;
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++) {
        const double size = cabs(a[i * MAX + j]);
        all += size * size;
        off += i != j ? size * size : 0;
      }
    if (!(off > 1e-30 * all)) return;
    for (int p = 0; p < m; p++)
      for (int q = p + 1; q < m; q++) rotate(m, a, u, p, q);
  }
}

/* v has n rows and `keep` columns. It becomes another basis of the same space, in which the rows
 * kept[0], kept[1], ... are those of the identity. */
static void eliminate(int n, int keep, kaon_z *v, int *kept) {
  int column[MAX];
  for (int k = 0; k < keep; k++) {
    int row = 0, free = 0;
    double most = -1;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < keep; j++) {
        int taken = 0;
        for (int l = 0; l < k; l++) taken |= kept[l] == i || column[l] == j;
        if (taken || !(cabs(v[i * keep + j]) > most)) continue;
        most = cabs(v[i * keep + j]);
        row = i;
        free = j;
      }
    kept[k] = row;
    column[k] = free;
    const kaon_z pivot = v[row * keep + free];
    for (int i = 0; i < n; i++) v[i * keep + free] /= pivot;
    for (int j = 0; j < keep; j++) {
      const kaon_z share = v[row * keep + j];
      for (int i = 0; i < n && j != free; i++) v[i * keep + j] -= share * v[i * keep + free];
    }
  }
  for (int i = 0; i < n; i++) { /* columns in the order of kept */
    kaon_z sorted[MAX];
    for (int k = 0; k < keep; k++) sorted[k] = v[i * keep + column[k]];
    memcpy(v + i * keep, sorted, (size_t)keep * sizeof *v);
  }
}

/* The vectors are first scaled to length 1 in b. */
int kaon_ritz_choose(int n, const kaon_z *g, const kaon_z *b, double dependent, int keep, int *kept,
                     kaon_z *w, double *least) {
  kaon_z scaled[MAX * MAX], l[MAX * MAX], a[MAX * MAX], u[MAX * MAX];
  double scale[MAX];
  int rows[MAX], order[MAX];
  for (int i = 0; i < n; i++)
    scale[i] = creal(b[i * n + i]) > 0 ? 1 / sqrt(creal(b[i * n + i])) : 0;
  for (int i = 0; i < n * n; i++) scaled[i] = b[i] * scale[i / n] * scale[i % n];
  const int m = factor(n, scaled, dependent, l, rows);
  if (keep > m) keep = m;
  if (keep == 0) return 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++)
      a[i * MAX + j] = g[rows[i] * n + rows[j]] * scale[rows[i]] * scale[rows[j]];
  for (int j = 0; j < m; j++) forward(m, l, a + j, MAX); /* l^-1 a, then the same for its adjoint */
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++) a[i * MAX + j] = conj(a[i * MAX + j]);
    forward(m, l, a + i * MAX, 1);
    for (int j = 0; j < m; j++) a[i * MAX + j] = conj(a[i * MAX + j]);
  }
  diagonalise(m, a, u);
  for (int i = 0; i < m; i++) {
    int at = i;
    for (; at > 0 && creal(a[order[at - 1] * (MAX + 1)]) > creal(a[i * (MAX + 1)]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  *least = creal(a[order[0] * (MAX + 1)]);
  memset(w, 0, (size_t)(n * keep) * sizeof *w);
  for (int k = 0; k < keep; k++) {
    backward(m, l, u + order[k], MAX);
    for (int i = 0; i < m; i++) w[rows[i] * keep + k] = u[i * MAX + order[k]];
  }
  eliminate(n, keep, w, kept); /* for vectors of length 1 */
  for (int i = 0; i < n; i++)
    for (int k = 0; k < keep; k++) w[i * keep + k] *= scale[i] / scale[kept[k]];
  for (int k = 0; k < keep; k++)
    for (int j = 0; j < keep; j++) w[kept[k] * keep + j] = 0;
  return keep;
}

/* w^dagger m w, where the kept rows of w are those of the identity. */
void kaon_ritz_restrict(int n, int keep, const int *kept, const kaon_z *w, kaon_z *m) {
  kaon_z full[MAX * MAX], half[MAX * MAX];
  memcpy(full, w, (size_t)(n * keep) * sizeof *w);
  for (int k = 0; k < keep; k++) full[kept[k] * keep + k] = 1;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < keep; k++) {
      half[i * keep + k] = 0;
      for (int j = 0; j < n; j++) half[i * keep + k] += m[i * n + j] * full[j * keep + k];
    }
  for (int l = 0; l < keep; l++)
    for (int k = 0; k < keep; k++) {
      kaon_z sum = 0;
      for (int i = 0; i < n; i++) sum += conj(full[i * keep + l]) * half[i * keep + k];
      m[kept[l] * n + kept[k]] = sum;
    }
}

/* domain_wall.h - the site term of the domain-wall operator (Shamir) between the ls sites of the fifth
 * dimension: T = P+ T+ + P- T-, where
 *
 *   T+_st = a delta_st - delta_s,t+1, but +mass in place of -1 from t = ls - 1 to s = 0
 *
 * with a = 5 - m5, and T- is its transpose. Sources: Shamir, Nucl. Phys. B 406 (1993) 90; Furman,
 * Shamir, Nucl. Phys. B 439 (1995) 54. */
#ifndef KAON_LIB_MATH_DOMAIN_WALL_H
#define KAON_LIB_MATH_DOMAIN_WALL_H

/* x^n, n >= 0 */
static inline double domain_wall_power(double x, int n) {
  double y = 1;
  for (int i = 0; i < n; i++) y *= x;
  return y;
}

/* T+_st */
static inline double domain_wall_term(double a, double mass, int ls, int s, int t) {
  const double diagonal = s == t ? a : 0;
  if (s == t + 1) return diagonal - 1;
  return s == 0 && t == ls - 1 ? diagonal + mass : diagonal;
}

/* det T+ = a^ls + mass */
static inline double domain_wall_determinant(double a, double mass, int ls) {
  return domain_wall_power(a, ls) + mass;
}

/* (T+^-1)_st: a step forward in s divides by a, and the way round has the factor -mass. */
static inline double domain_wall_inverse(double a, double mass, int ls, int s, int t) {
  const double det = domain_wall_determinant(a, mass, ls);
  return s >= t ? domain_wall_power(a, ls - 1 - (s - t)) / det
                : -mass * domain_wall_power(a, t - s - 1) / det;
}

#endif

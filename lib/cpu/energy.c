/* energy.c - the energy counters of the processor packages, from Linux powercap. It serves Intel
 * and AMD processors. Since Linux 5.10 usually only root may read it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/cpu/backend.h"

/* Returns 1 if the value was read, 0 if the file does not exist or may not be read. */
static int read_word(int zone, const char *file, const char *format, void *value) {
  char path[80];
  snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/%s", zone, file);
  FILE *from = fopen(path, "r");
  if (from == NULL) return 0;
  const int read = fscanf(from, format, value);
  fclose(from);
  return read == 1;
}

double kaon_cpu_energy(kaon_context *ctx) {
  enum { ZONES = 64 };
  char name[32];
  unsigned long long microjoules = 0;
  double sum = 0;
  int packages = 0;
  (void)ctx;
  for (int zone = 0; zone < ZONES && read_word(zone, "name", "%31s", name); zone++) {
    if (strncmp(name, "package", 7) != 0) continue; /* "psys" includes the packages */
    if (!read_word(zone, "energy_uj", "%llu", &microjoules)) return NAN;
    sum += 1e-6 * (double)microjoules;
    packages++;
  }
  return packages > 0 ? sum : NAN;
}

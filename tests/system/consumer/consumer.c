/* consumer.c - a C application: the plaquette of the unit field is 1. */
#include <stdio.h>

#include <kaon/kaon.h>

int main(void) {
  const int extents[4] = {4, 4, 4, 4};
  kaon_context *ctx = NULL;
  kaon_lattice *lattice = NULL;
  kaon_gauge *links = NULL;
  kaon_observables seen = KAON_OBSERVABLES_INIT;
  kaon_status status = kaon_context_create(NULL, &ctx);
  if (status == KAON_OK) status = kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice);
  if (status == KAON_OK)
    status = kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &links);
  if (status == KAON_OK) status = kaon_gauge_measure(links, &seen);
  if (status != KAON_OK) fprintf(stderr, "%s\n", kaon_last_error(ctx));
  printf("kaon %s from C: plaquette %g\n", kaon_version(), seen.plaquette);
  kaon_gauge_destroy(&links);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
  return status == KAON_OK ? 0 : 1;
}

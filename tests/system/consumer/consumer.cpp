// consumer.cpp - a C++17 application: the C interface under unique_ptr.
#include <cstdio>
#include <memory>

#include <kaon/kaon.h>

namespace {
struct release {
  void operator()(kaon_context *p) const {
    kaon_context_destroy(&p);
  }
  void operator()(kaon_lattice *p) const {
    kaon_lattice_destroy(&p);
  }
  void operator()(kaon_gauge *p) const {
    kaon_gauge_destroy(&p);
  }
};
template <class T>
using owned = std::unique_ptr<T, release>;
}  // namespace

int main() {
  const int extents[4] = {4, 4, 4, 4};
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = nullptr;
  kaon_lattice *lattice = nullptr;
  kaon_gauge *links = nullptr;
  kaon_observables seen = KAON_OBSERVABLES_INIT;
  if (kaon_context_create(&options, &ctx) != KAON_OK) return 1;
  owned<kaon_context> own_ctx(ctx);
  if (kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice) != KAON_OK) return 1;
  owned<kaon_lattice> own_lattice(lattice);
  if (kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &links) != KAON_OK) return 1;
  owned<kaon_gauge> own_links(links);
  if (kaon_gauge_measure(links, &seen) != KAON_OK) return 1;
  std::printf("kaon %s from C++: plaquette %g\n", kaon_version(), seen.plaquette);
  return 0;
}

/* scaling_model.h - how long hops and solver steps take on many ranks, fitted to what was measured
 * on a few.
 *
 *   hop   = inside + fixed + face * bytes + max(0, message - inside)      messages hidden
 *   hop   = inside + fixed + face * bytes + message                       not hidden
 *   message = latency + bytes / bandwidth
 *   step  = step on one rank of as many sites + hops * (hop - inside) + sums * sum * log2(ranks)
 *
 * "inside" is the hop of one rank on as many sites as a rank has, measured; bytes are what a rank
 * sends for one hop; "fixed" (one for each precision) and "face" are what the sites at the faces
 * cost besides. Parameters are not negative. Between nodes messages have another latency and
 * bandwidth, and each doubling of the nodes adds that latency to a sum. */
#ifndef KAON_BENCH_SCALING_MODEL_H
#define KAON_BENCH_SCALING_MODEL_H

enum { MODEL_POINTS = 24, MODEL_METHODS = 12 };

/* Measured seconds by sites of a rank: linear in between, proportional above the largest. */
typedef struct model_curve {
  int count;
  double sites[MODEL_POINTS], seconds[MODEL_POINTS];
} model_curve;

/* A place of a measurement or a prediction. */
typedef struct model_place {
  int lattice[4], grid[4], ranks;
} model_place;

typedef struct model_hop {
  model_place at;
  int precision; /* kaon_precision */
  int hidden;    /* messages hidden behind the interior */
  double seconds, fitted;
} model_hop;

typedef struct model_solve {
  model_place at;
  int method;    /* index into model.methods */
  int precision; /* of the inner iteration */
  double seconds, iterations, fitted;
  double sums; /* over ranks, a step */
} model_solve;

typedef struct model_method {
  char name[32];      /* "bicgstab" */
  char precision[32]; /* "double/half" */
  int inner;          /* kaon_precision */
  double hops, sums;  /* with messages, a step */
  double flops;       /* a step and site of the lattice */
  model_curve step;
  int block[4]; /* extents of its domains; 0: as the part of a rank */
  /* Steps of the predicted problem: constant, or with domains exp(a + b log2(sites of a domain)), b
   * <= 0. */
  double steps, growth, at_sites;
  int measured; /* number of sizes of domains measured, 2 at most */
} model_method;

typedef struct model {
  model_curve inside[3];
  double fixed[3], face, latency, per_byte; /* s, s/byte, s, s/byte */
  double sum;                               /* s a doubling of the ranks */
  int methods;
  model_method method[MODEL_METHODS];
} model;

/* The network between nodes of `node` consecutive ranks. */
typedef struct model_network {
  double latency, bandwidth; /* s, bytes/s a rank */
  int node;
} model_network;

double model_sites(const model_place *at); /* of a rank */
void model_add(model_curve *curve, double sites, double seconds);
double model_read(const model_curve *curve, double sites);

/* Fits fixed, face, latency and per_byte to the hops of several ranks, given m->inside. Sets their
 * `fitted`. */
void model_fit_hops(model *m, model_hop *hops, int count);
/* Fits sum to the solves of several ranks, given all before and m->method[].step. Sets their
 * `fitted`. */
void model_fit_solves(model *m, model_solve *solves, int count);
/* Seconds of a hop and of a step of a method; network NULL: all ranks are on one node. */
double model_hop_seconds(const model *m, const model_network *network, const model_place *at,
                         int precision, int hidden);
double model_step_seconds(const model *m, const model_network *network, const model_place *at,
                          const model_method *method, double sums);
int model_in_domains(const model_method *method);
/* Steps of a method there. NaN: a method with domains that was measured on one other size alone. */
double model_steps(const model_method *method, const model_place *at);

#endif

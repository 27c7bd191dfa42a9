/* choose.h - which GPU kernel a hop runs. Each kernel has a row: what it accepts, when it pays off,
 * what it writes. A choice is a row and launch parameters. It depends on the arguments, on tuning
 * results and, for hop_staged, on the shared memory of a multiprocessor. Common to C and CUDA C. */
#pragma once

#include <kaon/context.h>

#include "dslash/dslash_ops.h"
#include "dslash/staggered/staggered_ops.h"

/* ---- numbers that kernels and rows share; bytes: of a stored real (8, 4 or 2) ---- */

/* SITE_THREADS: blocks smaller than KAON_THREADS balance better, since these kernels use many
 * registers. */
enum {
  SITE_THREADS = 128, /* maximum threads of a block */
  PAIR_THREADS = 64,  /* hop_pair: two warps */
  PAIR_CHOICE = 32,   /* its name in tuning: sites of a block */
  STAGE_CELLS = 128,  /* hop_staged: sites of a tile */
  STAGE_COLUMNS = 16, /* maximum columns of a block */
  STAGGERED_MANY = 4  /* staggered_kernel: maximum columns of a thread */
};
/* hop_kernel: columns of a thread where there are enough. */
#define SITE_COLUMNS(bytes) ((bytes) == 4 ? 3 : 2)
/* hop_kernel, hop_faces: 1 if there is a kernel without sums, or one for |out|^2 alone. They exist
 * where they are faster. */
#define SITE_HAS_PLAIN(bytes, recon) (!((bytes) == 8 && (recon) == 12))
#define SITE_HAS_NORM(bytes) ((bytes) < 8)
/* hop_staged: cells of a tile as bits in x / 2, y, z, t; threads for a site; shared memory of all
 * blocks that a multiprocessor runs at a time. */
#define STAGE_BITS \
  { 3, 2, 1, 1 }
#define STAGE_SIDES_OF(bytes) ((bytes) == 8 ? 2 : 1)
#define STAGE_SHARED(bytes) ((bytes) == 8 ? 229504 : (bytes) == 4 ? 213248 : 123136)
/* staggered_faces: maximum columns of a thread. It is smaller than on an undivided lattice, because
 * a kernel contains the code of interior and boundary, and its compile time grows accordingly. One
 * column has a kernel without sums where the kernel with sums needs more registers. */
#define FACES_COLUMNS(bytes) ((bytes) == 8 ? 3 : 4)
#define FACES_HAS_PLAIN(bytes) ((bytes) == 2)

/* Threads of a block: fewer if the lattice has too few sites to fill the device twice. */
static inline int site_threads(uint32_t nsites) {
  return nsites >= (1u << 17) ? SITE_THREADS : SITE_THREADS / 2;
}

/* What a kernel sums. In NONE and NORM each block has one tile; in ALL it loops over tiles, which
 * costs registers. NORM stores |out|^2 of one column with sequence tags. NONE and NORM are faster
 * than ALL (bench/notes/design-cuda-hop.md). */
enum { SUMS_NONE, SUMS_NORM, SUMS_ALL };

/* ---- rows ---- */

typedef struct kaon_kernel_row kaon_kernel_row;

typedef struct kaon_kernel_choice {
  const kaon_kernel_row *row;
  int links;   /* 0, 1, 2: links in 18, 12, 8 reals */
  int threads; /* of a block */
  int group;   /* columns that a thread (hop_staged: a block) takes together */
  int groups;  /* number of such groups. hop_kernel: the remaining columns follow one by one, in a
                  second launch */
  int beside;  /* staggered_kernel: groups of a block */
  int sums;    /* SUMS_...; hop_kernel: of columns taken one by one */
  int rounded; /* the precision does not hold a factor of the hop exactly */
} kaon_kernel_choice;

/* A launcher does what the choice says. gather: messages to write; NULL: none. */
typedef void kaon_hop_launcher(const kaon_launch *launch, const kaon_kernel_choice *choice,
                               const kaon_gather_args *gather, const kaon_hop_args *args);
typedef void kaon_clover_launcher(const kaon_launch *launch, const kaon_kernel_choice *choice,
                                  const kaon_clover_args *args);
typedef void kaon_staggered_launcher(const kaon_launch *launch, const kaon_kernel_choice *choice,
                                     const kaon_staggered_gather_args *gather,
                                     const kaon_staggered_args *args);

/* Which hops of a stencil are dropped: none; those between blocks (cut); those in other directions
 * than one (along). */
enum { DROPS_NONE, DROPS_BETWEEN, DROPS_OTHERS };

/* What a choice depends on. */
typedef struct kaon_kernel_question {
  kaon_precision precision;
  int links; /* as in the choice */
  int part, dropped, clover_on, columns, rounded;
  const kaon_stencil *stencil;
  kaon_launch_shape tuned;
} kaon_kernel_question;

/* Arrays of three are by precision. */
struct kaon_kernel_row {
  const char *name, *when; /* for the log: the kernel's file, and when it is chosen */
  /* Accepts: */
  unsigned parts;          /* bits 1 << KAON_PART_... */
  unsigned dropped;        /* bits 1 << DROPS_... */
  unsigned links[3];       /* bits 1 << links */
  unsigned clover;         /* bits 1 << KAON_CLOVER_... */
  int rounded;             /* 1: also factors that the precision does not hold exactly */
  int tile[4];             /* extents are multiples of these; 0: any */
  int64_t most_sites;      /* 0: any number */
  int64_t shared_bytes[3]; /* shared memory that a multiprocessor must have */
  /* 1 if it is faster than the rows below, or a tuning result requests it; NULL: always. */
  int (*pays)(const kaon_kernel_question *q);
  int writes;                       /* bits KAON_WRITES_...; it does not run parts that need more */
  int least_threads[3], threads[3]; /* smallest and largest block */
  int columns[3];                   /* most columns that a thread (hop_staged: a block) takes */
  /* One of these: the launchers by precision, and by storage of the links. */
  kaon_hop_launcher *hop[3][3];
  kaon_staggered_launcher *staggered[3][3];
  kaon_clover_launcher *block[3];
};

/* Rows in order of preference: the first that accepts a hop and pays off runs it. */
enum { HOP_ALONG, HOP_FACES, HOP_CUT, HOP_PAIR, HOP_STAGED, HOP_SITE, HOP_KERNELS };
enum { STAGGERED_ALONG, STAGGERED_FACES, STAGGERED_SITE, STAGGERED_KERNELS };
enum { CLOVER_PAIR, CLOVER_SITE, CLOVER_KERNELS };

KAON_BEGIN_C

extern const kaon_kernel_row kaon_hop_rows[HOP_KERNELS];
extern const kaon_kernel_row kaon_staggered_rows[STAGGERED_KERNELS];
extern const kaon_kernel_row kaon_clover_rows[CLOVER_KERNELS];

kaon_kernel_choice kaon_hop_choose(kaon_precision precision, const kaon_launch *launch,
                                   const kaon_hop_args *args);
kaon_kernel_choice kaon_staggered_choose(kaon_precision precision, const kaon_staggered_args *args);
kaon_kernel_choice kaon_clover_choose(kaon_precision precision, const kaon_stencil *stencil,
                                      int parity, int columns);

KAON_END_C

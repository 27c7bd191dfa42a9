/* gauge_job.h - what the gauge-file parsers share: one read or write in progress, and the checks
 * for every format (extents, length, NaN, SU(3), checksum, link trace).
 * A format is a row of function pointers. To add one, write its probe, read and write and add the
 * row in gauge_formats.c. */
#pragma once

#include <kaon/io.h>

#include "lib/io/atomic_file.h"
#include "lib/io/bytes.h"

/* One gauge file being read. probe fills info and `data`; read runs after it. */
typedef struct kaon_gauge_job {
  const kaon_context *ctx;
  const kaon_bytes *bytes;
  kaon_gauge_read_options options;
  kaon_gauge_file_info *info;
  int64_t data; /* offset of the links */
  kaon_link_put *put;
  void *sink;
  double trace_sum;               /* of Re tr U */
  int64_t not_finite, off_su3;    /* number of such links */
  int64_t scaled, anti_hermitian; /* of those off SU(3): multiples of unitary matrices; others */
  int64_t not_finite_site, off_su3_site; /* the first such site */
  int not_finite_mu, off_su3_mu;
  double off_su3_size; /* deviation of the first one */
} kaon_gauge_job;

/* One gauge file being written. */
typedef struct kaon_gauge_output {
  const kaon_context *ctx;
  kaon_atomic_file *file;
  kaon_gauge_write_options
      /* Format, precision, rows, byte_order, date; defaults are resolved. */
      options;
  const kaon_gauge_content *content;
  int64_t volume;
  kaon_link_get *get;
  void *source;
} kaon_gauge_output;

typedef struct kaon_gauge_format {
  kaon_file_format format;
  int (*matches)(const unsigned char *head, size_t n, int64_t file_size);
  kaon_status (*probe)(kaon_gauge_job *job);
  kaon_status (*read)(kaon_gauge_job *job);
  kaon_status (*write)(kaon_gauge_output *out);
} kaon_gauge_format;

/* The parsers. One LIME reader serves ILDG and SciDAC. */
extern const kaon_gauge_format kaon_gauge_nersc, kaon_gauge_ildg, kaon_gauge_scidac,
    kaon_gauge_milc, kaon_gauge_openqcd, kaon_gauge_ddalphaamg;

/* As kaon_gauge_file_probe and _read, on opened input (memory in the fuzz harnesses). put = NULL:
 * probe. */
kaon_status kaon_gauge_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                  const kaon_gauge_read_options *options,
                                  kaon_gauge_file_info *info, kaon_link_put *put, void *sink);

/* Largest entry of |U U^dag - 1| and of |det U - 1|; infinity if U has NaN. */
double kaon_su3_distance(const double u[18]);
/* Third row = conj(first x second). */
void kaon_su3_third_row(double u[18]);

/* 1 and the number of sites if the extents are even, within 2 ... 2^15, with at most 2^40 sites;
 * else 0. */
int kaon_extents_volume(const int64_t extents[4], int64_t *volume);
/* The number of sites, or ARGUMENT; `name`: the file. */
kaon_status kaon_file_extents_check(const kaon_context *ctx, const char *name, const int extents[4],
                                    int64_t *volume);
/* "8x8x8x16" */
const char *kaon_extents_text(const int extents[4], char text[64]);

/* Checks the file's extents for range, and sets info->extents. extents = NULL: the file has none,
 * and options must give them. A probe without any extents succeeds with has_extents = 0. Then
 * compare the length of the data, and call kaon_gauge_match_extents. Errors: FORMAT (absurd), SHAPE
 * (odd, missing). */
kaon_status kaon_gauge_set_extents(kaon_gauge_job *job, const int64_t extents[4]);
/* Compares the extents with those of the options. Errors: SHAPE. */
kaon_status kaon_gauge_match_extents(const kaon_gauge_job *job);
int64_t kaon_gauge_volume(const kaon_gauge_job *job);
/* Checks that the data fill the file from job->data to its end; less than a site more is a warning.
 * Errors: FORMAT. */
kaon_status kaon_gauge_expect_size(const kaon_gauge_job *job, int64_t data_bytes);
/* Set stored means and their tolerances. `digit`: one unit of the last printed digit, 0 for binary
 * values. */
void kaon_gauge_set_plaquette(kaon_gauge_job *job, double plaquette, double digit);
void kaon_gauge_set_link_trace(kaon_gauge_job *job, double trace, double digit);

/* Checks, counts and passes on one link. Never fails: kaon_gauge_final_checks reports problems, so
 * that a wrong checksum (a damaged file) comes before its consequences. */
void kaon_gauge_deliver(kaon_gauge_job *job, int64_t site, int mu, const double u[18]);
/* Counts a warning and stores its message, cut if it is too long. */
void kaon_gauge_warn(kaon_gauge_file_info *info, const char *text);
/* Checks after the last link: checksums, then NaN, SU(3), link trace. */
kaon_status kaon_gauge_final_checks(kaon_gauge_job *job);

/* Gets one link from the caller and refuses what cannot be stored. Errors: NOT_FINITE, UNITARITY
 * (two rows). */
kaon_status kaon_gauge_get_link(kaon_gauge_output *out, int64_t site, int mu, double u[18]);
/* Gets the four links of a site, x, y, z, t, `rows` rows each, as words; *n bytes are written to
 * `words`. */
kaon_status kaon_gauge_get_site_links(kaon_gauge_output *out, int64_t site, int big_endian,
                                      unsigned char words[4 * 18 * 8], size_t *n);

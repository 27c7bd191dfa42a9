/* gauge_milc.c - MILC version 5 gauge files.
 * 96-byte header: i32 magic 20103 (its byte order is the file's), i32 X, Y, Z, T, char[64] time
 * stamp, i32 order (0: lexicographic; 1: node dump), u32 sum29, u32 sum31; then float links, x
 * fastest, mu = x, y, z, t. Source: MILC's documentation of its binary lattice format. */
#include <stdio.h>

#include "lib/io/checksum.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/io/sites.h"

enum { MAGIC = 20103, HEADER = 96, STAMP = 64, WORDS_A_SITE = 72 };

static int matches(const unsigned char *head, size_t n, int64_t file_size) {
  (void)file_size;
  return n >= 4 && (kaon_u32_at(head, 0) == MAGIC || kaon_u32_at(head, 1) == MAGIC);
}

static kaon_status probe(kaon_gauge_job *job) {
  kaon_gauge_file_info *info = job->info;
  unsigned char h[HEADER];
  KAON_TRY(kaon_bytes_read(job->ctx, job->bytes, 0, HEADER, h));
  if (!matches(h, HEADER, job->bytes->size)) {
    return kaon_fail(job->ctx, KAON_ERR_FORMAT,
                     "%s: begins with %08x, a MILC version 5 file with %08x in either byte order; "
                     "use format auto to detect the format",
                     job->bytes->name, kaon_u32_at(h, 1), MAGIC);
  }
  int big = kaon_u32_at(h, 1) == MAGIC;
  int64_t extents[4];
  for (int d = 0; d < 4; d++) extents[d] = (int32_t)kaon_u32_at(h + 4 + 4 * d, big);
  info->precision = 32;
  info->rows = 3;
  info->big_endian = big;
  info->checksums = 2;
  for (int i = 0; i < 2; i++) info->checksum_stored[i] = kaon_u32_at(h + 88 + 4 * i, big);
  KAON_TRY(kaon_gauge_set_extents(job, extents));
  uint32_t order = kaon_u32_at(h + 84, big);
  if (order != 0) {
    return kaon_fail(
        job->ctx, KAON_ERR_UNSUPPORTED,
        "%s: its sites are in order %u (a MILC checkpoint, in the order of its nodes), kaon reads "
        "order 0 (lexicographic); load it with MILC and save it with save_serial",
        job->bytes->name, order);
  }
  job->data = HEADER;
  KAON_TRY(kaon_gauge_expect_size(job, kaon_gauge_volume(job) * WORDS_A_SITE * 4));
  return kaon_gauge_match_extents(job);
}

static kaon_status take_site(void *user, int64_t site, const unsigned char *raw,
                             const double *values) {
  kaon_gauge_job *job = user;
  kaon_milc_checksum(job->info->checksum_computed, site * WORDS_A_SITE, raw, WORDS_A_SITE,
                     job->info->big_endian);
  for (int mu = 0; mu < 4; mu++) kaon_gauge_deliver(job, site, mu, values + 18 * mu);
  return KAON_OK;
}

static kaon_status read_links(kaon_gauge_job *job) {
  kaon_site_layout layout = {job->data, kaon_gauge_volume(job), WORDS_A_SITE, 32,
                             job->info->big_endian};
  KAON_TRY(kaon_sites_read(job->ctx, job->bytes, &layout, take_site, job));
  return kaon_gauge_final_checks(job);
}

static kaon_status write_file(kaon_gauge_output *out) {
  int big = out->options.byte_order == KAON_BYTES_BIG;
  unsigned char h[HEADER] = {0};
  uint32_t sums[2] = {0, 0};
  kaon_u32_put(h, MAGIC, big);
  for (int d = 0; d < 4; d++) kaon_u32_put(h + 4 + 4 * d, (uint32_t)out->content->extents[d], big);
  snprintf((char *)h + 20, STAMP, "%s", out->options.date);
  KAON_TRY(kaon_atomic_write(out->file, h, HEADER));
  for (int64_t site = 0; site < out->volume; site++) {
    unsigned char words[4 * 18 * 8];
    size_t n;
    KAON_TRY(kaon_gauge_get_site_links(out, site, big, words, &n));
    kaon_milc_checksum(sums, site * WORDS_A_SITE, words, WORDS_A_SITE, big);
    KAON_TRY(kaon_atomic_write(out->file, words, n));
  }
  for (int i = 0; i < 2; i++) kaon_u32_put(h + 88 + 4 * i, sums[i], big);
  return kaon_atomic_patch(out->file, 88, h + 88, 8);
}

const kaon_gauge_format kaon_gauge_milc = {.format = KAON_FORMAT_MILC,
                                           .matches = matches,
                                           .probe = probe,
                                           .read = read_links,
                                           .write = write_file};

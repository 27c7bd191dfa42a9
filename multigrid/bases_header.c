/* bases_header.c - Contract: bases_header.h. */
#include "multigrid/bases_header.h"

#include <string.h>

#include "lib/io/formats/content.h"
#include "lib/io/scidac.h"

enum {
  MOST_LEVELS = KAON_MULTIGRID_LEVELS,
  MOST_VECTORS = 32,
  MOST_BLOCK = 4096,
  MOST_NUMBERS = 512
};

static kaon_status bad_header(const kaon_scidac_scan *scan, const char *name) {
  return kaon_fail(scan->ctx, KAON_ERR_FORMAT,
                   "%s: its header has no valid <%s>: the file is damaged; copy it again",
                   scan->bytes->name, name);
}

static int integers(const kaon_xml *xml, const char *name, int count, int most, int *to) {
  int64_t value[4 * MOST_LEVELS];
  if (kaon_xml_integers(xml, name, value, count) != count) return 0;
  for (int i = 0; i < count; i++) {
    if (value[i] < 1 || value[i] > most) return 0;
    to[i] = (int)value[i];
  }
  return 1;
}

static kaon_status parse_header(const kaon_scidac_scan *scan, const kaon_xml *xml,
                                kaon_bases_header *h) {
  double digit;
  int version, bits;
  for (int mu = 0; mu < 4; mu++) h->extents[mu] = (int)scan->extents[mu];
  if (!integers(xml, "version", 1, 1, &version)) return bad_header(scan, "version");
  if (!integers(xml, "levels", 1, MOST_LEVELS, &h->levels) || h->levels < 2)
    return bad_header(scan, "levels");
  const int n = h->levels - 1;
  if (!integers(xml, "numbers", 1, MOST_NUMBERS, &h->numbers)) return bad_header(scan, "numbers");
  if (!integers(xml, "blocks", 4 * n, MOST_BLOCK, h->block[0])) return bad_header(scan, "blocks");
  if (!integers(xml, "vectors", n, MOST_VECTORS, h->vectors)) return bad_header(scan, "vectors");
  if (!integers(xml, "bits", 1, 64, &bits)) return bad_header(scan, "bits");
  h->exact = bits == 64;
  if (kaon_xml_decimal(xml, "norm", &h->norm, &digit) != 1) return bad_header(scan, "norm");
  return KAON_OK;
}

kaon_status kaon_bases_header_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                   kaon_bases_header *h) {
  kaon_scidac_scan scan;
  kaon_scidac_record first;
  int found;
  char text[KAON_CONTENT];
  KAON_AUTO(kaon_xml_free) kaon_xml xml = {0};
  *h = (kaon_bases_header){0};
  kaon_scidac_open(ctx, bytes, &scan);
  KAON_TRY(kaon_scidac_next(&scan, &first, &found));
  KAON_TRY(
      kaon_scidac_user_xml(&scan, "scidac-file-xml", scan.file_xml, scan.file_xml_length, &xml));
  if (found && scan.has_extents && strcmp(kaon_xml_root(&xml), KAON_BASES_ROOT) == 0)
    return parse_header(&scan, &xml, h);
  return kaon_fail(ctx, KAON_ERR_FORMAT,
                   "%s: it is %s; but vectors of multigrid, as kaon_multigrid_save() writes them, "
                   "belong here; give such a file",
                   bytes->name, kaon_content_name(ctx, bytes, text));
}

/* An option that is 0 becomes the file's. */
static kaon_status take(const kaon_context *ctx, const char *name, const char *what, int level,
                        int file, int *option) {
  if (*option == 0) *option = file;
  if (*option == file) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "%s: %s of level %d is %d there, but the options ask for %d; leave it 0, which "
                   "takes the file's, or make new vectors",
                   name, what, level, file, *option);
}

static kaon_status take_levels(const kaon_context *ctx, const char *name,
                               const kaon_bases_header *h, kaon_multigrid_options *o) {
  static const char *const blocks[4] = {"block in x", "block in y", "block in z", "block in t"};
  if (o->levels == 0) o->levels = h->levels;
  if (o->levels != h->levels)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "%s: it has %d levels, but the options ask for %d; leave levels 0, which takes "
        "the file's, or make new vectors",
        name, h->levels, o->levels);
  for (int l = 0; l + 1 < h->levels; l++) {
    KAON_TRY(take(ctx, name, "the number of vectors", l, h->vectors[l], &o->vectors[l]));
    for (int mu = 0; mu < 4; mu++)
      KAON_TRY(take(ctx, name, blocks[mu], l, h->block[l][mu], &o->block[l][mu]));
  }
  return KAON_OK;
}

kaon_status kaon_bases_header_take(const kaon_context *ctx, const kaon_bytes *bytes, const int n[4],
                                   kaon_multigrid_options *options) {
  kaon_bases_header h;
  KAON_TRY(kaon_bases_header_read(ctx, bytes, &h));
  const int *m = h.extents;
  if (memcmp(m, n, sizeof h.extents) != 0)
    return kaon_fail(ctx, KAON_ERR_SHAPE,
                     "%s: its vectors are for a lattice of %dx%dx%dx%d, but the operator's is "
                     "%dx%dx%dx%d; load them for one of theirs, or make new ones",
                     bytes->name, m[0], m[1], m[2], m[3], n[0], n[1], n[2], n[3]);
  return take_levels(ctx, bytes->name, &h, options);
}

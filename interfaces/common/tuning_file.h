/* tuning_file.h - launch choices as a JSON file: what kaon tune writes and --tuning FILE reads.
 *   {"kaon": version, "commit": ..., "backend": ..., "device": ..., "isa": ..., "threads": N,
 *    "entries": [{"kernel": "hop"|"vector", "precision": "double"|"single"|"half",
 *                 "links": 18|12|8|0, "columns": N, "lattice": [X, Y, Z, T],
 *                 "choice": {"prefetch": "on"|"off", "stream": "on"|"off",
 *                            "level": 1|2, "threads": N, "group": N, "blocks": N},
 *                 "seconds": a call, "seconds_by_rule": a call}]}
 * "choice" has only values that differ from the rule. commit, threads and seconds are information
 * for the reader. Any other key is an error. */
#ifndef KAON_COMMON_TUNING_FILE_H
#define KAON_COMMON_TUNING_FILE_H

#include "interfaces/common/cli.h"

/* An empty file for this context. The caller owns it (json_decref). */
json_t *tuning_new(const kaon_context *ctx);
/* Adds an entry. `e->sites` is not written, since it follows from the extents. */
void tuning_add(json_t *file, const kaon_tuning_entry *e, const int extents[4], double seconds,
                double seconds_by_rule);
/* "prefetch on, stream off", or "by rule" (the default choice). */
const char *tuning_words(const kaon_tuning_entry *e, char text[128]);
/* Reads `path` and sets the context's tuning. Exit status; an error is printed. */
int tuning_use(kaon_context *ctx, const char *path);

#endif

/* content.h - what a file holds, for messages of readers that expected something else. */
#pragma once

#include "lib/io/bytes.h"

enum { KAON_CONTENT = 160 };

/* Describes the content in words that follow "it is", with the option that takes such a file: "a
 * gauge configuration (NERSC), which --gauge takes". Unknown content: how it begins. Collective
 * like kaon_bytes_read. Returns `text`. */
const char *kaon_content_name(const kaon_context *ctx, const kaon_bytes *bytes,
                              char text[KAON_CONTENT]);

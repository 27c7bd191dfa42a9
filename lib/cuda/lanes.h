/* lanes.h - the layout of fields on the GPU: `width` and `access` of the backend's table. */
#pragma once

/* Lanes in a block; bytes in an access. */
enum { KAON_LANES = 32, KAON_ACCESS = 16 };

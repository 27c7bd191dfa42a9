/* site_on.h - where a fused hop applies T or T^-1 (kaon_fused in dslash/operator/frame.h), for
 * kernels that read it too. */
#pragma once

enum { KAON_SITE_NOWHERE = 0, KAON_SITE_ON_HOP = 1, KAON_SITE_ON_X = 2, KAON_SITE_ON_BOTH = 3 };

/* applied_link_h.c - applied_link.h in half precision. */
#define KAON_ISA_SCALAR
#define KAON_PREC_HALF
#define APPLIED_LINK_NAME applied_link_h
#include "tests/util/applied_link.h"

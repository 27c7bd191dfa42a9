/* applied_link_s.c - applied_link.h in single precision. */
#define KAON_ISA_SCALAR
#define KAON_PREC_SINGLE
#define APPLIED_LINK_NAME applied_link_s
#include "tests/util/applied_link.h"

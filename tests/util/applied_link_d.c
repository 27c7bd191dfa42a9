/* applied_link_d.c - applied_link.h in double precision. */
#define KAON_ISA_SCALAR
#define KAON_PREC_DOUBLE
#define APPLIED_LINK_NAME applied_link_d
#include "tests/util/applied_link.h"

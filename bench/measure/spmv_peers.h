/* spmv_peers.h - cuSPARSE's products of the matrix under measurement, each algorithm that it has
 * for how our rows are stored. */
#ifndef SPMV_PEERS_H
#define SPMV_PEERS_H

#include "bench/measure/spmv_fixture.h"
#include "tests/util/stored_rows.h"

/* One column, and several, stored by rows and by columns. */
void peers_of_csr(fixture *b, int type, const stored_rows *csr);
/* One column. Its sliced ELL is our SELL, whose starts count entries. */
void peers_of_sell(fixture *b, int type, const stored_rows *sell);

#endif

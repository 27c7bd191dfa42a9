/* null_space.h - the null space of a matrix, as its operators offer it. */
#ifndef KAON_SPARSE_NULL_SPACE_H
#define KAON_SPARSE_NULL_SPACE_H

#include "lib/operator/null_space.h"
#include "sparse/storage/matrix.h"

/* For operators of kaon_matrix_operator; others have no null vectors. */
extern const kaon_null_space kaon_matrix_null_space;

#endif

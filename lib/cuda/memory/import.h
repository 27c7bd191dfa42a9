/* import.h - the CUDA launchers of lib/vector/import_ops.h. */
#pragma once

#include "lib/vector/import_ops.h"

KAON_BEGIN_C

void kaon_vector_import_values_cuda(const kaon_launch *launch, const kaon_import_args *args);
void kaon_vector_export_values_cuda(const kaon_launch *launch, const kaon_import_args *args);
void kaon_vector_find_unstorable_cuda(const kaon_launch *launch, const kaon_import_args *args);
void kaon_matrix_copy_cuda(const kaon_launch *launch, const kaon_matrix_copy_args *args);

KAON_END_C

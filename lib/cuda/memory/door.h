/* door.h - the CUDA launchers of lib/vector/door_ops.h. */
#ifndef KAON_LIB_CUDA_DOOR_H
#define KAON_LIB_CUDA_DOOR_H

#include "lib/vector/door_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

void kaon_door_take_cuda(const kaon_launch *launch, const kaon_door_args *args);
void kaon_door_give_cuda(const kaon_launch *launch, const kaon_door_args *args);
void kaon_door_find_cuda(const kaon_launch *launch, const kaon_door_args *args);
void kaon_carry_cuda(const kaon_launch *launch, const kaon_carry_args *args);

#ifdef __cplusplus
}
#endif

#endif

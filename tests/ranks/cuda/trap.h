/* trap.h - a kernel that ends with an error. From then on the process's device answers every call
 * with that error. */
#ifndef TRAP_H
#define TRAP_H

#ifdef __cplusplus
extern "C" {
#endif
void trap_device(void);
#ifdef __cplusplus
}
#endif
#endif

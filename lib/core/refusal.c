/* refusal.c - see refusal.h. */
#include "lib/core/refusal.h"

#include <stddef.h>

#include "lib/core/error.h"

/* The device was found, but loading code on it failed. */
static kaon_status of_code(const kaon_cuda_status_facts *f) {
  if (f->error == KAON_CUDA_NO_IMAGE || f->error == KAON_CUDA_NO_FUNCTION ||
      f->error == KAON_CUDA_NEW_PTX)
    return kaon_fail(NULL, KAON_ERR_NO_DEVICE,
                     "backend: %s has compute capability %d.%d but this kaon has code for %s; "
                     "configure with -DKAON_CUDA_ARCHS=%d%d, or use --backend cpu",
                     f->device, f->major, f->minor, f->compiled, f->major, f->minor);
  return kaon_fail(NULL, KAON_ERR_DEVICE, "backend: %s does not start: %s (%s); use --backend cpu",
                   f->device, f->text, f->name);
}

kaon_status kaon_cuda_usable(const kaon_cuda_status_facts *f) {
  if (f->compiled == NULL)
    return kaon_fail(NULL, KAON_ERR_NOT_BUILT,
                     "backend: cuda was asked for, but this kaon was built without it; configure "
                     "with -DKAON_CUDA=ON, or use --backend cpu (or the option backend=cpu)");
  if (f->error == KAON_CUDA_SUCCESS && f->devices > 0) return KAON_OK;
  if (f->device != NULL) return of_code(f);
  if (f->driver == 0)
    return kaon_fail(NULL, KAON_ERR_NO_DEVICE,
                     "backend: cuda needs an NVIDIA driver and none is loaded; use --backend cpu");
  if (f->error == KAON_CUDA_OLD_DRIVER)
    return kaon_fail(
        NULL, KAON_ERR_NO_DEVICE,
        "backend: the NVIDIA driver supports CUDA %d.%d but this kaon was built with CUDA %d.%d; "
        "update the driver, build with an older toolkit, or use --backend cpu",
        f->driver / 1000, f->driver % 1000 / 10, f->runtime / 1000, f->runtime % 1000 / 10);
  if (f->error == KAON_CUDA_NO_DEVICE || f->error == KAON_CUDA_SUCCESS)
    return kaon_fail(NULL, KAON_ERR_NO_DEVICE,
                     "backend: the NVIDIA driver shows no device (is CUDA_VISIBLE_DEVICES empty?); "
                     "use --backend cpu");
  return kaon_fail(NULL, KAON_ERR_DEVICE,
                   "backend: cuda does not start: %s (%s); use --backend cpu", f->text, f->name);
}

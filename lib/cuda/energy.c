/* energy.c - the device's energy counter, read through NVML (NVML API reference: millijoules since
 * the driver was loaded, Volta and later). The counter is updated only every 100 ms or so.
 * The library comes with the driver and is loaded at the first query. Nothing is linked, and a
 * machine without NVML has no counter. The device is found by its PCI address, because NVML numbers
 * devices in its own order. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "lib/cuda/device.h"

typedef int nvml_call(void);
typedef int nvml_find(const char *pci, void **device);
typedef int nvml_energy(void *device, unsigned long long *millijoules);

struct kaon_cuda_meter {
  void *library, *device;
  nvml_energy *energy;
  nvml_call *shutdown;
  int usable;
};

/* Looks up a function by name. The indirection avoids a cast from a data pointer, which C does not
 * allow. */
static int find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) return 0;
  *(void **)function = symbol;
  return 1;
}

static int open_meter(struct kaon_cuda_meter *meter) {
  nvml_call *init = NULL;
  nvml_find *by_pci = NULL;
  char pci[32];
  int device = 0;
  meter->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (meter->library == NULL || !find(meter->library, "nvmlInit_v2", &init) ||
      !find(meter->library, "nvmlDeviceGetHandleByPciBusId_v2", &by_pci) ||
      !find(meter->library, "nvmlDeviceGetTotalEnergyConsumption", &meter->energy))
    return 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(pci, sizeof pci, device) != cudaSuccess) {
    cudaGetLastError(); /* not an error of the library's own work */
    return 0;
  }
  if (init() != 0) return 0;
  find(meter->library, "nvmlShutdown", &meter->shutdown);
  return by_pci(pci, &meter->device) == 0;
}

double kaon_cuda_energy(kaon_context *ctx) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  unsigned long long millijoules = 0;
  if (machine->meter == NULL) {
    machine->meter = calloc(1, sizeof *machine->meter);
    if (machine->meter == NULL) return NAN;
    machine->meter->usable = open_meter(machine->meter);
  }
  const struct kaon_cuda_meter *meter = machine->meter;
  if (!meter->usable || meter->energy(meter->device, &millijoules) != 0) return NAN;
  return 1e-3 * (double)millijoules;
}

void kaon_cuda_meter_destroy(struct kaon_cuda_meter **meter) {
  if (*meter == NULL) return;
  if ((*meter)->shutdown != NULL) (*meter)->shutdown();
  if ((*meter)->library != NULL) dlclose((*meter)->library);
  free(*meter);
  *meter = NULL;
}

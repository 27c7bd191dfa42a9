/* replay_main.c - runs a harness on the files named on the command line, for compilers without
 * libFuzzer and for debuggers. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_common.h"

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    FILE *f = fopen(argv[i], "rb");
    if (!f) {
      fprintf(stderr, "%s: cannot be opened\n", argv[i]);
      return 2;
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) return 2;
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
  }
  printf("%d inputs passed\n", argc - 1);
  return 0;
}

/* race_check.c - asynchronous relaxation by several threads, for a race detector: both drivers,
 * real and complex numbers, double and single, with frozen rows. Reads that race with writes are
 * relaxed atomic accesses, so nothing is reported. With clang, whose OpenMP library tells
 * ThreadSanitizer of its barriers (libarcher):
 *
 *  cmake -S . -B build-tsan -G Ninja -DCMAKE_C_COMPILER=clang -DKAON_CUDA=OFF -DKAON_BUILD_PROGRAM=OFF
 *    -DCMAKE_C_FLAGS="-fsanitize=thread -g"
 *  ninja -C build-tsan race_check
 *  OMP_TOOL_LIBRARIES=/usr/lib/llvm-14/lib/libarcher.so
 *    TSAN_OPTIONS=ignore_noninstrumented_modules=1 build-tsan/tests/race_check
 *
 * Status 66 means that a race was seen. With plain loads and stores in place of kaon_race_load and
 * kaon_race_store, races are reported. gcc's OpenMP library is not instrumented: its barriers look
 * like races. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

int main(void) {
  for (int kind = 0; kind < 16; kind++) {
    const kaon_precision precision = kind & 1 ? KAON_SINGLE : KAON_DOUBLE;
    kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
    kaon_lab_relax_options lab = KAON_LAB_RELAX_OPTIONS_INIT;
    kaon_fault_options faults = KAON_FAULT_OPTIONS_INIT;
    kaon_relax_report r = KAON_RELAX_REPORT_INIT;
    kaon_column_report report;
    relax_case c;
    if (!relax_case_open(&c, MACHINE_CPU, 4, row_case_random(900, 8, kind & 2 ? 2 : 1, 0, 7),
                         precision, 1))
      return 1;
    o.block = 30;
    o.seed = (uint64_t)kind;
    o.driver = kind & 4 ? KAON_RELAX_FREE : KAON_RELAX_LAUNCH;
    faults.share = 0.2;
    faults.recovery = 5;
    if (kind & 8) lab.faults = &faults;
    o.lab = &lab;
    relax_case_solve(&c, KAON_ASYNC, &o, precision == KAON_DOUBLE ? 1e-10 : 1e-5, 500, &report, &r);
    printf("%d: %d iterations, %s, shifts %d to %d\n", kind, report.iterations,
           kaon_stop_reason_name(report.reason), r.newest, r.oldest);
    relax_case_close(&c);
  }
  return 0;
}

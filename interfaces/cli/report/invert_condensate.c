/* invert_condensate.c - kaon invert on noise sources of staggered actions: the quark condensate. */
#include <math.h>

#include "interfaces/cli/command/invert.h"
#include "interfaces/common/report.h"

int condensate_measured(const invert_job *job) {
  return job->p.staggered && job->p.source.kind > SOURCE_CORNER && !job->shifts.count;
}

int condensate_conclude(const invert_job *job, json_t *report) {
  const cli_common *common = &job->args->common;
  kaon_condensate c = KAON_CONDENSATE_INIT;
  const int code =
      cli_status(job->ctx, kaon_condensate_measure(job->b, job->x, &c, NULL), "condensate");
  if (code != EXIT_DONE) return code;
  cli_print(common, "condensate (tr M^-1 / V, %d sources): %.8f", c.sources, c.whole);
  if (c.sources > 1)
    cli_print(common, " +- %.8f; even sites %.8f +- %.8f, odd %.8f +- %.8f\n", c.whole_error,
              c.even, c.even_error, c.odd, c.odd_error);
  else
    cli_print(common, "; even sites %.8f, odd %.8f (an error needs --columns 2 or more)\n", c.even,
              c.odd);
  json_object_set_new(
      report, "condensate",
      json_pack("{s:o s:o s:o s:o s:o s:o s:i}", "whole", report_real(c.whole), "whole_error",
                report_real(c.whole_error), "even", report_real(c.even), "even_error",
                report_real(c.even_error), "odd", report_real(c.odd), "odd_error",
                report_real(c.odd_error), "sources", c.sources));
  return EXIT_DONE;
}

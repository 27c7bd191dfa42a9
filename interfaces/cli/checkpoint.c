/* checkpoint.c - --resume: finished columns survive in OUTPUT.partial, a SciDAC file like OUTPUT
 * with a description of the equation in its <info>. It is written when a batch is done or a run
 * ends early with some columns converged, and removed when OUTPUT is complete. Columns are taken
 * over if the file's checksums hold, the equation is the same, and the residual, recomputed here,
 * is within the tolerance asked for now. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "invert.h"
#include "signals.h"

static char *partial_name(const invert_job *job) {
  char *name = NULL;
  if (!job->args->output || asprintf(&name, "%s.partial", job->args->output) < 0) return NULL;
  return name;
}

int checkpoint_save(invert_job *job) {
  int count = 0;
  for (int k = 0; k < job->columns; k++) count += job->done[k];
  char *name = partial_name(job);
  if (!name || count == 0) {
    free(name);
    return EXIT_DONE;
  }
  signals_output(name);
  int code = results_propagator(job, name, 1);
  if (code == EXIT_DONE)
    cli_say(&job->args->common, "%d of %d columns are kept in %s; --resume goes on from there\n",
            count, job->columns, name);
  if (code == EXIT_DONE && signals_interrupted()) {
    char loss[256];
    snprintf(loss, sizeof loss,
             "%d of %d columns are kept in %.150s (--resume), the others are lost", count,
             job->columns, name);
    signals_stage("solving", loss);
  }
  free(name);
  return code;
}

void checkpoint_remove(const invert_job *job) {
  char *name = partial_name(job);
  if (name && ranks_first()) unlink(name);
  free(name);
}

/* residual[k] = |b - M x| / |b|. */
static kaon_status residuals(const invert_job *job, kaon_vector *r, double *residual, double *b2) {
  kaon_status status = kaon_operator_apply(job->p.M, KAON_PLAIN, job->x, r);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, job->b, r);
  if (status == KAON_OK) status = kaon_vector_norm2(r, residual);
  if (status == KAON_OK) status = kaon_vector_norm2(job->b, b2);
  for (int k = 0; k < job->columns; k++) residual[k] = sqrt(residual[k] / b2[k]);
  return status;
}

static int verify(invert_job *job, const char *name) {
  const kaon_space *full = problem_space(&job->p);
  size_t columns = (size_t)job->columns;
  kaon_vector *r = NULL;
  double *norms = calloc(2 * columns, sizeof *norms);
  kaon_status status = kaon_context_agree(job->ctx, norms ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK)
    status = kaon_vector_create(job->ctx, full, job->p.precision, job->columns, &r);
  if (status == KAON_OK) status = residuals(job, r, norms, norms + columns);
  int kept = 0;
  for (int k = 0; k < job->columns && status == KAON_OK; k++) {
    /* Where another residual is asked for, this one is only reported. */
    if (job->done[k] && job->p.options.stop == KAON_STOP_FULL &&
        !(norms[k] <= 1.1 * job->p.options.tol))
      job->done[k] = 0;
    if (job->done[k]) job->solves[k].residual = job->solves[k].stop_residual = norms[k];
    kept += job->done[k];
  }
  kaon_vector_destroy(&r);
  free(norms);
  if (status == KAON_OK)
    cli_say(&job->args->common, "%d of %d columns taken over from %s\n", kept, job->columns, name);
  return cli_status(job->ctx, status, "--resume");
}

/* What the first rank finds holds for all. */
static int exists(const char *name) {
  return ranks_agree(ranks_first() && access(name, F_OK) != 0 ? EXIT_DEVICE : EXIT_DONE) ==
         EXIT_DONE;
}

int checkpoint_load(invert_job *job) {
  char *name = partial_name(job);
  if (!name) return EXIT_DEVICE;
  if (!exists(name)) name[strlen(name) - strlen(".partial")] = '\0';
  int code = EXIT_DONE;
  if (exists(name)) {
    signals_stage("reading earlier columns", "nothing was changed");
    code = results_read(job, name);
    if (code == EXIT_DONE) code = verify(job, name);
  } else {
    cli_say(&job->args->common, "nothing to resume: there is no %s\n", name);
  }
  free(name);
  return code;
}

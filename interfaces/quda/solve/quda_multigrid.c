/* quda_multigrid.c - multigrid preconditioners of clients. Contract: solves.h.
 * Levels, blocks, numbers of vectors, smoother steps and the precision of the basis are the
 * client's. The rest of QudaMultigridParam is kaon's choice. One file has the bases of all levels:
 * that of level 0. */
#include <stdlib.h>

#include "operators.h"
#include "solves.h"
#include "system.h"

enum { MOST_VECTORS = 32 };

typedef struct kaon_quda_mg {
  struct kaon_quda_mg *next;
  kaon_quda_key key;
  kaon_operator *M, *K; /* M is this instance's own */
  uint64_t revision;    /* of the links that M was last made of */
} instance;

static void clear(instance *mg) {
  kaon_operator_destroy(&mg->K);
  kaon_operator_destroy(&mg->M);
}

static void destroy(instance *mg) {
  instance **at = &kaon_quda()->multigrid;
  while (*at != NULL && *at != mg) at = &(*at)->next;
  if (*at == mg) *at = mg->next;
  clear(mg);
  free(mg);
}

static kaon_status find(void *pointer, instance **found) {
  for (*found = kaon_quda()->multigrid; *found != NULL; *found = (*found)->next)
    if (*found == pointer) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "preconditioner %p is not from newMultigridQuda(), or was destroyed; "
                          "create it first",
                          pointer);
}

/* ---- options ---- */

static void set_level(const QudaMultigridParam *param, int l, kaon_multigrid_options *options) {
  for (int d = 0; d < 4; d++)
    if (param->geo_block_size[l][d] > 0) options->block[l][d] = param->geo_block_size[l][d];
  if (param->n_vec[l] > 0)
    options->vectors[l] = param->n_vec[l] < MOST_VECTORS ? param->n_vec[l] : MOST_VECTORS;
  if (param->nu_post[l] > 0) options->steps[l] = param->nu_post[l];
  options->precision[l] =
      param->precision_null[l] <= QUDA_HALF_PRECISION && param->precision_null[l] > 0 ? KAON_HALF
                                                                                      : KAON_SINGLE;
}

static kaon_multigrid_options options_of(const QudaMultigridParam *param) {
  kaon_multigrid_options options = KAON_MULTIGRID_OPTIONS_INIT;
  if (param->n_level > 1)
    options.levels =
        param->n_level < KAON_MULTIGRID_LEVELS ? param->n_level : KAON_MULTIGRID_LEVELS;
  for (int l = 0; l < options.levels - 1; l++) set_level(param, l, &options);
  return options;
}

static const char *file(const char name[256], QudaBoolean wanted) {
  return wanted == QUDA_BOOLEAN_TRUE && name[0] != '\0' ? name : NULL;
}

/* ---- set-up ---- */

static kaon_status set_up(instance *mg, const QudaMultigridParam *param, const kaon_quda_key *key) {
  const kaon_multigrid_options options = options_of(param);
  const char *in = file(param->vec_infile[0], param->vec_load[0]),
             *out = file(param->vec_outfile[0], param->vec_store[0]);
  kaon_operator *A;
  clear(mg);
  mg->key = *key;
  mg->revision = kaon_gauge_revision(key->links[0]);
  kaon_status status = kaon_quda_make_operators(key, &mg->M, &A);
  if (status == KAON_OK)
    status = in != NULL ? kaon_multigrid_load(mg->M, &options, in, &mg->K)
                        : kaon_multigrid_create(mg->M, &options, &mg->K);
  if (status == KAON_OK && out != NULL) status = kaon_multigrid_save(mg->K, out);
  return status;
}

static kaon_status ask(const QudaMultigridParam *param, kaon_quda_request *request) {
  const kaon_quda_use use = {.site = 1}; /* M itself */
  if (param == NULL || param->invert_param == NULL)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "QudaMultigridParam.invert_param is NULL; set it to the parameters of "
                            "the operator");
  return kaon_quda_ask(param->invert_param, &use, request);
}

static kaon_status create(const QudaMultigridParam *param, instance **made) {
  kaon_quda_request request;
  kaon_status status = ask(param, &request);
  if (status != KAON_OK) return status;
  status = kaon_quda_allocate(sizeof **made, made);
  if (status != KAON_OK) return status;
  **made = (instance){0};
  (*made)->next = kaon_quda()->multigrid;
  kaon_quda()->multigrid = *made;
  status = set_up(*made, param, &request.key);
  if (status == KAON_OK) return status;
  destroy(*made);
  *made = NULL;
  return status;
}

/* Follows the present links. */
static kaon_status follow(instance *mg, kaon_multigrid_refresh how) {
  kaon_status status = kaon_quda_update_operator(&mg->key, mg->M);
  if (status == KAON_OK) status = kaon_multigrid_update(mg->K, how);
  if (status == KAON_OK) mg->revision = kaon_gauge_revision(mg->key.links[0]);
  return status;
}

/* Other masses or another field of links need a new preconditioner. */
static kaon_status update(void *pointer, const QudaMultigridParam *param) {
  instance *mg;
  kaon_quda_request request;
  kaon_status status = find(pointer, &mg);
  if (status == KAON_OK) status = ask(param, &request);
  if (status != KAON_OK) return status;
  if (!kaon_quda_same_operator(&mg->key, &request.key)) return set_up(mg, param, &request.key);
  return follow(mg, param->thin_update_only == QUDA_BOOLEAN_TRUE ? KAON_MULTIGRID_UPDATE
                    : param->setup_maxiter_refresh[0] > 0        ? KAON_MULTIGRID_REFRESH
                                                                 : KAON_MULTIGRID_AUTO);
}

/* ---- for solves ---- */

kaon_status kaon_quda_multigrid(void *pointer, kaon_operator **K) {
  instance *mg;
  kaon_status status = find(pointer, &mg);
  if (status != KAON_OK) return status;
  if (kaon_gauge_revision(mg->key.links[0]) != mg->revision)
    status = follow(mg, KAON_MULTIGRID_REUSE);
  *K = mg->K;
  return status;
}

void kaon_quda_multigrid_solved(void *pointer, const kaon_column_report *reports, int columns) {
  instance *mg;
  if (find(pointer, &mg) == KAON_OK) kaon_multigrid_solved(mg->K, reports, columns);
}

/* ---- the interface ---- */

void *newMultigridQuda(QudaMultigridParam *param) {
  instance *made = NULL;
  kaon_quda_ended(__func__, create(param, &made), 1);
  return made;
}

void updateMultigridQuda(void *mg_instance, QudaMultigridParam *param) {
  kaon_quda_check(__func__, update(mg_instance, param));
}

void destroyMultigridQuda(void *mg_instance) {
  instance *mg;
  const kaon_status status = mg_instance != NULL ? find(mg_instance, &mg) : KAON_OK;
  if (mg_instance != NULL && status == KAON_OK) destroy(mg);
  kaon_quda_check(__func__, status);
}

void dumpMultigridQuda(void *mg_instance, QudaMultigridParam *param) {
  instance *mg;
  kaon_status status = find(mg_instance, &mg);
  KAON_QUDA_NEED(param);
  if (status == KAON_OK && param->vec_outfile[0][0] == '\0')
    status = kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "QudaMultigridParam.vec_outfile[0] is empty, but must name a file");
  if (status == KAON_OK) status = kaon_multigrid_save(mg->K, param->vec_outfile[0]);
  kaon_quda_check(__func__, status);
}

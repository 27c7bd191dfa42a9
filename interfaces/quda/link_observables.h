/* link_observables.h - link_observables.c for MILC's calls, which have errors of their own. */
#pragma once

#include "fields.h"

/* gaugeObservablesQuda() of the Wilson links as they were loaded: with the boundary's sign in the
 * Polyakov loop, and with staggered phases, unless these are to be removed together with the sign.
 * Errors: STATE (no links), ARGUMENT (no phases to remove), UNSUPPORTED, MEMORY. */
kaon_status kaon_quda_observe(QudaGaugeObservableParam *param);
/* Refuses the direction of a Polyakov loop, if it is not that of time. */
kaon_status kaon_quda_check_loop(int dir);

/* Multiplies staggered phases (param->staggered_phase_type) and the boundary's sign into links of
 * an array, or out of them. Errors: ARGUMENT, UNSUPPORTED. */
kaon_status kaon_quda_toggle_phases(void *links, const QudaGaugeParam *param);

/* Fat links, long links, and fat links projected to U(3) (Chroma's phases: to SU(3)), of thin links that hold the staggered
 * phases, with QUDA's six coefficients. NULL: not wanted. Errors: those of kaon_fatten_paths(). */
kaon_status kaon_quda_fatten(void *fat, void *naik, void *unitary, const void *thin,
                             const double path[6], const QudaGaugeParam *param);

/* Replaces links of an array by the nearest unitary matrix, divided by the third root of its
 * determinant. Staggered phases (param->staggered_phase_applied) are taken out meanwhile. Errors:
 * ARGUMENT, UNSUPPORTED, NOT_FINITE, MEMORY. */
kaon_status kaon_quda_project(void *links, const QudaGaugeParam *param);

/* Action of momenta, of all ranks. Errors: ARGUMENT, UNSUPPORTED, MEMORY. */
kaon_status kaon_quda_momentum_action(const void *array, const QudaGaugeParam *param,
                                      double *action);

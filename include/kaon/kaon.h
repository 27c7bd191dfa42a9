/* kaon.h - the whole public interface. */
#ifndef KAON_KAON_H
#define KAON_KAON_H

#include <kaon/context.h>
#include <kaon/fatten.h>
#include <kaon/gauge.h>
#include <kaon/io.h>
#include <kaon/kaczmarz.h>
#include <kaon/lattice.h>
#include <kaon/measure.h>
#include <kaon/multishift.h>
#include <kaon/operator.h>
#include <kaon/options.h>
#include <kaon/precond.h>
#include <kaon/ranks.h>
#include <kaon/rational.h>
#include <kaon/relax.h>
#include <kaon/schwarz.h>
#include <kaon/solver.h>
#include <kaon/sparse.h>
#include <kaon/sparse_precond.h>
#include <kaon/staggered.h>
#include <kaon/status.h>
#include <kaon/tuning.h>
#include <kaon/vector.h>

#endif

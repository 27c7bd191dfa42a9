/** @file kaon.h
 * The whole public interface. `kaon/lab.h`, which only experiments need, is not part of it.
 *
 * @mainpage kaon
 * Solvers for lattice QCD and for sparse systems, in C, on processors and NVIDIA GPUs.
 *
 * Start with kaon/context.h. A context owns a device; all other objects are created from it.
 *
 * - Lattices: kaon/lattice.h, kaon/gauge.h (links), kaon/operator.h (Wilson, clover),
 *   kaon/staggered.h, kaon/measure.h (sources, correlators)
 * - Sparse matrices: kaon/sparse.h, kaon/precond.h, kaon/relax.h
 * - Multigrid for lattices: kaon/multigrid.h
 * - Both: kaon/vector.h, kaon/solver.h, kaon/multishift.h
 * - Files of links and propagators: kaon/io.h. Errors: kaon/status.h
 *
 * Lessons with complete programs are in docs/tutorial.md, signs and bases in docs/conventions.md.
 *
 * What holds for all functions:
 * - A function that can fail returns a `kaon_status`. `kaon_last_error()` has a sentence about the
 *   failure, with the values that did not fit and a remedy.
 * - A pointer is `NULL` only where its function says so, else the call fails with ARGUMENT. A function
 *   that returns a value instead of a status takes a NULL object, and returns NULL, "" or 0.
 * - "Errors" lists status codes without their prefix `KAON_ERR_`.
 * - "Collective": all ranks of the context make the same call with the same arguments, and all get
 *   the same status. "Local": a rank may call alone.
 * - A function that creates an object writes `NULL` to its address when it fails.
 * - A function that destroys an object sets the caller's pointer to `NULL`, and accepts `NULL`. It
 *   is local, except as kaon_context_destroy() says.
 * - An object keeps alive what it was made from.
 * - A context and its objects are used by one thread at a time. A call fails with STATE while another
 *   thread is in a call with the same context. Different contexts may be used at the same time.
 * - An object that is at work is not used by the application's functions that it calls. Such a call
 *   fails with STATE.
 * - Host arrays are in memory of the host, unless a function's name ends in `_device`.
 * - Asynchronous functions return before the device is done. `kaon_context_synchronise()` waits.
 *
 * Options structs begin with `size` and `version`, which their `_INIT` macro sets. A program that
 * was compiled with an older header passes a smaller struct: the missing options then have their
 * defaults. A larger struct is accepted if all fields that this library does not know are 0.
 *
 * Output structs begin with `size`, which their `_INIT` macro sets. The library writes at most
 * `size` bytes, and sets fields that it does not know to 0. Structs without `size` never change. */
#ifndef KAON_KAON_H
#define KAON_KAON_H

#include <kaon/context.h>
#include <kaon/gauge.h>
#include <kaon/io.h>
#include <kaon/lattice.h>
#include <kaon/measure.h>
#include <kaon/multigrid.h>
#include <kaon/multishift.h>
#include <kaon/operator.h>
#include <kaon/precond.h>
#include <kaon/relax.h>
#include <kaon/solver.h>
#include <kaon/sparse.h>
#include <kaon/staggered.h>
#include <kaon/status.h>
#include <kaon/vector.h>

#endif

# KAON_COMM=auto|single|MPI|QMP chooses the communicator. This file sets KAON_WITH_RANKS and, if it is on, KAON_COMM_SOURCE and
# KAON_COMM_TARGETS. MPI must be 3.0 or newer. QMP (of USQCD, built over MPI) is looked for in CMAKE_PREFIX_PATH.
set(KAON_WITH_RANKS OFF)
if(NOT KAON_COMM MATCHES "^(auto|single|MPI|QMP)$")
  message(FATAL_ERROR "KAON_COMM is \"${KAON_COMM}\" but must be auto, single, MPI or QMP")
endif()
if(NOT KAON_COMM STREQUAL single)
  find_package(MPI 3.0 QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(KAON_WITH_RANKS ON)
    set(KAON_COMM_SOURCE lib/comm/comm_mpi.c lib/comm/comm_mpi_async.c lib/comm/comm_windows.c)
    set(KAON_COMM_TARGETS MPI::MPI_C)
    message(STATUS "communicator: MPI ${MPI_C_VERSION}, ${MPIEXEC_EXECUTABLE}")
  elseif(NOT KAON_COMM STREQUAL auto)
    message(FATAL_ERROR "KAON_COMM=${KAON_COMM}, but no MPI 3 was found; install one (Debian: libopenmpi-dev openmpi-bin), or "
                        "name its compiler by -DMPI_C_COMPILER=...")
  else()
    message(STATUS "communicator: no MPI 3, so one rank alone")
  endif()
endif()
if(KAON_COMM STREQUAL QMP)
  find_package(QMP REQUIRED)
  set(KAON_COMM_SOURCE lib/comm/comm_qmp.c)
  set(KAON_COMM_TARGETS QMP::qmp MPI::MPI_C)
  message(STATUS "communicator: QMP over it")
endif()

# How tests start ranks, which may be more than the machine has cores. The variables of Open MPI let root start ranks, let waiting
# ranks yield their core, and leave out the search for networks, which takes as long as the rest of a start.
if(KAON_WITH_RANKS)
  set(KAON_MPI_FLAGS "")
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE KAON_MPIEXEC_VERSION ERROR_QUIET)
  if(KAON_MPIEXEC_VERSION MATCHES "Open MPI|OpenRTE|PRRTE")
    set(KAON_MPI_FLAGS --oversubscribe --bind-to none)
  endif()
  set(KAON_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
      OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_pml=ob1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive)
endif()

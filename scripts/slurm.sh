#!/bin/bash
# slurm.sh - an example of a batch job on several nodes: sbatch scripts/slurm.sh
# There is one rank for each socket, with its threads on the socket's cores. With GPUs use one rank for each: set --ntasks-per-node and
# --gpus-per-node to the GPUs of a node. Every rank must see all of them; it uses the one with its local rank number. Set partition,
# account and modules for your machine.
#SBATCH --job-name=kaon
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=01:00:00
#SBATCH --signal=TERM@60
set -eu

export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
export OMP_PROC_BIND=close OMP_PLACES=cores

# 4 ranks: 2 in z, 2 in t. --resume reuses the columns that an earlier job has finished.
srun --cpu-bind=cores kaon invert --grid 1 1 2 2 \
  --gauge config.lime --kappa 0.130 --csw 1.769 --sloppy half --batch 4 \
  --output propagator.lime --correlators correlators.txt --report report.json --resume

#!/bin/bash
# slurm.sh - an example of a batch job on several nodes: sbatch scripts/slurm.sh
# A rank a socket, its threads on that socket's cores. With GPUs a rank each: --ntasks-per-node and --gpus-per-node are how many a
# node has (every rank must see all of them; each takes the one of its number on the node). Set partition, account and modules as your machine wants them.
#SBATCH --job-name=kaon
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=01:00:00
#SBATCH --signal=TERM@60
set -eu

export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
export OMP_PROC_BIND=close OMP_PLACES=cores

# 4 ranks: 2 in z, 2 in t. --resume takes over the columns that an earlier job of this kind had finished.
srun --cpu-bind=cores kaon invert --grid 1 1 2 2 \
  --gauge config.lime --kappa 0.130 --csw 1.769 --sloppy half --batch 4 \
  --output propagator.lime --correlators correlators.txt --report report.json --resume

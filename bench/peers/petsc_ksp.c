/* petsc_ksp.c - the same solves by PETSc, for comparison: b = A * ones, x0 = 0, unpreconditioned
 * residual. Not part of the build; petsc_compare.py compiles and runs it where PETSc is installed
 * (Debian: petsc-dev).
 *
 *   mpirun -n R petsc_ksp -matrix FILE.mtx|laplace3d:N -seconds 0.3 -ksp_type cg -pc_type jacobi
 *       -ksp_rtol 1e-8
 *
 * Prints one JSON object: rows, entries, ranks, iterations, seconds of the fastest KSPSolve and of
 * the median one, residual |b - A x| / |b|. Rows are divided by PETSc; every rank reads the file.
 * FILE: coordinate, real, general or symmetric. */
#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3, REPEATS_MAX = 1000 }; /* at least, while they take long; at most */

/* Rows [first, last) of A get room for `most` entries each. */
static PetscErrorCode make(PetscInt rows, PetscInt most, Mat *A, PetscInt *first, PetscInt *last) {
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, most, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, most, NULL, most, NULL));
  PetscCall(MatGetOwnershipRange(*A, first, last));
  PetscFunctionReturn(0);
}

static PetscErrorCode laplace(PetscInt n, Mat *A) {
  PetscInt first, last;
  PetscFunctionBeginUser;
  PetscCall(make(n * n * n, 7, A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt at[3] = {row % n, row / n % n, row / (n * n)}, step[3] = {1, n, n * n};
    PetscInt column[7], count = 0;
    PetscScalar value[7];
    column[count] = row;
    value[count++] = 6;
    for (int mu = 0; mu < 3; mu++)
      for (int sign = -1; sign <= 1; sign += 2) {
        if (at[mu] + sign < 0 || at[mu] + sign >= n) continue;
        column[count] = row + sign * step[mu];
        value[count++] = -1;
      }
    PetscCall(MatSetValues(*A, 1, &row, count, column, value, INSERT_VALUES));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode read_market(const char *path, Mat *A) {
  char line[1024] = "";
  long rows = 0, columns = 0, stored = 0, i, j;
  double x;
  PetscInt first, last, longest = 0;
  FILE *file = fopen(path, "r");
  PetscFunctionBeginUser;
  PetscCheck(file && fgets(line, sizeof line, file), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s",
             path);
  const int symmetric = strstr(line, "symmetric") != NULL;
  PetscCheck(strstr(line, "coordinate") && (strstr(line, "real") || strstr(line, "integer")) &&
                 (symmetric || strstr(line, "general")),
             PETSC_COMM_SELF, PETSC_ERR_SUP, "%s: not coordinate real general or symmetric", path);
  while (fgets(line, sizeof line, file) && line[0] == '%') continue;
  PetscCheck(sscanf(line, "%ld %ld %ld", &rows, &columns, &stored) == 3 && rows == columns,
             PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: size line", path);
  long *count = calloc((size_t)rows, sizeof *count);
  const long begin = ftell(file);
  for (int fill = 0; fill <= 1; fill++) {
    fseek(file, begin, SEEK_SET);
    for (long n = 0; n < stored; n++) {
      PetscCheck(fscanf(file, "%ld %ld %lf", &i, &j, &x) == 3, PETSC_COMM_SELF, PETSC_ERR_FILE_READ,
                 "%s: entry %ld", path, n);
      i--;
      j--;
      if (!fill) {
        count[i]++;
        if (symmetric && i != j) count[j]++;
        continue;
      }
      if (i >= first && i < last) PetscCall(MatSetValue(*A, i, j, x, INSERT_VALUES));
      if (symmetric && i != j && j >= first && j < last)
        PetscCall(MatSetValue(*A, j, i, x, INSERT_VALUES));
    }
    for (i = 0; i < rows && !fill; i++)
      if (count[i] > longest) longest = count[i];
    if (!fill) PetscCall(make(rows, longest, A, &first, &last));
  }
  free(count);
  fclose(file);
  PetscFunctionReturn(0);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static PetscErrorCode solve(Mat A, PetscReal least) {
  Vec x, b, r;
  KSP ksp;
  KSPType type;
  PC pc;
  PCType preconditioner;
  PetscReal size, residual;
  PetscInt iterations, rows;
  PetscMPIInt ranks;
  MatInfo info;
  double seconds[REPEATS_MAX], all = 0;
  PetscInt repeats = 0;
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetType(ksp, &type));
  if (strcmp(type, KSPBCGS) != 0 && strcmp(type, KSPIBCGS) != 0)
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  else
    PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetUp(ksp));
  for (; repeats < REPEATS_MAX && (repeats < REPEATS || all < least); repeats++) {
    PetscCall(VecSet(x, 0));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    const double begin = MPI_Wtime();
    PetscCall(KSPSolve(ksp, b, x));
    double took = MPI_Wtime() - begin;
    PetscCallMPI(MPI_Allreduce(&took, &seconds[repeats], 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    all += seconds[repeats]; /* the same on all ranks */
  }
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetType(pc, &preconditioner));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  qsort(seconds, (size_t)repeats, sizeof *seconds, by_size);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "{\"ksp\": \"%s\", \"pc\": \"%s\", \"rows\": %d, \"entries\": %.0f, "
                        "\"ranks\": %d, \"iterations\": %d, \"seconds\": %.6e, "
                        "\"seconds_median\": %.6e, \"residual\": %.3e, \"petsc\": \"%d.%d.%d\"}\n",
                        type, preconditioner, (int)rows, info.nz_used, ranks, (int)iterations,
                        seconds[0], seconds[repeats / 2], (double)(residual / size),
                        PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  char name[1024] = "laplace3d:32";
  PetscReal seconds = 0.3;
  Mat A = NULL;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", name, sizeof name, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  if (strncmp(name, "laplace3d:", 10) == 0)
    PetscCall(laplace(atoi(name + 10), &A));
  else
    PetscCall(read_market(name, &A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(solve(A, seconds));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/* solve.c - kaon solve: named by the program's contract, not built yet. */
#include "cli.h"

const cli_command command_solve = {
    "solve", "Solve A x = b with a sparse matrix (not in this version).",
    NULL,    "",
    NULL,    sizeof(cli_common),
    NULL,    "solve: sparse matrices are not built into this version; kaon --help lists what is"};

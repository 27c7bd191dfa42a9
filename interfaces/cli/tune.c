/* tune.c - kaon tune: named by the program's contract, not built yet. */
#include "cli.h"

const cli_command command_tune = {
    "tune", "Measure and keep kernel parameters (not in this version).",
    NULL,   "",
    NULL,   sizeof(cli_common),
    NULL,   "tune: tuning is not built into this version; kaon --help lists what is"};

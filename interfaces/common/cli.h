/* cli.h - what all files of the programs share: option tables, exit statuses, messages, contexts,
 * ranks, names of files. The programs include the library's public headers only. */
#ifndef KAON_COMMON_CLI_H
#define KAON_COMMON_CLI_H

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#define CLI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Exit statuses, by contract of the program. */
enum { EXIT_DONE = 0, EXIT_NOT_CONVERGED = 1, EXIT_USAGE = 2, EXIT_DEVICE = 3, EXIT_STOPPED = 130 };

/* How an option's value is typed and where it goes (the C type at `offset`). */
typedef enum cli_kind {
  CLI_GROUP,    /* a heading */
  CLI_FLAG,     /* int 0/1, no value */
  CLI_INT,      /* int in [min, max] */
  CLI_SEED,     /* uint64_t */
  CLI_REAL,     /* double in [min, max]; NaN: not given */
  CLI_TEXT,     /* const char * */
  CLI_FILE,     /* const char *: a file to write; its folder must exist */
  CLI_CHOICE,   /* int: index into "a|b|c"; -1: not given */
  CLI_SET,      /* unsigned: bit i for entry i of "a|b|c"; "a,c" on the command line */
  CLI_COUNTS,   /* cli_counts: "1,12" */
  CLI_EXTENTS,  /* int[4]: four words, or one such as 8x8x8x16; with max > 0 each is at least min */
  CLI_LATTICES, /* cli_lattices: the same, repeatable */
  CLI_TEXTS,    /* cli_texts: a text, repeatable */
  CLI_ALIAS,    /* an older name of the option `value`; no help shows it */
  CLI_TABLE     /* CLI_TABLE_ROW */
} cli_kind;

enum { CLI_LATTICES_MAX = 16 };
typedef struct cli_lattices {
  int count;
  int extents[CLI_LATTICES_MAX][4];
} cli_lattices;

enum { CLI_COUNTS_MAX = 16 };
typedef struct cli_counts {
  int count;
  int value[CLI_COUNTS_MAX];
} cli_counts;

enum { CLI_TEXTS_MAX = 64 };
typedef struct cli_texts {
  int count;
  const char *text[CLI_TEXTS_MAX];
} cli_texts;

typedef struct cli_option {
  cli_kind kind;
  const char *name;    /* long name; of a group: its heading */
  const char *value;   /* placeholder in the help; NULL for flags; of a choice: "a|b|c" */
  const char *preset;  /* default as the user would type it, or NULL */
  size_t offset;       /* into the subcommand's arguments */
  double min, max;     /* numbers; both 0: any */
  const char *meaning; /* help text; --help shows its first sentence, --help-all the whole */
} cli_option;

/* Rows of an option table: a heading; the end; an older name of an option; all rows of another
 * table, whose offsets count from `at`. */
#define CLI_GROUP_ROW(heading) \
  { CLI_GROUP, heading, NULL, NULL, 0, 0, 0, NULL }
#define CLI_END_ROW \
  { CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL }
#define CLI_ALIAS_ROW(older, newer) \
  { CLI_ALIAS, older, newer, NULL, 0, 0, 0, NULL }
#define CLI_TABLE_ROW(rows, at) \
  { CLI_TABLE, "table", (const char *)(rows), NULL, at, 0, 0, NULL }

enum { CLI_OPTIONS_MAX = 160, CLI_LINE_MAX = 512 };

/* What every subcommand's arguments begin with. */
typedef struct cli_common {
  int backend;            /* index into auto|cpu|cuda */
  int threads;            /* 0: the library's choice */
  double memory_limit;    /* GiB; NaN: none */
  double deflation_limit; /* forecasts: kaon_lab_options.deflation_limit; 0: the default */
  double reduce_delay;    /* seconds that a sum over ranks takes at least (bench solve) */
  int transport, overlap; /* CLI_RANKS_OPTIONS; 0 where a command has none: auto */
  int regime;             /* CLI_REGIMES; 0: auto */
  int sync;               /* CLI_SYNCS; 0: auto */
  double patience;        /* seconds that a device waits for another rank's; 0: the library's */
  const char *tuning;
  const char *report;
  int quiet;
  const char *operand;                /* the one non-option argument, or NULL */
  const char *given[CLI_OPTIONS_MAX]; /* names of the options on the command line, NULL between */
  char line[CLI_LINE_MAX]; /* the command line for rows of benchmarks, without output options */
} cli_common;

typedef struct cli_command {
  const char *name;
  const char *summary;  /* a line */
  const char *operand;  /* "FILE", "dslash|vector|solve", or NULL: none is taken */
  const char *examples; /* what the help ends with */
  const cli_option *options;
  size_t arguments; /* bytes */
  int (*run)(void *arguments);
  const char *absent; /* not NULL: the sentence that says why it cannot be run */
  const char *daily;  /* names of the options that --help shows, with spaces, in this order; NULL:
                         all. --help-all shows every option. */
} cli_command;

#define CLI_GRID_TEXT \
  "ranks in x, y, z, t; their product is the number of ranks (default: small faces)"

/* Values of options, in the order of kaon_transport, kaon_overlap, kaon_sync; the regimes in that
 * of a table in surroundings.c. */
#define CLI_TRANSPORTS "auto|peer|direct|nccl|host"
#define CLI_OVERLAPS "auto|fused|staged|none|updates"
#define CLI_REGIMES \
  "auto|cublas|kernels|merged|replay|dynamic|dynamic-tail|dynamic-cdp|dynamic-persistent"
#define CLI_SYNCS "auto|polling|blocking"

/* Rows of option tables that fill cli_common: how ranks exchange data, how kernels are issued, how
 * the host waits for a device. */
extern const cli_option cli_ranks_rows[], cli_regime_rows[], cli_sync_rows[];
#define CLI_RANKS_OPTIONS CLI_TABLE_ROW(cli_ranks_rows, 0)
#define CLI_REGIME_OPTION CLI_TABLE_ROW(cli_regime_rows, 0)
#define CLI_SYNC_OPTION CLI_TABLE_ROW(cli_sync_rows, 0)

/* Fills `arguments` from the presets and the command line (argv[0] is "kaon NAME"). Wrong usage is
 * reported in one sentence and ends the program with status 2. --help and --help-all end it with
 * status 0. */
void cli_parse(const cli_command *command, int argc, char **argv, void *arguments);
/* 1 if the option (named without --) was on the command line, with whatever value. */
int cli_option_given(const cli_common *common, const char *option);
/* Reads a decimal integer from 0 to 2^64 - 1. Returns 0 if `word` is anything else. */
int cli_read_seed(const char *word, uint64_t *seed);
/* "; did you mean --kappa?" with the nearest word of the list "a|b|c" and `before` in front of it,
 * or `otherwise` where none is near. Of "laplace2d:9" the part before the colon counts. */
const char *cli_did_you_mean(const char *words, const char *list, const char *before,
                             const char *otherwise, char text[160]);
/* The name of entry `index` of "a|b|c" into `name`. */
const char *cli_choice(const char *choices, int index, char name[32]);
/* The entry of this name; -1: there is none. */
int cli_choice_index(const char *choices, const char *name);

/* cli_print prints to stdout unless --quiet. cli_error prints one sentence to stderr, after "kaon:
 * ". */
void cli_print(const cli_common *common, const char *format, ...) CLI_PRINTF(2, 3);
void cli_error(const char *format, ...) CLI_PRINTF(1, 2);

/* Executes the program again with threads that spin only briefly at barriers, unless the
 * environment sets that already. Call it first in main. It returns where nothing has to change. */
void cli_spin_shortly(char **argv);

/* Flushes stdout. Returns `code`, or EXIT_DEVICE (after a message) where `code` is EXIT_DONE but
 * the output was lost, as on a full disk or a closed pipe. */
int cli_printed(int code);
/* Prints an error sentence, returns EXIT_USAGE. */
int cli_wrong(const char *format, ...) CLI_PRINTF(1, 2);
/* Prints the library's message for a failed call, after `what` (an option) unless that is NULL.
 * Returns the matching exit status; EXIT_DONE for KAON_OK. */
int cli_status(const kaon_context *ctx, kaon_status status, const char *what);
/* The same for a failed write: a full disk gives EXIT_DEVICE. */
int cli_write_status(const kaon_context *ctx, kaon_status status, const char *what);

/* The name, in CLI_REGIMES, of a way of issuing steps. */
const char *cli_regime(kaon_issue issue, char name[32]);
/* Processor time of this process so far, of all threads, in seconds. */
double cli_cpu_seconds(void);

/* What contexts are made with. */
kaon_context_options cli_context_options(const cli_common *common, kaon_lab_options *lab);
/* Creates the context of --backend, --threads, --memory-limit and --tuning. Exit status; *ctx is
 * NULL unless it is EXIT_DONE. */
int cli_context(const cli_common *common, kaon_context **ctx);

/* --- several ranks (ranks.c) --- */
/* Finds out whether a launcher (mpirun, srun) started this process as one of several. All ranks
 * but the first print nothing from here on. */
void ranks_start(void);
/* Notes a word of the command line that must be the same on all ranks, in its order. ranks_context
 * refuses ranks that differ. */
void ranks_note_option(const char *word);
/* 1 if so. */
int ranks_launched(void);
/* Creates the context of all ranks with the grid of --grid (zeros: automatic), or of this process
 * where no launcher started it. Exit status. */
int ranks_context(const cli_common *common, const int grid[4], kaon_context **ctx);
/* Refuses values of --transport and --overlap that the backend does not support. Exit status. */
int ranks_check(const cli_common *common, const kaon_context *ctx);
/* 1 on the rank that writes text files. */
int ranks_first(void);
/* Number of processes as the launcher reports it. 1: no launcher; 0: it does not say. */
int ranks_started(void);
/* Number of ranks, and of those on this node. Both 1 without a launcher. */
int ranks_count(void);
int ranks_on_node(void);
/* x[i] becomes the maximum, or the sum, over all ranks, i < n <= RANKS_NUMBERS. Values that are
 * not finite stay so. Collective; nothing to do on one rank. */
enum { RANKS_NUMBERS = 8 };
kaon_status ranks_most(double *x, int n);
kaon_status ranks_sum(double *x, int n);
/* *any: 1 on all ranks if the user asked any rank to stop. Collective. Exit status. */
int ranks_interrupted(int *any);
/* Gathers each rank's text, cut to RANKS_TEXT - 1 characters, into all[rank]. `all` has
 * ranks_count() entries. */
enum { RANKS_TEXT = 256 };
kaon_status ranks_texts(const char *mine, char (*all)[RANKS_TEXT]);
/* On a silent rank: stores the message in case this rank alone fails, and returns 1. Elsewhere 0. */
int ranks_hold_back(const char *format, va_list args);
/* Makes the exit status of a step the same on all ranks: that of the first rank that failed. */
int ranks_agree(int code);
/* Ends the program with exit status `code`, together with the other ranks. A rank that failed
 * waits three seconds for them. */
void ranks_end(int code);

/* Seconds of "100us", given to --option; NULL: 0. Exit status. */
int cli_read_time(const char *option, const char *text, double *seconds);
/* The last part of a path; "weak:0.3" and the like as they are. */
const char *cli_name(const char *path);
double cli_now(void); /* seconds of a monotonic clock */
/* "1.23 GiB" */
const char *cli_bytes(double bytes, char text[32]);
/* Peak resident set of this process, bytes. */
double cli_peak_resident(void);
/* Longest file name in bytes. A temporary file's suffix (".PID-N.part", ".partial") must fit in
 * the 255 bytes of file systems too. */
enum { CLI_NAME_MAX = 220 };
/* Why a file cannot be written, as a sentence: "NAME: the folder DIR does not exist". NULL: it can
 * be. The caller frees it. */
char *cli_file_trouble(const char *path);
/* Reports the same about an option; path NULL: not given. Exit status. */
int cli_writable(const char *option, const char *path);
/* The file that a symbolic link leads to, or a copy of the path. The caller frees it. NULL: no
 * memory. */
char *cli_target(const char *path);

/* Refuses a file that is larger than the free disk space, before any work. A file of this name
 * stays until the new one is complete, so its bytes are not free. `least`: bytes that it has in
 * any case; where only the `likely` bytes exceed the space, a note. The first rank checks.
 * Collective. Exit status, the same on all ranks. */
int cli_check_disk_space(const char *option, const char *path, double least, double likely);

/* A file that a command reads or writes, and the option that names it. */
typedef struct cli_path {
  const char *option, *path; /* path NULL: not given */
} cli_path;
/* Refuses two options that name the same file, however it is spelled. Exit status. */
int cli_distinct(const cli_path *paths, int count);
/* The same of one input file and all output files. */
int cli_check_overwrite(const char *option, const char *input, const cli_path *outputs, int count);

#endif

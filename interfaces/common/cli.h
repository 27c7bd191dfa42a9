/* cli.h - what the files of the kaon program share: option tables, the run's surroundings, exit
 * statuses. The program sees the library through include/kaon alone. */
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
  CLI_FILE,     /* const char *, to be written: its folder must exist, before any work is done */
  CLI_CHOICE,   /* int: index into "a|b|c"; -1: not given */
  CLI_SET,      /* unsigned: bit i for entry i of "a|b|c"; "a,c" on the command line */
  CLI_COUNTS,   /* cli_counts: "1,12" */
  CLI_EXTENTS,  /* int[4]: four arguments, or one such as 8x8x8x16; max > 0: each from min on */
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
  char line[CLI_LINE_MAX]; /* the command line as benchmarks quote it: files without their folders,
                              nothing of what is to be written */
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
/* 1 if the option, named without --, was on the command line: its value may be the preset all the
 * same. */
int cli_option_given(const cli_common *common, const char *option);
/* A decimal integer from 0 to 2^64 - 1 and nothing else; 1 if it is that. */
int cli_read_seed(const char *word, uint64_t *seed);
/* "; did you mean --kappa?" with the nearest word of the list "a|b|c" and `before` in front of it,
 * or `otherwise` where none is near. */
const char *cli_did_you_mean(const char *word, const char *list, const char *before,
                             const char *otherwise, char text[160]);
/* The name of entry `index` of "a|b|c" into `name`. */
const char *cli_choice(const char *choices, int index, char name[32]);

/* To stdout unless --quiet; errors and warnings to stderr, one sentence a line, "kaon: " before. */
void cli_print(const cli_common *common, const char *format, ...) CLI_PRINTF(2, 3);
void cli_error(const char *format, ...) CLI_PRINTF(1, 2);

/* Begins the program once more with threads that spin but shortly at barriers, unless the
 * environment says how long (threads.c). First in main; returns where nothing has to change. */
void cli_spin_shortly(char **argv);

/* Flushes stdout. `code`, or EXIT_DEVICE after a sentence where that is EXIT_DONE but what was
 * printed did not arrive: a full disk or a closed pipe is an error like any other. */
int cli_printed(int code);
/* Prints an error sentence, returns EXIT_USAGE. */
int cli_wrong(const char *format, ...) CLI_PRINTF(1, 2);
/* Prints the library's sentence for a failed call (after `what`, an option, unless NULL) and
 * returns the exit status that belongs to it; EXIT_DONE for KAON_OK. */
int cli_status(const kaon_context *ctx, kaon_status status, const char *what);
/* The same for a failed write: a full disk is a matter of resources. */
int cli_write_status(const kaon_context *ctx, kaon_status status, const char *what);

/* The name, in CLI_REGIMES, of a way of issuing steps. */
const char *cli_regime(kaon_issue issue, char name[32]);
/* Seconds of processor time of this process so far, all threads together. */
double cli_cpu_seconds(void);

/* What contexts are made with. */
kaon_context_options cli_context_options(const cli_common *common, kaon_lab_options *lab);
/* The context that --backend, --threads, --memory-limit and --tuning ask for; none where the exit
 * status is not EXIT_DONE. */
int cli_context(const cli_common *common, kaon_context **ctx);

/* --- several ranks (ranks.c) --- */
/* Looks whether a launcher (mpirun, srun) started this process as one of several; all but the first
 * fall silent. */
void ranks_start(void);
/* A word of the command line that all ranks need alike, in its order: ranks_context refuses ranks
 * that were told different ones. */
void ranks_note_option(const char *word);
/* 1 if so. */
int ranks_launched(void);
/* The context of all ranks with the grid of --grid (zeros: chosen); of this process alone where no
 * launcher started it. Exit status. */
int ranks_context(const cli_common *common, const int grid[4], kaon_context **ctx);
/* Refuses --transport and --overlap where the backend that was found does not know them. Exit
 * status. */
int ranks_check(const cli_common *common, const kaon_context *ctx);
/* 1 on the rank that writes text files. */
int ranks_first(void);
/* How many processes the launcher started, by what it says; 1 without a launcher, 0: it does not
 * say. */
int ranks_started(void);
/* How many ranks there are, and how many of them on this node; both 1 without a launcher. */
int ranks_count(void);
int ranks_on_node(void);
/* x[i] becomes the largest, or the sum, of all ranks' x[i], i < n <= RANKS_NUMBERS; numbers that
 * are not finite stay so. Barriers, too. Nothing to do on one rank. */
enum { RANKS_NUMBERS = 8 };
kaon_status ranks_most(double *x, int n);
kaon_status ranks_sum(double *x, int n);
/* *any: whether the user asked any rank to stop, the same on all ranks, each of which was asked
 * from then on. The exit status, said where it is not EXIT_DONE. Collective: between steps that
 * ranks take together. */
int ranks_interrupted(int *any);
/* Each rank's text, cut to RANKS_TEXT - 1 characters, into all[rank]; `all` has ranks_count()
 * places. */
enum { RANKS_TEXT = 256 };
kaon_status ranks_texts(const char *mine, char (*all)[RANKS_TEXT]);
/* On a silent rank: keeps the sentence for its end, should it fail alone; 1. Elsewhere 0. */
int ranks_hold_back(const char *format, va_list args);
/* A step's exit status that may differ from rank to rank: all get that of the first which failed.
 */
int ranks_agree(int code);
/* The end of the program with exit status `code`: together with the other ranks if they come to it,
 * for which a rank that failed waits three seconds. */
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
/* Bytes of the last part of a path; with what is put behind it for a file that is written aside
 * (".PID-N.part", ".partial") a file system's 255 hold. */
enum { CLI_NAME_MAX = 220 };
/* What keeps a file from being written, of the name and of what it leads to: "NAME: its folder does
 * not exist ...", the caller's. NULL: nothing. */
char *cli_file_trouble(const char *path);
/* The same as a sentence about an option; path NULL: not given. Exit status. */
int cli_writable(const char *option, const char *path);
/* The file that a symbolic link leads to, or the path itself: the caller's, NULL without memory. */
char *cli_target(const char *path);

/* Refuses a file, before the work, that would be larger than what is free where it goes, by what
 * the first rank sees; one that is there already stays until the new one is whole, so its bytes do
 * not count as free. `least`: bytes that it has in any case; where the `likely` ones are too many,
 * a note. Collective. Exit status, of all ranks alike. */
int cli_check_disk_space(const char *option, const char *path, double least, double likely);

/* A file that a command reads or writes, and the option that names it. */
typedef struct cli_path {
  const char *option, *path; /* path NULL: not given */
} cli_path;
/* Refuses two options that name one file, whatever way it is spelled. Exit status. */
int cli_distinct(const cli_path *paths, int count);
/* The same of a file that is read and each of those that are written. */
int cli_check_overwrite(const char *option, const char *input, const cli_path *outputs, int count);

#endif

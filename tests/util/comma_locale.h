/* comma_locale.h - a locale whose decimal point is a comma: an installed one, else a German one
 * that localedef makes for this process. */
#ifndef COMMA_LOCALE_H
#define COMMA_LOCALE_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static inline int comma_locale_set(const char *name) {
  return setlocale(LC_ALL, name) != NULL && localeconv()->decimal_point[0] == ',';
}

static char comma_locale_folder[] = "/tmp/kaon-locale-XXXXXX";

static inline void comma_locale_remove(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", comma_locale_folder);
  if (system(command) != 0) fprintf(stderr, "%s stays\n", comma_locale_folder);
}

/* localedef takes a second or more: once a process. 0: there is none. */
static inline int comma_locale_make(void) {
  static int made = -1;
  char command[128];
  if (made >= 0) return made;
  made = mkdtemp(comma_locale_folder) != NULL;
  if (!made) return 0;
  atexit(comma_locale_remove);
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/kaon.UTF-8 >%s/said 2>&1",
           comma_locale_folder, comma_locale_folder);
  made = system(command) != -1; /* warnings are a status too: setlocale() will tell */
  return made;
}

/* 1: the process has it until setlocale(LC_ALL, "C"). 0: there is none, and a message says so. */
static inline int comma_locale(void) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
                                      "nl_NL.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (comma_locale_set(names[i])) return 1;
  int found = comma_locale_make();
  if (found) {
    setenv("LOCPATH", comma_locale_folder, 1);
    found = comma_locale_set("kaon.UTF-8");
    unsetenv("LOCPATH");
  }
  if (!found) {
    setlocale(LC_ALL, "C");
    printf("  no locale with a decimal comma, and localedef makes none: skipped\n");
  }
  return found;
}

#endif

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

/* 1: the process has it until setlocale(LC_ALL, "C"). 0: there is none, and a message says so. */
static inline int comma_locale(void) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
                                      "nl_NL.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (comma_locale_set(names[i])) return 1;
  char folder[] = "/tmp/kaon-locale-XXXXXX", command[128];
  int found = 0;
  if (mkdtemp(folder) != NULL) {
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/kaon.UTF-8 >%s/said 2>&1",
             folder, folder);
    const int made = system(command); /* warnings are a status too */
    setenv("LOCPATH", folder, 1);
    found = made != -1 && comma_locale_set("kaon.UTF-8");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) fprintf(stderr, "%s stays\n", folder);
  }
  if (!found) {
    setlocale(LC_ALL, "C");
    printf("  no locale with a decimal comma, and localedef makes none: skipped\n");
  }
  return found;
}

#endif

/* suggest.c - "did you mean": the nearest word of a list, by edit distance. */
#include <stdio.h>
#include <string.h>

#include "interfaces/common/cli.h"

enum { WORD_MAX = 48 };

static int smallest(int a, int b, int c) {
  const int least = a < b ? a : b;
  return least < c ? least : c;
}

/* Letters to insert, delete, replace or swap with their neighbour to make `b` of `a`. */
static int distance(const char *a, const char *b) {
  const int m = (int)strlen(a), n = (int)strlen(b);
  int cost[WORD_MAX + 1][WORD_MAX + 1];
  if (m > WORD_MAX || n > WORD_MAX) return WORD_MAX;
  for (int i = 0; i <= m; i++)
    for (int j = 0; j <= n; j++) {
      cost[i][j] = i + j;
      if (i == 0 || j == 0) continue;
      cost[i][j] = smallest(cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                            cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          cost[i - 2][j - 2] + 1 < cost[i][j])
        cost[i][j] = cost[i - 2][j - 2] + 1;
    }
  return cost[m][n];
}

static const char *nearest(const char *word, const char *list, char name[32]) {
  char entry[32];
  int best = ((int)strlen(word) + 2) / 3 + 1; /* a third of the letters may be wrong */
  name[0] = '\0';
  for (int i = 0; cli_choice(list, i, entry)[0] != '?'; i++) {
    const int d = distance(word, entry);
    if (d >= best) continue;
    best = d;
    strcpy(name, entry);
  }
  return name[0] ? name : NULL;
}

const char *cli_did_you_mean(const char *words, const char *list, const char *before,
                             const char *otherwise, char text[160]) {
  char name[32], word[WORD_MAX + 1];
  snprintf(word, sizeof word, "%.*s", (int)strcspn(words, ":"), words);
  if (nearest(word, list, name) && strcmp(word, name) != 0)
    snprintf(text, 160, "; did you mean %s%s?", before, name);
  else
    snprintf(text, 160, "%s", otherwise);
  return text;
}

/* try.h - choices between variants, for a comparison on a device. */
#ifndef KAON_LIB_TRY_H
#define KAON_LIB_TRY_H
#ifdef __cplusplus
extern "C" {
#endif
typedef struct kaon_tries {
  int dot_chunks;  /* at most; 0: by rule */
  int no_prefetch; /* of a dot's first batch */
  int flat_loop;   /* the loop of a recording: services in an IF of the one WHILE */
  int no_slack;    /* timer slack as it is */
  int flat_end;    /* nothing queued behind the loop */
  int stamps;      /* taken */
  double wall[16], cpu[16];
} kaon_tries;
extern kaon_tries kaon_try;
void kaon_stamp(int i);
#ifdef __cplusplus
}
#endif
#endif

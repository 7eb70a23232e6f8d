/*
 * Shifts the wall clock of one process by as many nanoseconds as stand in a file (8 bytes, in the machine's order), at once
 * whenever they change. Preloaded into a server. The monotonic clock stays as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("HOLDFAST_CLOCK_FILE");
  int file = path == NULL ? -1 : open(path, O_RDONLY);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) shift = mapped;
  close(file);
}

static int64_t now(clockid_t clock) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  struct timespec time;
  real(clock, &time);
  int64_t nanos = time.tv_sec * 1000000000LL + time.tv_nsec;
  int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  return nanos + (is_wall && shift != NULL ? *shift : 0);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int64_t nanos = now(clock);
  time->tv_sec = nanos / 1000000000LL;
  time->tv_nsec = nanos % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  int64_t micros = now(CLOCK_REALTIME) / 1000;
  time->tv_sec = micros / 1000000LL;
  time->tv_usec = micros % 1000000LL;
  return 0;
}

time_t time(time_t *result) {
  time_t seconds = now(CLOCK_REALTIME) / 1000000000LL;
  if (result != NULL) *result = seconds;
  return seconds;
}

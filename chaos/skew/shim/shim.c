// A preloaded library that moves the wall clock of a process by what a control file
// says. CLOCK_MONOTONIC is left alone. It runs inside allocators and signal
// handlers: raw system calls only, nothing allocated, no symbol looked up.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct setting { int64_t offset, anchor; double rate; };  // control.go writes it
struct control { uint64_t current, unused[7]; struct setting settings[2]; };
static struct control *control;
_Static_assert(sizeof(long) == 8, "the system call has another struct timespec on 32-bit machines");

__attribute__((constructor)) static void load(void) {
	const char *name = getenv("REDLOCK_SKEW");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) return;
	void *p = mmap(0, sizeof *control, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) control = p;
	close(fd);
}

// The writer changes the setting that is not current and then makes it so. The
// time is read again if that happened meanwhile, so that every reading is one of
// a setting while it was in force; a writer that dies blocks nobody.
int clock_gettime(clockid_t id, struct timespec *t) {
	if (!control || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return syscall(SYS_clock_gettime, id, t);
	for (;;) {
		uint64_t n = __atomic_load_n(&control->current, __ATOMIC_ACQUIRE);
		volatile struct setting *from = &control->settings[n % 2];
		struct setting s = { from->offset, from->anchor, from->rate };
		if (syscall(SYS_clock_gettime, CLOCK_REALTIME, t)) return -1;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (n != __atomic_load_n(&control->current, __ATOMIC_RELAXED)) continue;
		int64_t now = t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
		now += s.offset + (int64_t)((s.rate - 1) * (double)(now - s.anchor));
		t->tv_sec = now / 1000000000;
		t->tv_nsec = now % 1000000000;
		return 0;
	}
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec now;
	if (zone) *(struct timezone *)zone = (struct timezone){0};
	if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}

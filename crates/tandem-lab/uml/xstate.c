/*
 * For processors with more registers than User-Mode Linux knows.
 *
 * UML (6.1) keeps 2,696 bytes of extended processor state for a process of its guest: everything up
 * to AVX-512 and PKRU. The host's kernel takes the whole state or nothing (EFAULT), and on processors
 * with AMX it is larger, so that no guest's init ever starts. Preloaded into UML, this hands the
 * state over with the rest of it in its initial state, which is what it is: nobody has asked for
 * the permission to use AMX.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

static __thread char whole[65536] __attribute__((aligned(64)));
static __thread size_t size;

long ptrace(enum __ptrace_request request, ...)
{
	static long (*next)(int, pid_t, void *, void *);
	struct iovec all = { whole, sizeof whole }, *part;
	void *addr, *data;
	va_list args;
	pid_t pid;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (!next)
		next = (long (*)(int, pid_t, void *, void *))dlsym(RTLD_NEXT, "ptrace");
	if (request != PTRACE_SETREGSET || (long)addr != NT_X86_XSTATE)
		return next(request, pid, addr, data);
	if (!size) {
		if (next(PTRACE_GETREGSET, pid, addr, &all) < 0)
			return -1;
		size = all.iov_len;
		memset(whole, 0, sizeof whole);
	}
	part = data;
	if (part->iov_len >= size)
		return next(request, pid, addr, data);
	memcpy(whole, part->iov_base, part->iov_len);
	all.iov_len = size;
	return next(request, pid, addr, &all);
}

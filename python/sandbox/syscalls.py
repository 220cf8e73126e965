"""Numbers of the system calls that sandboxed programs may make, on x86-64 and on arm64.

One row per call: (x86-64, arm64); None where the architecture has no such call. The numbers are
those of the kernel's unistd.h; test/sandbox/syscalls.test.ts holds them against the headers.
"""
from __future__ import annotations

# Calls that every program may make, whatever the arguments.
BASE: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "open": (2, None), "close": (3, 57),
    "stat": (4, None), "fstat": (5, 80), "lstat": (6, None), "poll": (7, None),
    "lseek": (8, 62), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215),
    "brk": (12, 214), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65),
    "writev": (20, 66), "access": (21, None), "pipe": (22, None), "select": (23, None),
    "sched_yield": (24, 124), "mremap": (25, 216), "msync": (26, 227), "mincore": (27, 232),
    "madvise": (28, 233), "dup": (32, 23), "dup2": (33, None), "pause": (34, None),
    "nanosleep": (35, 101), "getitimer": (36, 102), "alarm": (37, None), "setitimer": (38, 103),
    "getpid": (39, 172), "recvfrom": (45, 207), "shutdown": (48, 210), "getsockname": (51, 204),
    "exit": (60, 93), "uname": (63, 160), "flock": (73, 32), "fsync": (74, 82),
    "fdatasync": (75, 83), "ftruncate": (77, 46), "getdents": (78, None), "getcwd": (79, 17),
    "chdir": (80, 49), "readlink": (89, None), "umask": (95, 166), "gettimeofday": (96, 169),
    "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179), "times": (100, 153),
    "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177),
    "getppid": (110, 173), "getpgrp": (111, None), "getgroups": (115, 158),
    "getresuid": (118, 148), "getresgid": (120, 150), "getpgid": (121, 155), "getsid": (124, 156),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "statfs": (137, 43), "fstatfs": (138, 44),
    "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    "arch_prctl": (158, None), "gettid": (186, 178), "time": (201, None), "futex": (202, 98),
    "sched_getaffinity": (204, 123), "getdents64": (217, 61), "set_tid_address": (218, 96),
    "restart_syscall": (219, 128), "fadvise64": (221, 223), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "exit_group": (231, 94),
    "epoll_wait": (232, None), "epoll_ctl": (233, 21), "openat": (257, 56),
    "newfstatat": (262, 79), "readlinkat": (267, 78), "faccessat": (269, 48),
    "pselect6": (270, 72), "ppoll": (271, 73), "set_robust_list": (273, 99),
    "get_robust_list": (274, 100), "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    "epoll_create1": (291, 20), "dup3": (292, 24), "pipe2": (293, 59), "preadv": (295, 69),
    "pwritev": (296, 70), "getcpu": (309, 168), "getrandom": (318, 278),
    "membarrier": (324, 283), "statx": (332, 291), "rseq": (334, 293),
    "close_range": (436, 436), "faccessat2": (439, 439),
}

# Calls whose arguments the filter looks at; seccomp.py has a rule for each.
CHECKED: dict[str, tuple[int | None, int | None]] = {
    "ioctl": (16, 29), "sendto": (44, 206), "socketpair": (53, 199), "clone": (56, 220),
    "kill": (62, 129), "fcntl": (72, 25), "prctl": (157, 167), "tgkill": (234, 131),
    "prlimit64": (302, 261), "clone3": (435, 435),
}

# A compiled or interpreted program is started by exec, after the filter is in place.
EXEC: dict[str, tuple[int | None, int | None]] = {"execve": (59, 221)}

# Shells and compilers start processes of their own.
TREE: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None), "vfork": (58, None), "wait4": (61, 260), "setpgid": (109, 154),
    "setsid": (112, 157), "waitid": (247, 95),
}

# Compilers change files of their own folder; programs never need to.
FILES: dict[str, tuple[int | None, int | None]] = {
    "rename": (82, None), "mkdir": (83, None), "rmdir": (84, None), "creat": (85, None),
    "link": (86, None), "unlink": (87, None), "chmod": (90, None), "fchmod": (91, 52),
    "utime": (132, None), "mkdirat": (258, 34), "unlinkat": (263, 35), "renameat": (264, 38),
    "linkat": (265, 37), "fchmodat": (268, 53), "utimensat": (280, 88), "fallocate": (285, 47),
    "renameat2": (316, 276), "copy_file_range": (326, 285), "sendfile": (40, 71),
}

# machine name -> (column above, AUDIT_ARCH of the kernel)
ARCHITECTURES: dict[str, tuple[int, int]] = {
    "x86_64": (0, 0xC000003E),
    "aarch64": (1, 0xC00000B7),
}

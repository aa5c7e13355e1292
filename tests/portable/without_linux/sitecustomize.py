"""Python without what only Linux has: with this folder in PYTHONPATH, a program and its children run as on macOS.

As far as that goes: the calls and constants are gone that Python has on Linux and not on macOS, together with the
vectored writes that older versions of macOS lack. /proc seems not to exist. The system call for a full sync is there,
and is refused, as on a file system that does not know it.
"""

import errno
import fcntl
import os
from importlib import import_module

_GONE = {
    "os": (
        "fdatasync memfd_create MFD_ RWF_ preadv pwritev posix_fadvise posix_fallocate POSIX_FADV_ copy_file_range"
        " splice SPLICE_ eventfd EFD_ getrandom GRND_ pidfd_open P_PIDFD pipe2 sched_ SCHED_ getxattr setxattr"
        " listxattr removexattr XATTR_ O_DIRECT O_PATH O_TMPFILE O_NOATIME O_RSYNC O_LARGEFILE getresuid setresuid"
        " getresgid setresgid waitid"
    ),
    "select": "epoll EPOLL",
    "signal": "sigwaitinfo sigtimedwait pidfd_send_signal SIGPWR SIGSTKFLT SIGRTM SIGPOLL SIGCLD",
    "socket": "TCP_KEEPIDLE TCP_USER_TIMEOUT TCP_CORK TCP_QUICKACK TCP_INFO SO_PEERCRED SO_BINDTODEVICE MSG_MORE",
    "fcntl": "F_SETPIPE_SZ F_GETPIPE_SZ F_ADD_SEALS F_GET_SEALS F_SEAL_ F_NOTIFY",
    "resource": "prlimit RUSAGE_THREAD RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO",
}

for module_name, names in _GONE.items():
    module = import_module(module_name)  # in this order: `socket` makes `selectors` look for epoll
    beginnings = tuple(name for name in names.split() if name.endswith("_") or name in ("EPOLL", "SIGRTM"))
    whole = set(names.split())
    for name in dir(module):
        if name in whole or (beginnings and name.startswith(beginnings)):
            delattr(module, name)

fcntl.F_FULLFSYNC = 51  # its number on macOS; here it is refused with EINVAL

_stat = os.stat


def _stat_without_proc(path, *arguments, **options):
    if not isinstance(path, int) and os.fsdecode(path).startswith("/proc/"):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return _stat(path, *arguments, **options)


os.stat = _stat_without_proc

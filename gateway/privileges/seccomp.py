"""A seccomp filter that refuses the system calls no gateway needs (seccomp(2), x86-64).

CAP_SYS_PTRACE gives write access to every process's memory if the calls that write it are permitted: seen, a process
running as nobody with the gateway's six capabilities overwrote the memory of a root process by process_vm_writev(2) and
started a program. A filter cannot distinguish paths (/proc/PID/mem, files); there the user's own permissions decide.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Final

# arch/x86/entry/syscalls/syscall_64.tbl
REFUSED: Final = {
    # Starting programs.
    "execve": 59, "execveat": 322, "uselib": 134,
    # Other processes: writing their memory, descriptors, pages, killing. Memory is read by /proc/PID/mem.
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "process_madvise": 440,
    "process_mrelease": 448, "pidfd_getfd": 438, "kcmp": 312, "migrate_pages": 256, "move_pages": 279,
    # Loading code into the kernel.
    "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320,
    # Changing the view of the machine.
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "open_tree_attr": 467,
    "setns": 308, "unshare": 272,
    # CAP_DAC_READ_SEARCH opens any file of a file system by its handle, also outside of a container.
    "open_by_handle_at": 304,
    # Frequent entry points of attacks on kernels; a filter does not see io_uring's calls.
    "userfaultfd": 323, "add_key": 248, "request_key": 249, "keyctl": 250, "io_uring_setup": 425,
    "io_uring_enter": 426, "io_uring_register": 427, "modify_ldt": 154, "fanotify_init": 300,
    # The machine's administration, and the other half of CAP_SYSLOG: the kernel's log, and clearing it.
    "syslog": 103, "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163, "iopl": 172, "ioperm": 173,
    "settimeofday": 164, "clock_settime": 227, "sethostname": 170, "setdomainname": 171, "quotactl": 179,
    "quotactl_fd": 443, "vhangup": 153,
}  # fmt: skip
# Of bpf(2) only commands for the maps of programs loaded before: update, delete, next key (include/uapi/linux/bpf.h).
_BPF: Final = 321
_BPF_PERMITTED: Final = (2, 3, 4)
_CLONE: Final = 56
_CLONE3: Final = 435
# include/uapi/linux/sched.h: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_NEW_NAMESPACES: Final = 0x7E020000

# include/uapi/linux/{audit,seccomp,bpf_common}.h, struct seccomp_data: nr, arch, instruction_pointer, args
_X86_64: Final = 0xC000003E
_X32: Final = 0x40000000
_NR, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000

_SECCOMP: Final = 317
_SET_MODE_FILTER: Final = 1
# Without it kernels before 5.16 disable speculation for the whole process: captures would cost more.
_SPECULATE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_MODE_FILTER: Final = 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def build_filter() -> bytes:
    """Instructions (struct sock_filter): EPERM for `REFUSED`, new namespaces, and calls with i386's and x32's numbers.

    Of bpf(2), whose first argument is the command, `_BPF_PERMITTED` passes.

    clone3's flags lie in memory that a filter cannot read: it gets ENOSYS, on which C libraries fall back to clone.
    """
    count = len(REFUSED)
    clone = count + 5 + 1 + len(_BPF_PERMITTED) + 2
    allow, refuse, unknown = clone + 3, clone + 4, clone + 5
    program = bytearray()

    def put(code: int, value: int, yes: int | None = None, no: int | None = None) -> None:
        """`yes` and `no` are the indexes of the instructions to jump to; None: the next."""
        following = len(program) // 8 + 1
        program.extend(
            struct.pack("=HBBI", code, *(0 if to is None else to - following for to in (yes, no)), value)
        )

    put(_LOAD, _ARCH)
    put(_EQUAL, _X86_64, no=refuse)
    put(_LOAD, _NR)
    put(_AT_LEAST, _X32, yes=refuse)
    for number in REFUSED.values():
        put(_EQUAL, number, yes=refuse)
    put(_EQUAL, _CLONE3, yes=unknown)
    put(_EQUAL, _BPF, no=clone)
    put(_LOAD, _FIRST_ARGUMENT)
    for command in _BPF_PERMITTED:
        put(_EQUAL, command, yes=allow)
    put(_ANY_BIT, 0, no=refuse)  # always
    put(_EQUAL, _CLONE, no=allow)
    put(_LOAD, _FIRST_ARGUMENT)
    put(_ANY_BIT, _NEW_NAMESPACES, yes=refuse)
    put(_RETURN, _ALLOW)
    put(_RETURN, _ERRNO | errno.EPERM)
    put(_RETURN, _ERRNO | errno.ENOSYS)
    return bytes(program)


def refuse_system_calls() -> str:
    """Install the filter for this thread and everything it starts, for good; returns the error, or "".

    `no_new_privs` must be set. Installed filters stay in force.
    """
    if (machine := os.uname().machine) != "x86_64":
        return f"system call numbers of {machine} are unknown"
    program = build_filter()
    held = ctypes.create_string_buffer(program)
    described = ctypes.byref(_Program(len(program) // 8, ctypes.addressof(held)))
    libc = ctypes.CDLL(None, use_errno=True)
    if not libc.syscall(*map(ctypes.c_long, (_SECCOMP, _SET_MODE_FILTER, _SPECULATE)), described):
        return ""
    # Before Linux 4.17, and under filters that permit only the older call.
    if not libc.prctl(*map(ctypes.c_ulong, (_PR_SET_SECCOMP, _PR_MODE_FILTER)), described):
        return ""
    return f"seccomp: {os.strerror(ctypes.get_errno())}"

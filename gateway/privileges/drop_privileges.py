"""Drops all privileges that the gateway does not need, before it serves anyone (DIGEST G7).

It keeps the capabilities that sampling needs (capabilities.py), if it was started with them, and can never gain
another. It can start no programs and write into no processes (seccomp.py), leaves no core files (a stack copy may hold
secrets), and no other process of its user can read its memory. Landlock is not used: a process inside a Landlock domain
may not read the maps of processes outside of it (security/landlock/task.c, hook_ptrace_access_check), which a profiler
must.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import resource
from dataclasses import dataclass
from typing import Final

from gateway.errors import CannotConfine
from gateway.privileges.capabilities import (
    SETPCAP,
    Capability,
    capabilities_to_keep,
    last_capability,
    own_sets,
    paranoid_level,
)
from gateway.privileges.seccomp import refuse_system_calls

# include/uapi/linux/prctl.h
_SET_DUMPABLE: Final = 4
_SET_KEEPCAPS: Final = 8
_CAPBSET_DROP: Final = 24
_SET_SECUREBITS: Final = 28
_SET_NO_NEW_PRIVS: Final = 38
_CAP_AMBIENT: Final = 47
_CAP_AMBIENT_CLEAR_ALL: Final = 4
# include/uapi/linux/securebits.h: uid 0 gives no capabilities (bit 0), a change of uid neither removes nor adds any
# (2), none becomes ambient (6); each with its lock, and the lock of KEEP_CAPS (5).
_SECUREBITS: Final = 0b11 | 0b11 << 2 | 1 << 5 | 0b11 << 6
# include/uapi/linux/capability.h: _LINUX_CAPABILITY_VERSION_3, two halves of 32 bits
_VERSION_3: Final = 0x20080522
# nice −15, which a capture's thread sets, in the units of RLIMIT_NICE (getrlimit(2)): 20 − nice.
_NICE_LIMIT: Final = 35

_libc: Final = ctypes.CDLL(None, use_errno=True)
_log: Final = logging.getLogger("gateway.confinement")


@dataclass(frozen=True, slots=True)
class User:
    """The user to become."""

    name: str
    uid: int
    gid: int


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Half(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def find_user(text: str) -> User:
    """A user by name or number; raises CannotConfine."""
    import pwd  # noqa: PLC0415 - few gateways are started with --user

    try:
        found = pwd.getpwuid(int(text)) if text.isdecimal() else pwd.getpwnam(text)
    except (KeyError, OverflowError):
        if text.isdecimal() and 0 < int(text) < 1 << 31:
            return User(text, int(text), int(text))
        raise CannotConfine(
            f"there is no user {text}; make one: useradd --system --no-create-home {text}"
        ) from None
    return User(found.pw_name, found.pw_uid, found.pw_gid)


def only_root(user: User) -> str:
    """The error message if a process other than root was to become the user."""
    return f"only root can become {user.name}; start it as root, or as {user.name} and without --user"


def confine(user: User | None = None) -> tuple[Capability, ...]:
    """Drop unneeded privileges for good, and become `user` if given; returns the effective capabilities.

    Call it while one thread runs: capabilities belong to threads. Raises CannotConfine if a process other than root is
    to become another user.
    """
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    keep = capabilities_to_keep(
        last=(last := last_capability()),
        may_raise_priority=_allow_priority(),
        paranoid=paranoid_level(),
    )
    wanted = sum(1 << capability.number for capability in keep)
    before = own_sets()
    may_bound = bool(before.effective >> SETPCAP & 1)
    # In a user namespace or container the engine usually has dropped the rest already, including this one.
    _prctl(_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    if may_bound:
        for number in range(last + 1):
            if not wanted >> number & 1 and number != SETPCAP and before.bounding >> number & 1:
                _prctl(_CAPBSET_DROP, number)
    if user is not None:
        _become(user)
    held = wanted & before.permitted
    if may_bound:
        # Needed for the next two steps, which then drop it.
        _set_capabilities(held | 1 << SETPCAP)
        with contextlib.suppress(CannotConfine):  # they are locked already, with other values
            _prctl(_SET_SECUREBITS, _SECUREBITS)
        _prctl(_CAPBSET_DROP, SETPCAP)
    try:
        _set_capabilities(held)
    except CannotConfine:
        # A seccomp filter may refuse capset(2) to a service that was given just the capabilities it needs.
        if own_sets().permitted != held:
            raise
    _prctl(_SET_NO_NEW_PRIVS, 1)
    # Last: a change of user resets it.
    _prctl(_SET_DUMPABLE, 0)
    if why := refuse_system_calls():
        # Kernels without CONFIG_SECCOMP_FILTER, and sandboxes that emulate a kernel.
        _log.warning("system calls are not filtered", extra={"fields": {"why": why}})
    return tuple(capability for capability in keep if held >> capability.number & 1)


def _become(user: User) -> None:
    """Change uid and gid for good, drop all groups, and keep the permitted capabilities."""
    if os.geteuid() == user.uid:
        return
    _prctl(_SET_KEEPCAPS, 1)
    try:
        os.setgroups([])
        os.setresgid(user.gid, user.gid, user.gid)
        os.setresuid(user.uid, user.uid, user.uid)
    except PermissionError as error:
        raise CannotConfine(only_root(user)) from error


def _allow_priority() -> bool:
    """Permit nice −15 without a capability; False: it needs CAP_SYS_NICE."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NICE)
    if soft >= _NICE_LIMIT or soft == resource.RLIM_INFINITY:
        return True
    # Raising the hard limit needs CAP_SYS_RESOURCE, which containers rarely have.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NICE, (_NICE_LIMIT, max(hard, _NICE_LIMIT)))
        return True
    return False


def _set_capabilities(mask: int) -> None:
    """Set permitted and effective to the mask, and clear inheritable."""
    halves = (_Half * 2)(
        *(_Half(mask >> shift & 0xFFFFFFFF, mask >> shift & 0xFFFFFFFF, 0) for shift in (0, 32))
    )
    if _libc.capset(ctypes.byref(_Header(_VERSION_3, 0)), halves):
        raise CannotConfine(f"cannot drop capabilities: {os.strerror(ctypes.get_errno())}")


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(*map(ctypes.c_ulong, (option, value, 0, 0, 0))):
        raise CannotConfine(f"prctl({option}, {value}): {os.strerror(ctypes.get_errno())}")

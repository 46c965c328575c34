"""The symbolizer's errors, and who must act on them.

SymbolizerError
├── MalformedImage          a file violates its format: no action; its frames stay unnamed, with the reason
│   ├── MalformedElf
│   └── MalformedSymCache   a file of the cache: it is dropped and built again
├── SymbolsHidden           the kernel hides addresses: the operator grants CAP_SYSLOG or kptr_restrict=0
├── NotReadable             a file exists but may not be read: the operator grants access
└── BadPartitions           operator: the value of `fleetprof worker --partitions` is not written like 2/3

`Resolver.resolve` raises none of these: it turns them into a status and a reason. Its other failures
(no database, no disk) come from other packages, and the task that meets one is tried again.
"""


class SymbolizerError(Exception):
    """Base of this package's errors; its text is a sentence for a person."""


class MalformedImage(SymbolizerError):
    """Bytes that violate their format, or exceed a limit of this reader."""


class MalformedElf(MalformedImage):
    """Not an ELF file, or one whose headers contradict its length."""


class MalformedSymCache(MalformedImage):
    """Not a SymCache file, or a truncated one."""


class SymbolsHidden(SymbolizerError):
    """/proc/kallsyms lists every address as 0 (kptr_restrict)."""


class NotReadable(SymbolizerError):
    """The operating system refused a file or a part of it."""


class BadPartitions(SymbolizerError):
    """A worker's share of the partitions is invalid."""

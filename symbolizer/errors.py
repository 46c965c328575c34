"""What can go wrong between a binary and the names of its functions.

SymbolizerError
├── MalformedImage       a file is not what it claims: nobody acts; its frames stay unnamed, with the reason
│   ├── MalformedElf
│   └── MalformedSymCache   a file of our own cache: it is dropped and built again
├── SymbolsHidden        the kernel shows no addresses: the operator grants CAP_SYSLOG or kptr_restrict=0
├── NotReadable          a file is there but may not be read: the operator grants access
└── BadPartitions             operator: `fleetprof worker --partitions` is not written like 2/3

None of these leaves `Resolver.resolve`: it turns them into a status and a reason. A failure that does
leave it (no database, no disk) is of another package, and the task that meets it is tried again.
"""


class SymbolizerError(Exception):
    """Base of this package's errors; its text is a sentence for a person."""


class MalformedImage(SymbolizerError):
    """Bytes that do not follow their own format, or exceed a limit of this reader."""


class MalformedElf(MalformedImage):
    """Not an ELF file, or one whose headers contradict its length."""


class MalformedSymCache(MalformedImage):
    """Not a SymCache file, or one that is cut short."""


class SymbolsHidden(SymbolizerError):
    """/proc/kallsyms lists every address as 0 (kptr_restrict)."""


class NotReadable(SymbolizerError):
    """The operating system refused a file or a part of it."""


class BadPartitions(SymbolizerError):
    """What a worker is told of its share of the partitions means nothing."""

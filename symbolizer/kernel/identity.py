"""Identifies the kernel of a capture: its build, and the builds of the modules loaded into it."""

from dataclasses import dataclass
from hashlib import blake2b

from fleetpb import capture_pb2


@dataclass(frozen=True, slots=True)
class KernelIdentity:
    """A kernel as reported by a gateway. Independent of the boot, so machines of one fleet share few identities."""

    build_id: bytes
    """GNU build-id; b"" not known."""
    modules: tuple[tuple[str, str], ...] = ()
    """Name and build-id (hex, '' if it has none) of each loaded module, ascending by name."""

    @property
    def module_set(self) -> str:
        """A digest of the modules, 16 hex digits; equal for machines that loaded the same builds."""
        text = "".join(f"{name} {build}\n" for name, build in self.modules)
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()

    @property
    def keys(self) -> frozenset[str]:
        """The store's keys of the kernel and its modules (`storage.schema.binary.key`)."""
        return frozenset({self.build_id.hex(), *(build or f"path:[{name}]" for name, build in self.modules)})

    def build_of(self, module: str) -> str | None:
        """Build-id of a module as hex, '' if it has none; None: the capture does not name that module."""
        return dict(self.modules).get(module)


def kernel_of(capture: capture_pb2.Capture) -> KernelIdentity:
    """The kernel a capture was taken under.

    Its modules are those loaded at the capture's end and those of its frames, which may have been unloaded by then.
    """
    modules = dict(capture.system.modules)
    for mapping in capture.mappings:
        if mapping.kind == capture_pb2.Mapping.MODULE:
            modules[capture.strings[mapping.path].strip("[]")] = mapping.build_id.hex()
    try:
        build_id = bytes.fromhex(capture.machine.kernel_build_id)
    except ValueError:
        build_id = b""
    return KernelIdentity(build_id, tuple(sorted(modules.items())))

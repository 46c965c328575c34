"""What the reader needs of a JVM's structures, by field. A missing field is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.runtimes.hotspot.vm_structs import read_vm_structs

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.runtimes.hotspot.vm_structs import Field, Read, VmStructs

TYPES: Final = frozenset(
    {
        "AbstractInterpreter", "CodeBlob", "CodeCache", "CodeHeap", "CompiledMethod", "ConstMethod", "ConstantPool",
        "GenericGrowableArray", "GrowableArray<int>", "GrowableArrayBase", "HeapBlock", "HeapBlock::Header",
        "InstanceKlass", "InterpreterCodelet", "Klass", "Method", "PcDesc", "StubQueue", "StubRoutines", "Symbol",
        "VirtualSpace", "nmethod",
    }
)  # fmt: skip
CONSTANTS: Final = frozenset(
    {
        "ConstMethod::_has_linenumber_table", "ConstMethodFlags::_misc_has_linenumber_table",
        "PcDesc::PCDESC_is_method_handle_invoke", "frame::interpreter_frame_last_sp_offset",
        "frame::interpreter_frame_sender_sp_offset",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HeapLayout:
    """The code cache: heaps of blocks, each with a map from segments to blocks."""

    heaps: Field | None  # GrowableArray<CodeHeap*>*; None: a single heap (JDK 8)
    heap: Field | None
    array_length: Field
    array_data: int
    memory: int
    segment_map: int
    log2_segment: Field
    low: Field
    high: Field
    low_boundary: Field
    block_used: Field
    block_bytes: int


@dataclass(frozen=True, slots=True)
class BlobLayout:
    """A CodeBlob: code begins at an address (JDK 9–22) or at an offset from the blob."""

    header_bytes: int
    name: Field
    size: Field
    frame_size: Field
    frame_complete: Field
    code_begin: Field | None
    code_end: Field | None
    code_offset: Field | None
    data_offset: Field
    mutable_data: Field | None
    relocation_size: Field | None


@dataclass(frozen=True, slots=True)
class NmethodLayout:
    """An nmethod: offsets count from the blob, or from its immutable data (JDK 23)."""

    header_bytes: int
    method: Field
    compile_id: Field | None
    level: Field | None
    entry_point: Field | None
    entry_offset: Field | None
    orig_pc_offset: Field
    deopt_handlers: tuple[Field, ...]
    metadata_offset: Field | None
    scopes_data_begin: Field | None
    scopes_data_offset: Field | None
    scopes_pcs_offset: Field
    dependencies_offset: Field | None
    immutable_data: Field | None
    immutable_size: Field | None
    pc_desc_bytes: int
    pc_offset: Field
    scope_offset: Field
    pc_flags: Field | None
    method_handle_flag: int


@dataclass(frozen=True, slots=True)
class MethodLayout:
    """A method and the names of its class and file."""

    method_bytes: int
    const_method: Field
    const_method_bytes: int
    constants: Field
    code_size: Field
    name_index: Field
    const_method_size: Field
    flags: Field
    has_lines: int
    newer_flags: int
    pool_bytes: int
    pool_length: Field
    pool_holder: Field
    pool_source_file: Field | None
    class_bytes: int
    class_name: Field
    class_source_file: Field | None
    symbol_length: Field
    symbol_length_shift: int
    symbol_body: int


@dataclass(frozen=True, slots=True)
class InterpreterLayout:
    """The interpreter's code and its frames; slots are in words from rbp."""

    code: Field
    buffer: Field
    limit: Field
    codelet_bytes: int
    codelet_size: Field
    codelet_description: Field
    call_stub_return: Field
    sender_sp: int
    method: int
    last_sp: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All of it."""

    heap: HeapLayout
    blob: BlobLayout
    nmethod: NmethodLayout
    method: MethodLayout
    interpreter: InterpreterLayout


def read_layout(exported: Callable[[str], int], read: Read) -> Layout:
    """The layout of the JVM whose libjvm exports these symbols. Raises JvmUnsupported and Damaged."""
    return layout_of(read_vm_structs(exported, read, types=TYPES, constants=CONSTANTS))


def layout_of(structs: VmStructs) -> Layout:
    """Raises JvmUnsupported."""
    return Layout(_heap(structs), _blob(structs), _nmethod(structs), _method(structs), _interpreter(structs))


def _heap(structs: VmStructs) -> HeapLayout:
    field = structs.field
    heaps = structs.find("CodeCache", "_heaps")
    data = structs.find("GrowableArray<int>", "_data")
    # Before the tables had the member, it followed its base class.
    array_data = data.offset if data else -(-(structs.find_size("GrowableArrayBase") or 16) // 8) * 8
    base = "GrowableArrayBase" if structs.find("GrowableArrayBase", "_len") else "GenericGrowableArray"
    return HeapLayout(
        heaps=heaps,
        heap=None if heaps else field("CodeCache", "_heap"),
        array_length=field(base, "_len"),
        array_data=array_data,
        memory=field("CodeHeap", "_memory").offset,
        segment_map=field("CodeHeap", "_segmap").offset,
        log2_segment=field("CodeHeap", "_log2_segment_size"),
        low=field("VirtualSpace", "_low"),
        high=field("VirtualSpace", "_high"),
        low_boundary=field("VirtualSpace", "_low_boundary"),
        block_used=field("HeapBlock::Header", "_used"),
        block_bytes=structs.size("HeapBlock"),
    )


def _blob(structs: VmStructs) -> BlobLayout:
    field, find = structs.field, structs.find
    code_begin = find("CodeBlob", "_code_begin")
    return BlobLayout(
        header_bytes=structs.size("CodeBlob"),
        name=field("CodeBlob", "_name"),
        size=field("CodeBlob", "_size"),
        frame_size=field("CodeBlob", "_frame_size"),
        frame_complete=field("CodeBlob", "_frame_complete_offset"),
        code_begin=code_begin,
        code_end=find("CodeBlob", "_code_end"),
        code_offset=None if code_begin else field("CodeBlob", "_code_offset"),
        data_offset=field("CodeBlob", "_data_offset"),
        mutable_data=find("CodeBlob", "_mutable_data"),
        relocation_size=find("CodeBlob", "_relocation_size"),
    )


def _nmethod(structs: VmStructs) -> NmethodLayout:
    field, find = structs.field, structs.find

    def either(*names: str) -> Field | None:
        return find("CompiledMethod", *names) or find("nmethod", *names)

    handlers = (
        either("_deopt_handler_begin", "_deoptimize_offset", "_deopt_handler_offset"),
        either("_deopt_mh_handler_begin", "_deoptimize_mh_offset", "_deopt_mh_handler_offset"),
    )
    immutable = find("nmethod", "_immutable_data")
    scopes_begin = either("_scopes_data_begin")
    metadata = find("nmethod", "_metadata_offset")
    if metadata is None and find("CodeBlob", "_mutable_data") is None:
        metadata = field("nmethod", "_metadata_offset")
    return NmethodLayout(
        header_bytes=structs.size("nmethod"),
        method=either("_method") or field("nmethod", "_method"),
        compile_id=find("nmethod", "_compile_id"),
        level=find("nmethod", "_comp_level"),
        entry_point=find("nmethod", "_verified_entry_point"),
        entry_offset=find("nmethod", "_verified_entry_offset"),
        orig_pc_offset=field("nmethod", "_orig_pc_offset"),
        deopt_handlers=tuple(handler for handler in handlers if handler),
        metadata_offset=metadata,
        scopes_data_begin=scopes_begin,
        scopes_data_offset=None if scopes_begin else field("nmethod", "_scopes_data_offset"),
        scopes_pcs_offset=field("nmethod", "_scopes_pcs_offset"),
        dependencies_offset=None if immutable else field("nmethod", "_dependencies_offset"),
        immutable_data=immutable,
        immutable_size=field("nmethod", "_immutable_data_size") if immutable else None,
        pc_desc_bytes=structs.size("PcDesc"),
        pc_offset=field("PcDesc", "_pc_offset"),
        scope_offset=field("PcDesc", "_scope_decode_offset"),
        pc_flags=find("PcDesc", "_flags"),
        method_handle_flag=structs.find_constant("PcDesc::PCDESC_is_method_handle_invoke", 0),
    )


def _method(structs: VmStructs) -> MethodLayout:
    field, find = structs.field, structs.find
    pool_source = find("ConstantPool", "_source_file_name_index")
    combined = find("Symbol", "_length_and_refcount")
    return MethodLayout(
        method_bytes=structs.size("Method"),
        const_method=field("Method", "_constMethod"),
        const_method_bytes=structs.size("ConstMethod"),
        constants=field("ConstMethod", "_constants"),
        code_size=field("ConstMethod", "_code_size"),
        name_index=field("ConstMethod", "_name_index"),
        const_method_size=field("ConstMethod", "_constMethod_size"),
        flags=field("ConstMethod", "_flags", "_flags._flags"),
        has_lines=structs.constant(
            "ConstMethod::_has_linenumber_table", "ConstMethodFlags::_misc_has_linenumber_table"
        ),
        # Until compiled code shows the form of the streams: flags of their own came after the newer form.
        newer_flags=int(structs.find("ConstMethod", "_flags") is None),
        pool_bytes=structs.size("ConstantPool"),
        pool_length=field("ConstantPool", "_length"),
        pool_holder=field("ConstantPool", "_pool_holder"),
        pool_source_file=pool_source,
        class_bytes=structs.size("InstanceKlass"),
        class_name=field("Klass", "_name"),
        class_source_file=None if pool_source else field("InstanceKlass", "_source_file_name_index"),
        symbol_length=combined or field("Symbol", "_length"),
        symbol_length_shift=16 if combined else 0,
        symbol_body=field("Symbol", "_body", "_body[0]").offset,
    )


def _interpreter(structs: VmStructs) -> InterpreterLayout:
    field = structs.field
    last_sp = structs.constant("frame::interpreter_frame_last_sp_offset")
    return InterpreterLayout(
        code=field("AbstractInterpreter", "_code"),
        buffer=field("StubQueue", "_stub_buffer"),
        limit=field("StubQueue", "_buffer_limit"),
        codelet_bytes=structs.size("InterpreterCodelet"),
        codelet_size=field("InterpreterCodelet", "_size"),
        codelet_description=field("InterpreterCodelet", "_description"),
        call_stub_return=field("StubRoutines", "_call_stub_return_address"),
        sender_sp=structs.constant("frame::interpreter_frame_sender_sp_offset"),
        # In every version the method's slot is the one below.
        method=last_sp - 1,
        last_sp=last_sp,
    )

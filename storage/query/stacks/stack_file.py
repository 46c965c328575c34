"""All stacks as a prefix tree, with the names of their functions, in one file that a machine's API processes share.

The file is valid as long as the database never assigns an id twice: rows outside the file are read when a query needs
them, improved names are looked up (`storage.query.stacks.function_names`), and swept rows are in no answer. A restored
database assigns ids again. So a file belongs to one database (`storage.identity`), and is used only while the newest
rows that it was built from still exist: recovery to a point in time, or of a disk, restores the identity with fewer
rows.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Connection, func, select, tuple_

from storage.arrays import Int32
from storage.query.stacks import array_file
from storage.query.stacks.array_file import Array
from storage.query.stacks.errors import UnusableFile
from storage.query.stacks.name_table import Names, Texts
from storage.query.stacks.node_marks import BaseMarks
from storage.query.stacks.prefix_tree import PrefixTree
from storage.query.stacks.stack_tree import Stacks, State, built, on_base
from storage.schema import dictionary_epoch, function, stack_block

_VERSION = 1
_NEWEST_BLOCKS = 4
_TREE = {
    "parent": "<i4", "function": "<i4", "end": "<i4", "depth": "<i2", "outermost": "|b1", "children": "<i4",
    "first_child": "<i4",
}  # fmt: skip
_NAMES = {
    "canonical": "<i4", "keyed": "|b1", "status": "|u1", "kind": "|u1", "file": "<i4", "binary": "<i4",
}  # fmt: skip
_TYPES = {
    "leaf": "<i4", **_TREE, "marks": "|u1", "nested": "|b1", **_NAMES,
    "name_end": "<i8", "name": "|u1", "text_end": "<i8", "text": "|u1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MadeOf:
    """The rows that a file was built from."""

    identity: str
    """Identity of the database."""
    epoch: int
    """Epoch of its dictionaries: a later one has fewer stacks."""
    blocks: tuple[tuple[int, int, str], ...]
    """The newest rows of `stack_block`: block, first id, SHA-256 of the data in hex."""
    function: tuple[int, str]
    """Id and hash of the newest function; id 0: there was none."""

    @classmethod
    def now(cls, connection: Connection, identity: str) -> "MadeOf":
        """The rows for a file of this snapshot."""
        b, f = stack_block.c, function.c
        newest = select(*_BLOCK).order_by(b.block.desc(), b.first_id.desc()).limit(_NEWEST_BLOCKS)
        last = connection.execute(
            select(f.function_id, f.hash).order_by(f.function_id.desc()).limit(1)
        ).first()
        return cls(
            identity,
            connection.execute(select(dictionary_epoch.c.epoch)).scalar_one(),
            tuple((block, first_id, sha256) for block, first_id, sha256 in connection.execute(newest)),
            (0, "") if last is None else (last.function_id, str(last.hash)),
        )

    def is_there(self, connection: Connection) -> bool:
        """Whether the database still has these rows."""
        b, f = stack_block.c, function.c
        keys = [block[:2] for block in self.blocks]
        found = (
            connection.execute(select(*_BLOCK).where(tuple_(b.block, b.first_id).in_(keys))).all()
            if keys
            else []
        )
        id_, hash_ = self.function
        return {tuple(row) for row in found} == set(self.blocks) and (
            not id_ or str(connection.scalar(select(f.hash).where(f.function_id == id_))) == hash_
        )


_BLOCK = (
    stack_block.c.block,
    stack_block.c.first_id,
    func.encode(func.sha256(stack_block.c.data), "hex"),
)


@dataclass(frozen=True, slots=True)
class StackFile:
    """A base for all queries with the names of its functions; arrays in memory, or mapped."""

    tree: PrefixTree
    leaf: Int32
    """By stack id; -1: not in the tree."""
    marks: BaseMarks
    names: Names
    stacks: int = 0
    bytes: int = 0
    """Mapped bytes; 0: the file is in memory."""
    token: str = ""
    """Unique to each file."""
    made_of: MadeOf | None = None

    @property
    def state(self) -> State:
        """The tree without an overlay."""
        return on_base(self.tree, self.leaf)


def stack_file_of(stacks: Stacks, names: Names) -> StackFile:
    """The tree of stacks whose functions are the canonical ones of `names`, in memory."""
    state = built(stacks)
    marks = BaseMarks.of(state.base, names.status, names.kind)
    return StackFile(state.base, state.base_leaf, marks, names, len(stacks.ids))


def write_stack_file(path: Path, file: StackFile, made_of: MadeOf) -> None:
    """Replace the file at `path`, as `array_file.write` does. Raises OSError."""
    tree, names = file.tree, file.names
    columns: dict[str, Array] = {
        "leaf": file.leaf,
        **{name: getattr(tree, name) for name in _TREE},
        "marks": file.marks.marks,
        "nested": file.marks.nested,
        **{name: getattr(names, name) for name in _NAMES},
        "name_end": names.name.end,
        "name": names.name.data,
        "text_end": names.texts.end,
        "text": names.texts.data,
    }
    about = {"token": uuid4().hex, "stacks": file.stacks, "made_of": asdict(made_of)}
    array_file.write(path, about, {name: columns[name] for name in _TYPES}, version=_VERSION)


def open_stack_file(path: Path) -> StackFile:
    """Check and map the file. Raises OSError, `UnusableFile`."""
    found = array_file.read(path, _TYPES, version=_VERSION)
    a = found.arrays
    try:
        made = found.about["made_of"]
        blocks = tuple((int(block), int(first), str(sha256)) for block, first, sha256 in made["blocks"])
        last, hash_ = made["function"]
        made_of = MadeOf(str(made["identity"]), int(made["epoch"]), blocks, (int(last), str(hash_)))
        token, stacks = str(found.about["token"]), int(found.about["stacks"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnusableFile(f"Cannot read the sources of {path}: {error}.") from error
    return StackFile(
        PrefixTree(**{name: a[name] for name in _TREE}),
        a["leaf"],
        BaseMarks(a["marks"], a["nested"]),
        Names(
            **{name: a[name] for name in _NAMES},
            name=Texts(a["name_end"], a["name"]),
            texts=Texts(a["text_end"], a["text"]),
        ),
        stacks,
        found.bytes,
        token,
        made_of,
    )

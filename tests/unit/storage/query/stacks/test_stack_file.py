"""GIVEN stacks in a file and the same in memory WHEN both are asked for THEN they have the same tree, marks and names."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.query.stacks import array_file, stack_file
from storage.query.stacks.errors import UnusableFile
from storage.query.stacks.function_names import Functions
from storage.query.stacks.name_table import NamedFunction, names_of
from storage.query.stacks.node_marks import NodeMarks
from storage.query.stacks.stack_file import (
    MadeOf,
    StackFile,
    open_stack_file,
    stack_file_of,
    write_stack_file,
)
from storage.query.stacks.stack_tree import NO_STACKS, StackTree
from tests.unit.storage.query.stacks.test_prefix_tree import check_against_counting, columns, some_stacks

MADE_OF = MadeOf("a database", 3, ((7, 1800, "ab"), (7, 1792, "cd")), (12, "a hash"))
a_function = st.builds(
    NamedFunction,
    name=st.sampled_from(("f", "g", "")),
    file=st.just("a.c"),
    binary=st.just("prog"),
    status=st.integers(0, 3),
    kind=st.integers(0, 2),
    keyed=st.booleans(),
    canonical=st.just(0),
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some_stacks, st.lists(a_function, min_size=5, max_size=5), st.data())
def test_a_tree_out_of_a_file_answers_as_one_in_memory(tmp_path: Path, stacks, functions, data):
    names = names_of({id_: dataclasses.replace(f, canonical=id_) for id_, f in enumerate(functions, start=1)})
    ids = data.draw(st.permutations(range(1, len(stacks) + 1)))
    table = dict(zip(ids, stacks, strict=True))
    in_file = data.draw(st.sets(st.sampled_from(ids)))
    made = stack_file_of(columns({i: table[i] for i in in_file}), names)
    write_stack_file(tmp_path / "it", made, MADE_OF)
    opened = open_stack_file(tmp_path / "it")
    assert (opened.made_of, opened.stacks) == (MADE_OF, len(in_file))
    wanted = np.array(data.draw(st.lists(st.sampled_from(ids), min_size=1)), np.int64)
    marks = []
    for file in (opened, made, stack_file_of(NO_STACKS, names), stack_file_of(columns(table), names)):
        state = StackTree(file.state).covering(
            wanted, lambda low_confidence: columns({i: table[i] for i in low_confidence.tolist()})
        )
        check_against_counting(state.shape(wanted), [table[i] for i in wanted.tolist()], [3] * len(wanted))
        told = NodeMarks(Functions(file.names), file.marks).of(state)
        marks.append(
            (told.of(state.leaves(wanted)).tolist(), told.any_nested(np.unique(state.shape(wanted).function)))
        )
    assert marks[0][0] == marks[1][0] == marks[2][0] == marks[3][0]
    assert marks[0][1] or not any(len(set(table[i])) < len(table[i]) for i in wanted.tolist())


def one_stack() -> StackFile:
    names = {id_: NamedFunction(f"f{id_}", "", "", 3, 0, keyed=False, canonical=id_) for id_ in (1, 2)}
    return stack_file_of(columns({1: (1, 2)}), names_of(names))


def test_two_files_of_the_same_are_told_apart(tmp_path: Path):
    made = one_stack()
    tokens = set()
    for _ in range(2):
        write_stack_file(tmp_path / "it", made, MADE_OF)
        tokens.add(open_stack_file(tmp_path / "it").token)
    assert len(tokens) == 2


@pytest.mark.parametrize(
    "about", [{}, {"made_of": 3}, {"made_of": {"blocks": [1]}, "token": "", "stacks": 0}]
)
def test_a_file_that_does_not_say_what_it_was_made_of_is_refused(tmp_path: Path, about: dict[str, object]):
    made = one_stack()
    write_stack_file(tmp_path / "it", made, MADE_OF)
    arrays = array_file.read(tmp_path / "it", stack_file._TYPES, version=stack_file._VERSION).arrays
    array_file.write(tmp_path / "it", about, arrays, version=stack_file._VERSION)
    with pytest.raises(UnusableFile, match="Cannot read the sources"):
        open_stack_file(tmp_path / "it")

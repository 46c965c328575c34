"""GIVEN text of the call language WHEN it is read THEN the graph has its places, weights and symbols."""

import pytest

from simulation.calls import CallGraph, Function, function_of
from simulation.catalogue import APPLICATIONS
from simulation.programs import program_of
from symbolizer.demangle import demangle


def test_lines_become_places():
    graph = CallGraph().read(
        """
        main ; 2 ; f~3 ; libc:read
        main ; 0 ; g~0.5
        f ; 4
        """
    )
    assert graph.places["main"].callees == {"f": 3.0, "libc:read": 1.0, "g": 0.5}
    assert graph.places["f"].own == 4.0
    assert 0 < graph.places["main"].own < 2.0


def test_weights_of_one_callee_add_up():
    graph = CallGraph().read("main ; 1 ; f~3\nmain ; 1 ; f~2")
    assert graph.places["main"].callees == {"f": 5.0}


@pytest.mark.parametrize(
    ("name", "image", "shown"),
    [
        ("main", "main", "main"),
        ("libc:read#log", "libc", "read"),
        ("kernel:do_syscall_64#futex", "kernel", "do_syscall_64"),
        ("runtime.(*mcache).nextFree", "main", "runtime.(*mcache).nextFree"),
        ("acme::Task::Run()", "main", "acme::Task::Run()"),
        ("libjvm:thread_native_entry()", "libjvm", "thread_native_entry()"),
        ("node:node::(anonymous namespace)::Work()", "node", "node::(anonymous namespace)::Work()"),
        ("tokio::runtime::task::raw::poll[rs]", "main", "tokio::runtime::task::raw::poll"),
        ("jit:py::load:/srv/a/b.py", "jit", "py::load:/srv/a/b.py"),
    ],
)
def test_a_name_says_image_and_function(name, image, shown):
    function = function_of(name)
    assert function.image == image
    assert demangle(function.symbol) == shown


def test_mangled_symbols_are_what_linkers_see():
    assert function_of("acme::Task::Run()") == Function("main", "_ZN4acme4Task3RunEv")


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda application: application.name)
def test_every_mangled_symbol_of_a_program_has_a_plain_name(application):
    graph = program_of(application, 7).graph
    names = {*graph.places, *(callee for place in graph.places.values() for callee in place.callees)}
    symbols = {function_of(name).symbol for name in names}
    assert [s for s in symbols if s.startswith("_Z") and demangle(s) == s] == []

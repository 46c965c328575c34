"""Functions and calls against going through every stack as `go tool pprof` does."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.shapes.call_edges import calls_between, functions_of
from storage.query.shapes.frame_tree import Borne
from tests.random_stacks import Stack, planted, stacks

Facts = list[tuple[Stack, int, float]]


def borne(facts: Facts) -> Borne:
    found = planted(facts)
    return Borne.of(found.shape, found.units, found.weighted)


def walked(facts: Facts, kept: set[int]) -> tuple[Counter, Counter, set]:
    """Units and weight of each call, and which are residual."""
    units: Counter = Counter()
    weights: Counter = Counter()
    residual = set()
    for stack, count, weight in facts:
        seen = set()
        caller, skipped = None, False
        for function in stack:
            if function not in kept:
                skipped = True
                continue
            if caller is not None:
                if count and skipped:
                    residual.add((caller, function))
                seen.add((caller, function))
            caller, skipped = function, False
        for pair in seen:
            units[pair] += count
            weights[pair] += count * weight
    return +units, +weights, residual


@given(stacks, st.sets(st.integers(1, 4)))
def test_a_call_counts_once_per_stack(facts: Facts, kept: set[int]):
    found = calls_between(borne(facts), np.array(sorted(kept), np.int64))
    pairs = list(zip(found.caller.tolist(), found.callee.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    units, weights, residual = walked(facts, kept)
    assert dict(zip(pairs, found.units.tolist(), strict=True)) == units
    assert dict(zip(pairs, found.weight.tolist(), strict=True)) == pytest.approx(dict(weights))
    assert {pair for pair, is_so in zip(pairs, found.residual.tolist(), strict=True) if is_so} == residual


@given(stacks)
def test_a_function_counts_once_per_stack(facts: Facts):
    found = functions_of(borne(facts))
    own: Counter = Counter()
    total: Counter = Counter()
    for stack, units, _ in facts:
        own.update({stack[-1]: units} if stack else {})
        total.update(dict.fromkeys(set(stack), units))
    functions = found.function.tolist()
    assert dict(zip(functions, found.total.tolist(), strict=True)) == +total
    assert +Counter(dict(zip(functions, found.own.tolist(), strict=True))) == +own


def test_long_runs_of_left_out_functions_are_bridged():
    facts = [((1, *([3] * 100), 2), 7, 1.0), ((1, 2), 1, 1.0)]
    found = calls_between(borne(facts), np.array([1, 2]))
    assert (found.caller.tolist(), found.callee.tolist(), found.units.tolist()) == ([1], [2], [8])
    assert found.residual.tolist() == [True]

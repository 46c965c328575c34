"""A program whose Python stacks are known: each function has one caller at one line, and states its stack once.

python_truth.py SECONDS FILE: runs all paths in turn, and writes {leaf: [[function, line], …]}, outermost first. The leaf's
own line is left out: a sample may be anywhere in it. It prints a line once its threads and its child run. Every leaf burns CPU time in a loop of its own without calls.
"""

import functools
import json
import os
import pathlib
import re
import sys
import threading
import time

TRUTH = {}
ROUNDS = 20000


def state(name):
    if name not in TRUTH:
        stack, frame = [], sys._getframe(1)
        while frame:
            stack.append([frame.f_code.co_name, frame.f_lineno])
            frame = frame.f_back
        TRUTH[name] = stack[::-1]


def plain_leaf():
    state("plain_leaf")
    for i in range(ROUNDS):
        i * i


def plain():
    plain_leaf()


def key_leaf(value):
    state("key_leaf")
    for i in range(ROUNDS):
        value ^ i
    return value


def by_key():
    sorted([1], key=key_leaf)


def inner_generator():
    state("inner_generator")
    total = 0
    for i in range(ROUNDS):
        total += i
    yield total


def outer_generator():
    yield from inner_generator()


def by_generator():
    for _ in outer_generator():
        pass


class Made:
    def __init__(self):
        state("__init__")
        for i in range(ROUNDS):
            i + 2


def by_class():
    Made()


def reduce_leaf(a, b):
    state("reduce_leaf")
    for i in range(ROUNDS):
        a = i
    return a


def by_reduce():
    functools.reduce(reduce_leaf, [1, 2])


def deep_leaf():
    state("deep_leaf")
    for i in range(ROUNDS):
        i - 1


def deep(depth):
    if depth:
        deep(depth - 1)
    else:
        deep_leaf()


def deep_c_leaf():
    state("deep_c_leaf")
    for i in range(ROUNDS):
        i | 1


def deep_c(depth):
    if depth:
        list(map(deep_c, [depth - 1]))
    else:
        deep_c_leaf()


NUMBERS = list(range(60000))


def native_leaf():
    state("native_leaf")
    sum(NUMBERS)


def sub_leaf(match):
    state("sub_leaf")
    for i in range(ROUNDS):
        i & 3
    return ""


def by_sub():
    re.sub("x", sub_leaf, "x")


def thread_leaf():
    state("thread_leaf")
    for i in range(ROUNDS):
        i ^ 5


def worker(until):
    while time.monotonic() < until:
        thread_leaf()
        time.sleep(0.002)


def child_leaf():
    state("child_leaf")
    for i in range(ROUNDS):
        i ^ 9


def child(until):
    while time.monotonic() < until:
        child_leaf()


def all_paths(until):
    while time.monotonic() < until:
        plain()
        by_key()
        by_generator()
        by_class()
        by_reduce()
        deep(60)
        deep_c(40)
        native_leaf()
        by_sub()


def main(seconds, path):
    until = time.monotonic() + seconds
    thread = threading.Thread(target=worker, args=(until,))
    thread.start()
    while "thread_leaf" not in TRUTH:
        time.sleep(0.01)
    pid = os.fork() if len(sys.argv) > 3 else 1
    if pid == 0:
        child(until)
        path += ".child"
    else:
        os.write(1, b"ready\n")
        all_paths(until)
        thread.join()
    part = pathlib.Path(path + ".part")
    part.write_text(json.dumps(TRUTH))
    part.rename(path)


main(float(sys.argv[1]), sys.argv[2])

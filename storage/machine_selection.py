"""Which machines a campaign selects, by their labels (DIGEST G20)."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, func, literal, text

from storage.inventory import Machine
from storage.schema import machine

_FIELDS = {
    "machine": machine.c.name,
    "datacenter": machine.c.datacenter,
    "cluster": machine.c.cluster,
    "platform": machine.c.platform,
    "kernel": machine.c.kernel,
}
"""Fields of the inventory that count as labels and take precedence over labels of the same name."""


def is_selected(machine: Machine, wanted: Mapping[str, str]) -> bool:
    """Whether the machine has all the labels; fields of the inventory count as labels."""
    labels = {
        **machine.labels,
        "machine": machine.name,
        "datacenter": machine.datacenter,
        "cluster": machine.cluster,
        "platform": machine.platform,
        "kernel": machine.kernel,
    }
    return all(labels.get(name) == value for name, value in wanted.items())


def selecting(wanted: Mapping[str, str]) -> list[ColumnElement[bool]]:
    """Conditions on `machine` that hold for the machines of which `is_selected` is true."""
    labels = labels_column()
    return [
        (_FIELDS[name] if name in _FIELDS else labels.op("->>")(literal(name))) == value
        for name, value in wanted.items()
    ]


def labels_column() -> ColumnElement[Any]:
    """A machine's labels as JSON: those configured on its gateway, overridden by the operator's."""
    of_gateway = func.coalesce(machine.c.described["labels"], text("'{}'::jsonb"))
    merged: ColumnElement[Any] = of_gateway.op("||")(machine.c.labels)
    return merged

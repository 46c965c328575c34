"""Some of the profiles of samples read visit by visit, as if a matcher had selected only these."""

from dataclasses import replace

import numpy as np

from storage.arrays import Bool, Int64, sum_at
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.visit_scan import Facts, Profiles
from storage.query.samples import Samples


def subset(samples: Samples, keep: Bool) -> Samples:
    """The samples of the marked profiles; they are the whole that shares refer to."""
    evidence, profiles = samples.evidence, samples.profiles
    if not isinstance(evidence, Visits) or samples.summed is not None:
        raise TypeError("only samples of single visits have profiles")
    kept = np.flatnonzero(keep)
    visits, visit = np.unique(profiles.visit[kept], return_inverse=True)
    visit = visit.astype(np.int64)
    number = np.full(len(profiles), -1, np.int64)
    number[kept] = np.arange(len(kept))
    facts = np.flatnonzero(keep[samples.facts.profile])
    shape = replace(samples.shape, leaf=samples.shape.leaf[facts]).above_its_leaves()
    sampled = samples.sampled
    return replace(
        samples,
        profiles=_profiles(profiles, kept, visits, visit),
        facts=_facts(samples.facts, facts, number),
        weighted=samples.weighted[facts],
        shape=shape,
        evidence=replace(
            evidence,
            of_profile=visit,
            id=evidence.id[visits],
            stratum=evidence.stratum[visits],
            machine=evidence.machine[visits],
            weight=evidence.weight[visits],
            group=evidence.group[visits],
            selected=sum_at(visit, profiles.units[kept], len(visits)),
            unseen=float("nan"),
        ),
        sampled=None if sampled is None else replace(sampled, leaf=sampled.leaf[facts]),
    )


def _profiles(all_: Profiles, kept: Int64, visits: Int64, visit: Int64) -> Profiles:
    return Profiles(
        visits=all_.visits[visits],
        visit=visit,
        machine=all_.machine[kept],
        facts=all_.facts[kept],
        samples=all_.samples[kept],
        period=all_.period[kept],
        labels={name: ids[kept] for name, ids in all_.labels.items()},
        stacks=all_.stacks,
    )


def _facts(all_: Facts, kept: Int64, number: Int64) -> Facts:
    return Facts(number[all_.profile[kept]], all_.stack[kept], all_.samples[kept], all_.units[kept])

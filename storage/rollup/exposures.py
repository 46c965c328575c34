"""Table `exposure`: how many visits the cells of an hour hold, and for how long these observed."""

import numpy as np
from sqlalchemy import Connection, delete
from sqlalchemy.dialects.postgresql import insert

from storage.arrays import weight_at
from storage.rollup.batch import Batch, numbered
from storage.rollup.cubes import HOURS_A_DAY, day_of
from storage.schema import exposure


def add(connection: Connection, batch: Batch) -> None:
    """Add or subtract the visits of a batch; the caller holds the locks of their days."""
    watched, v = batch.watched, batch.visits
    if not len(watched.visit):
        return
    columns = (
        v.campaign[watched.visit], watched.sample_type, watched.stacks, v.stratum[watched.visit],
        v.hour[watched.visit], v.utilisation_class[watched.visit],
    )  # fmt: skip
    lead, row = numbered(*columns)
    sign = v.sign[watched.visit].astype(np.float64)
    visits = weight_at(row, sign, len(lead)).astype(np.int64).tolist()
    seconds = weight_at(row, sign * watched.seconds, len(lead)).tolist()
    keys = np.stack([column[lead] for column in columns], axis=1).tolist()
    statement = insert(exposure).values(
        [
            {
                "campaign_id": campaign,
                "sample_type_id": sample_type,
                "stacks": bool(stacks),
                "stratum_id": stratum,
                "hour": hour,
                "utilisation_class": class_,
                "day": day_of(hour // HOURS_A_DAY),
                "visits": visits[i],
                "seconds": seconds[i],
            }
            for i, (campaign, sample_type, stacks, stratum, hour, class_) in enumerate(keys)
        ]
    )
    new = statement.excluded
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=list(exposure.primary_key),
            set_={
                "visits": exposure.c.visits + new.visits,
                "seconds": exposure.c.seconds + new.seconds,
            },
        )
    )
    days = sorted({day_of(hour // HOURS_A_DAY) for _, _, _, _, hour, _ in keys})
    connection.execute(delete(exposure).where(exposure.c.day.in_(days), exposure.c.visits == 0))

"""Cells: facts merged ahead of queries, so that a query over weeks of a fleet reads a few rows.

A **cell** is one row of a cube (`cubes`): the facts of all visits of one campaign, sample type and depth, of one
stratum and utilisation class, in one hour or UTC day, for one value of the cube's keys. Cells hold raw integers;
weights are applied at query time. A finished day gets cells of its own, merged once from those of its hours (`daily`).
Closed days are merged once more into buckets of 4, 16 and 64 days with weights applied (`compact`), where that merges
rows. Fingerprints (`input_fingerprint`) show whether a bucket is current.

    ingest ─ rollup_queue ─ apply_queue ─► rollup (hours), exposure ─ daily ─► rollup (days)
                                                             ─ compact ─► rollup_long, rollup_long_built

At every commit these tables are a function of the facts:

    cells of a day = its visits − those waiting with +1 + those waiting to be subtracted with −1

So `rebuild` can recompute them at any time, and a reader gets fresh and exact answers by adding the visits that are
still in `rollup_queue`, in the same snapshot.

To write: `apply_queue.RollupWriter`, `daily.roll_up_days`, `compact.compact`, `rebuild.rebuild`,
`hourly_retention.drop_hours`. To read, in a snapshot:

    state = time_cover.read_state(connection, campaign_id, sample_type_id, first=h0, end=h1)  buckets, waiting days
    plan = time_cover.cover(state, h0, h1)                  an hour-aligned range as days, hours, and a rest
    usable = input_fingerprint.usable(connection, state, source, strata, first=h0, end=h1)
    plan = plan.in_buckets(usable)                          the same range, with buckets in place of days
    raw = read_cells.read_cells(connection, source, plan)   cells of hours and days, per stratum and class
    weighted = read_cells.read_weighted(connection, source, plan)
    watched = read_cells.read_exposure(connection, source, first_hour, end_hour)

`Source` is cube × campaign × depth × sample type. A cell's moments (`moments.Sums`) are the input of
`analysis.moments.from_sums`, whether the cell stores sums or visits (`cell_moments`). Those of a weighted bucket
(`long_moments.Parts`) are additive parts of `analysis.moments.Moments`.
"""

"""Cells: facts merged ahead, so that a question about weeks of a fleet reads a few rows.

A **cell** is one row of a cube (`cubes`): the facts of every visit of one campaign, sample type and depth,
of one stratum and utilisation class, in one hour or UTC day, for one value of the cube's keys. Cells hold
raw integers; weights are applied when a question is asked. A day that is over gets cells of its own, merged
once from those of its hours (`fold`). Closed days are merged once more into buckets of 4, 16 and 64 days with
their weights in (`compact`) where that merges rows; fingerprints (`made_of`) say whether those still hold.

    ingest ─ rollup_queue ─ rollup ─► rollup (hours), exposure ─ fold ─► rollup (days) ─ compact ─► rollup_long, rollup_long_built

The state these tables are in is at every commit a function of the facts:

    cells of a day = its visits − those waiting with +1 + what waits to be taken out with −1

so `rebuild` can make them again at any time, and a reader gets fresh and exact answers by adding what is
still in `rollup_queue`, in the same snapshot.

To write: `rollup.RollupWriter`, `fold.fold`, `compact.compact`, `rebuild.rebuild`, `expire.expire`. To read, in a snapshot:

    state = cover.read_state(connection, campaign_id, sample_type_id, first=h0, end=h1)     buckets, waiting days
    plan = cover.cover(state, h0, h1)                     an hour-aligned range as days, hours, and a rest
    usable = made_of.usable(connection, state, source, strata, first=h0, end=h1)
    plan = plan.in_buckets(usable)                        the same, with buckets in place of days
    raw = reading.read_cells(connection, source, plan)    cells of hours and days, per stratum and class
    weighted = reading.read_weighted(connection, source, plan)
    watched = reading.read_exposure(connection, source, first_hour, end_hour)

`Source` is cube × campaign × depth × sample type. A cell's moments (`moments.Sums`) are what
`analysis.moments.from_sums` takes, whether it keeps them or its visits (`cell_moments`); those of a weighted bucket (`weighted.Parts`) are parts of
`analysis.moments.Moments`, which add.
"""

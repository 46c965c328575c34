"""Dictionary rows that nothing uses any more go: a mark and a sweep, while ingestion goes on.

Stacks do not saturate: every release brings new functions, and every pod a label set of its own. What
is no longer in any chunk or cell is only found by reading them all, so that is done, seldom:

1. **Begin**, alone: the next epoch (`storage.ingest.dictionary_epoch`), `marking` on, and the highest id of every
   dictionary noted. Whoever ingests from now on looks all his ids up anew. What he finds is noted in
   `dictionary_touched`; what he inserts has a higher id.
2. **Mark** what one snapshot taken after that holds (`scan`). Whatever is used later was in it, or was
   touched, or is new: cells are made of chunks, and chunks by ingestions of this epoch.
3. **Sweep** stacks that are old, not marked and not touched, in short batches, each alone: first from the hash
   table, so that no ingestion is given one any more, then their functions. Then functions in none of the stacks
   left, then the other dictionaries.
4. **End**: `marking` off, the notes deleted.

A sweep that is killed has deleted only what nobody used. The next one begins a new epoch; an old one
that wakes up again finds its epoch over and deletes nothing. Ids are never given again, so a reader
that remembers a swept stack is not misled.
"""

"""Mark and sweep of unused dictionary rows, concurrent with ingestion.

The number of stacks never saturates: every release brings new functions, and every pod its own label set. Only a scan
of all chunks and cells finds the unused ones, so the sweep runs rarely:

1. **Begin**, exclusively: increment the epoch (`storage.ingest.dictionary_epoch`), turn `marking` on, and record the
   highest id of every dictionary. Ingestions that start now look up all their ids again. They record the ids that they
   find in `dictionary_touched`; ids that they insert are higher.
2. **Mark** the ids in a snapshot taken after that (`scan`). Any id used later is in the snapshot, touched, or
   new: cells are made from chunks, and chunks by ingestions of this epoch.
3. **Sweep** stacks that are old, unmarked and untouched, in short exclusive batches: first from the hash table, so that
   ingestions cannot find them, then their functions. Then sweep functions in no remaining stack, then the
   other dictionaries.
4. **End**: turn `marking` off and delete the touched ids.

A sweep that is killed has deleted only unused rows. The next sweep begins a new epoch, and a stalled older one finds
its epoch over and deletes nothing. Ids are never reused, so a reader with a cached, swept stack is not misled.
"""

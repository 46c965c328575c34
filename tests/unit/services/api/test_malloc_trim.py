"""GIVEN answers that were made WHEN time passes THEN memory is given back, once for all of them."""

import anyio
from anyio import from_thread

from services.api.malloc_trim import MallocTrimmer


def test_memory_is_given_back_after_answers_and_not_without() -> None:
    given: list[int] = []

    async def main() -> None:
        begun = anyio.Event()
        go_on = anyio.Event()

        def trim_malloc() -> None:
            given.append(len(given))
            from_thread.run_sync(begun.set)
            from_thread.run(go_on.wait)

        malloc_trimmer = MallocTrimmer(trim_malloc=trim_malloc, pause_s=0.0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(malloc_trimmer.trim_periodically)
            await anyio.wait_all_tasks_blocked()
            assert given == []
            malloc_trimmer.note()
            malloc_trimmer.note()
            await begun.wait()
            assert given == [0]
            begun = anyio.Event()
            malloc_trimmer.note()  # while it is given back: it may have come too late for that
            go_on.set()
            await begun.wait()
            assert given == [0, 1]
            await anyio.wait_all_tasks_blocked()
            assert given == [0, 1], "for each answer once"
            tasks.cancel_scope.cancel()

    anyio.run(main)

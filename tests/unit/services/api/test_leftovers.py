"""GIVEN answers that were made WHEN time passes THEN memory is given back, once for all of them."""

import anyio
from anyio import from_thread

from services.api.leftovers import Leftovers


def test_memory_is_given_back_after_answers_and_not_without() -> None:
    given: list[int] = []

    async def main() -> None:
        begun = anyio.Event()
        go_on = anyio.Event()

        def give_back() -> None:
            given.append(len(given))
            from_thread.run_sync(begun.set)
            from_thread.run(go_on.wait)

        leftovers = Leftovers(give_back=give_back, pause_s=0.0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leftovers.keep_giving_back)
            await anyio.wait_all_tasks_blocked()
            assert given == []
            leftovers.note()
            leftovers.note()
            await begun.wait()
            assert given == [0]
            begun = anyio.Event()
            leftovers.note()  # while it is given back: it may have come too late for that
            go_on.set()
            await begun.wait()
            assert given == [0, 1]
            await anyio.wait_all_tasks_blocked()
            assert given == [0, 1], "for each answer once"
            tasks.cancel_scope.cancel()

    anyio.run(main)

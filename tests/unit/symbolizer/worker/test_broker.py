"""GIVEN variables that Celery reads from the environment WHEN an application is made THEN its broker is the one it was given."""

import pytest

from symbolizer.worker.broker import make_broker


@pytest.mark.parametrize("kind", ["URL", "READ_URL", "WRITE_URL"])
def test_the_environment_names_no_other_broker(monkeypatch: pytest.MonkeyPatch, kind: str):
    monkeypatch.setenv(f"CELERY_BROKER_{kind}", "amqp://elsewhere:6379/7")
    app = make_broker("redis://here:6380/3")
    pooled = app.pool.acquire(block=False)
    for connection in (app.connection_for_read(), app.connection_for_write(), app.connection(), pooled):
        known = connection.info()
        place = (connection.transport.driver_type, known["hostname"], known["port"], known["virtual_host"])
        assert place == ("redis", "here", 6380, "3")

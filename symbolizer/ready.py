"""Whether workers are there."""

from kombu.exceptions import OperationalError

from symbolizer.broker import make_broker


def worker_answers(broker_url: str, *, timeout_s: float = 1.0) -> bool:
    """Whether any worker on this broker answers a ping; False too if the broker does not."""
    app = make_broker(broker_url)
    try:
        return bool(app.control.ping(timeout=timeout_s, limit=1))
    except OperationalError:
        return False
    finally:
        app.close()

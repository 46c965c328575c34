"""kombu's Redis transport with consumers that survive a failed acknowledgement."""

from kombu.transport import redis, virtual


class _QoS(redis.QoS):
    """Delivered messages that are not acknowledged, limited by the prefetch count."""

    def ack(self, delivery_tag: str) -> None:
        """Count the message as acknowledged even if the broker cannot be reached; raises the client's errors.

        kombu counts it as outstanding in that case. Celery logs "Couldn't ack" and goes on. With a prefetch
        count of 1, that one message is all that a worker may have: it sends no BRPOP, so it never
        notices the lost connection and takes no message until it is restarted (observed after a
        broker was killed while a task ran; github.com/celery/celery/issues/10205 describes the same).
        With the message counted, the next BRPOP fails and Celery reconnects.
        """
        try:
            super().ack(delivery_tag)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


class _Channel(redis.Channel):
    """A channel with these acknowledgements."""

    QoS = _QoS


class Transport(redis.Transport):
    """The Redis transport with these channels."""

    Channel = _Channel

"""kombu's Redis transport, whose consumers go on after an acknowledgement that the broker did not take."""

from kombu.transport import redis, virtual


class _QoS(redis.QoS):
    """Messages that were delivered and not acknowledged, as many as the prefetch count allows."""

    def ack(self, delivery_tag: str) -> None:
        """Count the message as acknowledged even if the broker cannot be reached; raises what its client raises.

        kombu counts it as outstanding then. Celery logs "Couldn't ack" and goes on, and with a prefetch
        count of 1 that one message is all that a worker may have: it sends no BRPOP any more, so it never
        notices that its connection is gone, and takes no message until it is started again (seen after a
        broker was killed while a task ran; the same as github.com/celery/celery/issues/10205 describes).
        Freed of it, the next BRPOP fails and Celery connects again.
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

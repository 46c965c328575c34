"""Logging of the server-side processes: one line per event, with its values as key=value."""

import logging
import sys

import structlog


def log_to_stderr(level: int = logging.INFO) -> None:
    """Send structlog's events and warnings of libraries to stderr. Call once, at start."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )


def structured(name: str) -> logging.Logger:
    """A logger for code shared with gateways, which use only the standard library's log: forwards to structlog.

    Fields are the `fields` of `extra`, as `gateway.log_format` defines them. Level INFO and above.
    """
    logger = logging.getLogger(name)
    logger.setLevel(logging.INFO)
    logger.handlers = [_Events()]
    logger.propagate = False  # the root logger writes only the message
    return logger


class _Events(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, object] = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["exc_info"] = record.exc_info
        structlog.get_logger(record.name).log(record.levelno, record.getMessage(), **fields)

"""The daemon's log format: one line per event, whatever client input it contains."""

from __future__ import annotations

import logging
import re
import sys


class LogfmtFormatter(logging.Formatter):
    """One line per event: time, level, event, then key=value pairs."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; text with spaces or quotes is quoted, a traceback follows on its own lines."""
        fields: dict[str, object] = getattr(record, "fields", {})
        parts = [self.formatTime(record), record.levelname.lower(), record.getMessage()]
        parts += [f"{key}={_quote(str(value))}" for key, value in fields.items()]
        if record.exc_info:
            parts.append("\n" + self.formatException(record.exc_info))
        return " ".join(parts)


def _quote(text: str) -> str:
    if text and text.isprintable() and not re.search(r'[\s"=]', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def configure_logging(level: str) -> None:
    """Log to stderr from this level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogfmtFormatter(datefmt="%Y-%m-%dT%H:%M:%S%z"))
    logging.basicConfig(level=level.upper(), handlers=[handler])

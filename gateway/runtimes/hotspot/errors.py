"""Errors of reading a JVM."""

from gateway.errors import GatewayError


class JvmUnsupported(GatewayError):
    """This JVM's structures lack something that is needed; the text names it. Perf maps still name its code."""


class Damaged(GatewayError):
    """Bytes of the JVM contradict its own layout: they changed meanwhile, or the process is hostile. No action."""

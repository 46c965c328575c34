"""Exports the symbols of this machine's binaries, for a symbolizer without those files (DIGEST G11).

Off unless the operator allows it. A caller names a build, never a path: only builds that a recent capture of this
machine saw mapped are searched, and the opened file must have that build-id or content.
"""

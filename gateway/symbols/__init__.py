"""What names the code of this machine's binaries, for a symbolizer that has no such files (DIGEST G11).

Off unless the operator allows it. A caller names a build, never a path: only what a capture of this
machine lately saw mapped is looked for, and what is opened must carry that build-id or content.
"""

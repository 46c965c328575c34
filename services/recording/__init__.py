"""`fleetprof record`: profiles one program on this machine, without a store or a server.

The gateway's sampler takes a capture of one program, the symbolizer names its frames from this machine's files, and the
API's writers make the files. The order is `program` → `sampling` → `stacks` → `profile_page`.
"""

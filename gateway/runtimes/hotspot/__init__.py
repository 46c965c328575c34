"""Frames of Java programs on HotSpot, without an agent, flags or BPF.

The layout of the JVM's structures comes from the tables that libjvm exports for the serviceability agent
(gHotSpotVMStructs and others), never from a list of versions. A sample's registers and its copy of the stack give the
frames; the JVM's own metadata, read while samples are drained, gives names.
"""

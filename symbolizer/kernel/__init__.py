"""Kernels and their modules: identity, files and symbols."""

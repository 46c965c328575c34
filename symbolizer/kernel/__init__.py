"""Kernels and their modules: who they are, where their functions lie."""

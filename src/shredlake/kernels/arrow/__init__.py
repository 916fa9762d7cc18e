"""Variant columns in Arrow: their types, and the one normal form that kernels take."""

"""Imported by models with vision."""

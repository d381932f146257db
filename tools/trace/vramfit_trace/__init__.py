"""Traces the device memory of fine-tuning runs of the real libraries on a machine without a GPU.

Two kinds of process: the command (standard library only) reads jobs, builds the runtime, compares and walks; the worker,
started for one job with the libraries' own Python, runs the libraries on the runtime without a device.
"""

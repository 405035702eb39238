"""Runs a program of PyTorch whose operators are observed and not recorded: observed.py LIBRARY INPUTS VIEWS PROGRAM [ARGUMENT…]; see
observer_alone.cpp."""

import ctypes
import pathlib
import runpy
import sys

import torch  # noqa: F401: the library needs it

ctypes.CDLL(sys.argv[1]).observe(int(sys.argv[2]), int(sys.argv[3]))
program = sys.argv[4]
sys.argv = sys.argv[4:]
sys.path[0] = str(pathlib.Path(program).resolve().parent)
runpy.run_path(program, run_name="__main__")

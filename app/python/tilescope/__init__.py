"""Reads Tilescope's recordings (.tscope) as pandas DataFrames, or as plain tables where pandas is not installed.

    import tilescope
    kernels = tilescope.open("a.tscope").kernels()
    print(kernels.attrs["units"]["duration"])  # ns

Needs nothing but Python's standard library and runs without Tilescope's programs.
"""

from tilescope._programs import operator_library
from tilescope._recording import Recording, open
from tilescope._store import Error
from tilescope._tables import Table
from tilescope._version import VERSION as __version__

__all__ = ["Error", "Recording", "Table", "open", "operator_library", "__version__"]

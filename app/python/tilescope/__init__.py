"""Reads Tilescope's recordings (.tscope) as pandas DataFrames, or as plain tables where pandas is not installed, and
records the program that imports it.

    import tilescope
    kernels = tilescope.open("a.tscope").kernels()
    print(kernels.attrs["units"]["duration"])  # ns

    with tilescope.record("b.tscope"):
        train()

Needs nothing but Python's standard library. Reading works without Tilescope's programs; recording needs them.
"""

from tilescope._programs import operator_library
from tilescope._record import range, record, step
from tilescope._recording import LossWarning, Recording, open
from tilescope._store import Error
from tilescope._tables import Table
from tilescope._version import VERSION as __version__

__all__ = ["Error", "LossWarning", "Recording", "Table", "open", "operator_library", "range", "record", "step", "__version__"]

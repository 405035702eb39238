"""The version of this package: that of the programs it comes with."""

VERSION = "0.1.0"

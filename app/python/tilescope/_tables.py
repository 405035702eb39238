"""Tables of columns with units, as pandas DataFrames or without pandas."""

import collections
import json

from tilescope._store import Error

Column = collections.namedtuple("Column", "name kind unit")
# The kinds. A missing value is None in a Table and in a DataFrame's texts, <NA> in its integers, NaN in its reals.
INTEGER, NULLABLE, REAL, TEXT, JSON = "integer", "nullable", "real", "text", "json"
BATCH = 20000  # rows that are in memory as Python objects at a time


def integer(name, unit=None):
    """An integer that is never missing: int64."""
    return Column(name, INTEGER, unit)


def nullable(name, unit=None):
    """An integer that may be missing: Int64."""
    return Column(name, NULLABLE, unit)


def real(name, unit=None):
    """A number that may be missing: float64."""
    return Column(name, REAL, unit)


def text(name):
    """A text that may be missing."""
    return Column(name, TEXT, None)


def from_json(name):
    """A list or a dict."""
    return Column(name, JSON, None)


class Table:
    """A table without pandas: iterating gives a dict per row, `table["duration"]` the list of a column's values.

    `columns` are the names in order, `attrs["units"]` maps those of quantities to their units.
    """

    def __init__(self, columns, values, units):
        self.columns = tuple(columns)
        self.attrs = {"units": units}
        self._values = values

    def __len__(self):
        return len(self._values[0])

    def __iter__(self):
        for row in zip(*self._values):
            yield dict(zip(self.columns, row))

    def __getitem__(self, column):
        try:
            return self._values[self.columns.index(column)]
        except ValueError:
            raise KeyError(column) from None

    def __repr__(self):
        return "Table of {} x {}: {}".format(len(self), len(self.columns), ", ".join(self.columns))


class _Texts(dict):
    """Texts by their bytes. Equal ones are one object: events have few different names."""

    def __missing__(self, value):
        made = None if value is None else value.decode("utf-8", "replace")
        self[value] = made
        return made


def _parsed(value):
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return None


class Builder:
    """Collects the rows of a query into a table. Knows pandas only if it is given.

    \\param path  of the file, for errors
    """

    _TYPES = {INTEGER: {int}, NULLABLE: {int, type(None)}, REAL: {int, float, type(None)}, TEXT: {bytes, type(None)},
              JSON: {bytes, type(None)}}

    def __init__(self, path, columns, pandas=None):
        self._path, self._columns, self._pandas = path, columns, pandas
        self._texts = _Texts()
        self._parts = [[] for _ in columns]
        self.rows = 0

    def position(self, name):
        """The index of a column in a row."""
        return [column.name for column in self._columns].index(name)

    def add(self, rows):
        """Adds tuples with a value per column: int, float, None, or bytes in UTF-8."""
        if not rows:
            return
        self.rows += len(rows)
        for column, parts, values in zip(self._columns, self._parts, zip(*rows)):
            if not self._TYPES[column.kind].issuperset(map(type, values)):
                raise Error(self._path, "the file is damaged: a value of the column {} has the wrong type".format(
                    column.name), "use a copy of it")
            parts.append(self._part(column, values))

    def read(self, cursor):
        """Adds all rows of a query."""
        rows = cursor.fetchmany(BATCH)
        while rows:
            self.add(rows)
            rows = cursor.fetchmany(BATCH)
        return self

    def table(self, sort_by=()):
        """The table, its rows sorted by these columns of integers; rows with equal ones keep their order."""
        units = {column.name: column.unit for column in self._columns if column.unit}
        names = [column.name for column in self._columns]
        if self._pandas is None:
            values = [[value for part in parts for value in part] for parts in self._parts]
            keys = list(zip(*(values[names.index(name)] for name in sort_by)))
            if any(keys[i] < keys[i - 1] for i in range(1, len(keys))):
                order = sorted(range(len(keys)), key=keys.__getitem__)
                values = [[column[i] for i in order] for column in values]
            return Table(names, values, units)
        frame = self._pandas.DataFrame({column.name: self._series(column, parts)
                                        for column, parts in zip(self._columns, self._parts)}, columns=names)
        if sort_by:
            import numpy

            order = numpy.lexsort([frame[name] for name in reversed(sort_by)])
            if (order[1:] < order[:-1]).any():
                frame = frame.take(order).reset_index(drop=True)
        frame.attrs["units"] = units
        return frame

    def _part(self, column, values):
        """Some values of a column as they are kept until all are there."""
        if column.kind == TEXT:
            return list(map(self._texts.__getitem__, values))
        if column.kind == JSON:
            return list(map(_parsed, values))
        if self._pandas is None:
            return values
        import numpy

        if column.kind == INTEGER:
            return numpy.array(values, dtype="int64")
        if column.kind == REAL:
            return numpy.array(values, dtype="float64")  # None becomes NaN
        if None not in values:
            return numpy.array(values, dtype="int64"), numpy.zeros(len(values), dtype="bool")
        missing = numpy.array([value is None for value in values], dtype="bool")
        return numpy.array([0 if value is None else value for value in values], dtype="int64"), missing

    def _series(self, column, parts):
        import numpy

        if column.kind == NULLABLE:
            values, missing = zip(*parts) if parts else ((), ())
            joined = self._pandas.arrays.IntegerArray(
                numpy.concatenate([numpy.array([], dtype="int64"), *values]),
                numpy.concatenate([numpy.array([], dtype="bool"), *missing]))
            return self._pandas.Series(joined)
        if column.kind in (INTEGER, REAL):
            kind = "int64" if column.kind == INTEGER else "float64"
            return self._pandas.Series(numpy.concatenate([numpy.array([], dtype=kind), *parts]))
        return self._pandas.Series([value for part in parts for value in part], dtype="object")

"""The part of PyArrow that the package uses, for tests without it. Types are checked as PyArrow checks them; files hold JSON."""

from pyarrow import ipc  # noqa: F401

_RANGES = {"int32": 2**31, "int64": 2**63}


def int32():
    return "int32"


def int64():
    return "int64"


def float64():
    return "float64"


def utf8():
    return "utf8"


def dictionary(index, value):
    return "dictionary<{}, {}>".format(value, index)


class Array:
    def __init__(self, values, kind):
        self.values, self.type = list(values), kind


def array(values, kind):
    values = list(values)
    for value in values:
        if value is None:
            continue
        if kind in _RANGES and (type(value) is not int or not -_RANGES[kind] <= value < _RANGES[kind]):
            raise TypeError("{!r} is no {}".format(value, kind))
        if kind == "utf8" and type(value) is not str or kind == "float64" and type(value) not in (int, float):
            raise TypeError("{!r} is no {}".format(value, kind))
    return Array([float(value) if kind == "float64" and value is not None else value for value in values], kind)


class DictionaryArray(Array):
    @staticmethod
    def from_arrays(indices, values):
        if len(set(values.values)) != len(values.values):
            raise ValueError("a dictionary has a value twice")
        return DictionaryArray([None if i is None else values.values[i] for i in indices.values],
                               dictionary(indices.type, values.type))


def chunked_array(chunks, kind):
    for chunk in chunks:
        if chunk.type != kind:
            raise TypeError("a chunk is {}, not {}".format(chunk.type, kind))
    return Array([value for chunk in chunks for value in chunk.values], kind)


class Field:
    def __init__(self, name, kind, metadata):
        self.name, self.type, self.metadata = name, kind, metadata


def field(name, kind, metadata=None):
    return Field(name, kind, metadata)


def schema(fields):
    return list(fields)


class Table:
    def __init__(self, columns, fields):
        self.columns, self.schema = columns, fields

    @staticmethod
    def from_arrays(columns, schema):
        for column, of in zip(columns, schema):
            if column.type != of.type or len(column.values) != len(columns[0].values):
                raise ValueError("column {} differs from the schema".format(of.name))
        return Table(columns, schema)

    @property
    def column_names(self):
        return [of.name for of in self.schema]

    @property
    def num_rows(self):
        return len(self.columns[0].values)

    def select(self, names):
        places = [self.column_names.index(name) for name in names]
        return Table([self.columns[i] for i in places], [self.schema[i] for i in places])

    def sort_by(self, keys):
        values = [self.columns[self.column_names.index(name)].values for name, _ in keys]
        order = sorted(range(self.num_rows), key=lambda row: [column[row] for column in values])
        return Table([Array([column.values[row] for row in order], column.type) for column in self.columns], self.schema)

"""The tables of a run as Arrow IPC files (Feather version 2), by PyArrow: what `tilescope export --arrow` runs."""

import os
import re
import sys

from tilescope._recording import Recording
from tilescope._store import Error
from tilescope._tables import JSON, REAL, TEXT, Builder

# The names of the files and the methods of Recording that give their rows.
TABLES = (("runs", "runs"), ("processes", "processes"), ("threads", "threads"), ("devices", "devices"),
          ("streams", "streams"), ("samples", "samples"), ("kernels", "kernels"), ("copies", "copies"),
          ("ranges", "ranges"), ("ops", "ops"), ("api_calls", "api_calls"), ("frames", "frames"),
          ("allocations", "memory"), ("collectives", "collectives"), ("waits", "waits"), ("counters", "counters"),
          ("losses", "losses"))
# Columns that tell who recorded the run, and where.
IDENTITY = frozenset(("host", "command_line", "uuid"))

_SLASH = "/\u2215"  # names of ranges have division slashes in place of slashes
_PATH_END = r"\s\x00-\x20\"'()<>\[\]{}|,;:=*?"
_PATH = re.compile(r"(?:^|(?<=[{0}{1}]))[{1}][^{0}]*".format(_PATH_END, _SLASH))
_HOME = re.compile(r"^(?:[{0}]+(?:var[{0}]+)?root(?=$|[{0}])|.*?[{0}](?:home|Users|users)[{0}]+[^{0}]+)".format(_SLASH))


def without_homes(text, own=None):
    """The text with every home folder in it replaced by `~`, as all exports do it.

    own  the home folder of this process, by default that of $HOME
    """
    own = os.environ.get("HOME", "") if own is None else own
    own = own if len(own) > 2 and own.startswith("/") and not own.endswith("/") else None

    def without(match):
        path = match.group()
        found = _HOME.match(path)
        length = found.end() if found else 0
        if own and path.startswith(own) and (len(path) == len(own) or path[len(own)] in _SLASH):
            length = max(length, len(own))
        return "~" + path[length:] if length else path

    return _PATH.sub(without, text)


class _Texts(dict):
    """The numbers of texts by their bytes, as the dictionary of a column has them."""

    def __init__(self, shown):
        super().__init__()
        self._shown, self._numbers = shown, {}

    def __missing__(self, value):
        number = None
        if value is not None:
            number = self._numbers.setdefault(self._shown(value.decode("utf-8", "replace")), len(self._numbers))
        self[value] = number
        return number

    def all(self):
        return list(self._numbers)


class _ArrowBuilder(Builder):
    """Collects rows into an Arrow table. Texts are dictionaries, so that each is stored once."""

    def __init__(self, path, columns, pyarrow, shown):
        super().__init__(path, columns)
        self._arrow = pyarrow
        self._dictionaries = [_Texts(shown) if column.kind in (TEXT, JSON) else None for column in columns]

    def _part(self, column, values):
        texts = self._dictionaries[self._columns.index(column)]
        if texts is not None:
            return self._arrow.array([texts[value] for value in values], self._arrow.int32())
        return self._arrow.array(values, self._arrow.float64() if column.kind == REAL else self._arrow.int64())

    def table(self, sort_by=()):
        arrow = self._arrow
        fields, columns = [], []
        for column, texts, parts in zip(self._columns, self._dictionaries, self._parts):
            kind = arrow.float64() if column.kind == REAL else arrow.int64()
            if texts is not None:
                kind = arrow.dictionary(arrow.int32(), arrow.utf8())
                dictionary = arrow.array(texts.all(), arrow.utf8())
                parts = [arrow.DictionaryArray.from_arrays(part, dictionary) for part in parts]
            fields.append(arrow.field(column.name, kind, metadata={"unit": column.unit} if column.unit else None))
            columns.append(arrow.chunked_array(parts, kind))
        table = arrow.Table.from_arrays(columns, schema=arrow.schema(fields))
        keys = [name for name in sort_by if name != "run"]  # the rows are of one run
        return table.sort_by([(name, "ascending") for name in keys]) if keys else table


class _ArrowRecording(Recording):
    def __init__(self, path, pyarrow, shown):
        super().__init__(path, False)
        self._arrow, self._shown = pyarrow, shown

    def _builder(self, columns):
        return _ArrowBuilder(self.path, columns, self._arrow, self._shown)


def write(path, run, folder, with_identity=False):
    """Writes a file for each table of a run, also for those without rows, and yields their names and rows.

    with_identity  whether to write host names, command lines and home folders

    Raises ImportError without PyArrow, Error for a damaged file or a run that does not exist.
    """
    import pyarrow
    import pyarrow.ipc

    recording = _ArrowRecording(path, pyarrow, str if with_identity else without_homes)
    for name, method in TABLES:
        table = getattr(recording, method)(run)
        if not with_identity:
            table = table.select([column for column in table.column_names if column not in IDENTITY])
        with pyarrow.ipc.new_file(os.path.join(folder, name + ".arrow"), table.schema) as file:
            file.write_table(table)
        yield name, table.num_rows


def main(words):
    """FILE RUN FOLDER [--with-identity]. Exit status: 4 without PyArrow, 2 where the file cannot be read, 3 where one cannot be
    written. The last line of the output has the reason, or the tables with their rows."""
    path, run, folder, *options = words
    try:
        import pyarrow.ipc  # noqa: F401
    except ImportError as error:
        print(error, file=sys.stderr)
        return 4
    try:
        tables = list(write(path, int(run), folder, "--with-identity" in options))
    except Error as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        return 3
    print(", ".join("{}: {}".format(*table) for table in tables))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Opens .tscope files for reading, with the checks and the protection that Tilescope's programs have."""

import contextlib
import functools
import os
import re
import sqlite3
import time
import urllib.parse

APPLICATION_ID = 0x54534350  # "TSCP"
SCHEMA_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema")
READING_MARK = "-- reading older files:"
SMALLEST_DATABASE = 512  # bytes
BUSY_SECONDS = 5
DEAD_AFTER_SECONDS = 10  # a writer renews its heartbeat every two seconds
VERIFY = "use a copy of it, or run `tilescope verify` to see what is intact"


class Error(Exception):
    """One sentence about a file: where, what, and how to fix it."""

    def __init__(self, where, what, remedy=""):
        super().__init__("{}: {}{}".format(where, what, "; " + remedy if remedy else ""))


# --- schema --------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def _migrations():
    """(upgrade, reading) for each version: the parts of its file before and behind READING_MARK."""
    names = sorted(name for name in os.listdir(SCHEMA_FOLDER) if name.endswith(".sql"))
    migrations = []
    for name in names:
        with open(os.path.join(SCHEMA_FOLDER, name), encoding="utf-8") as file:
            upgrade, _, reading = file.read().partition(READING_MARK)
        migrations.append((upgrade, reading))
    return migrations


def newest_version():
    """The newest version of files that this package reads."""
    return len(_migrations())


@functools.lru_cache(maxsize=None)
def _schema_of_version(version):
    """{(type, name): SQL} of all that a file of this version contains."""
    model = sqlite3.connect(":memory:")
    try:
        for upgrade, _ in _migrations()[:version]:
            model.executescript(upgrade)
        return _objects_of(model)
    finally:
        model.close()


def _objects_of(connection):
    rows = connection.execute("select type, name, coalesce(sql, '') from main.sqlite_master")
    # Objects that SQLite makes itself: indexes of unique columns, statistics.
    return {(kind, name): sql for kind, name, sql in rows if not name.startswith("sqlite_")}


def _require_our_schema(connection, path, version):
    expected, found = _schema_of_version(version), _objects_of(connection)
    for key in sorted(expected.keys() | found.keys()):
        thing = " ".join(key)
        if key not in expected:
            what = "unknown " + thing
        elif key not in found:
            what = thing + " is missing"
        elif expected[key] != found[key]:
            what = thing + " differs from Tilescope's"
        else:
            continue
        raise Error(path, "not a Tilescope schema: " + what,
                    "open it with sqlite3 if you trust it, or run the experiment again")


def _prepare_for_reading(connection, version):
    """Lets queries of the newest version run on an older file, by temporary views in place of its tables."""
    for _, reading in _migrations()[version:]:
        connection.executescript(reading)
    if version == newest_version():
        return
    # The file's own views see neither the columns nor the tables that newer versions added. A migration may have made one already.
    for (kind, _), sql in _schema_of_version(newest_version()).items():
        if kind == "view":
            connection.execute(re.sub(r"^create view", "create temp view if not exists", sql, flags=re.IGNORECASE))


# --- opening -------------------------------------------------------------------------------------------------------


def _remedy_for_wrong_file(path):
    return "name a file that Tilescope wrote, or a copy of it" if path.endswith(".tscope") else "name a .tscope file"


def _sqlite(path, parameters):
    uri = "file:" + urllib.parse.quote(os.fsencode(os.path.abspath(path))) + "?" + parameters
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma cell_size_check = on")
    connection.execute("pragma temp_store = memory")
    return connection


def _value(connection, sql, *values):
    row = connection.execute(sql, values).fetchone()
    return row[0] if row else None


def _has_contents(path):
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def _require_readable(path):
    if not os.path.lexists(path):
        raise Error(path, "no such file", "check the path")
    if os.path.isdir(path):
        raise Error(path, "is a folder", _remedy_for_wrong_file(path))
    if not os.path.isfile(path):
        raise Error(path, "is not a regular file", _remedy_for_wrong_file(path))
    if not os.access(path, os.R_OK):
        raise Error(path, "cannot be read", "ask its owner for permission")
    if os.path.getsize(path) == 0:
        raise Error(path, "is empty", _remedy_for_wrong_file(path))


def _version_in_header(path, file):
    """The version that a file's first page tells, if it is a Tilescope file that this package reads.

    Opens it as an immutable database: without locks, and without a log or an index that SQLite would create beside
    another program's file. Reading the file's bytes would be simpler, but closing it would drop the locks that SQLite
    holds on it for this process.
    """
    with contextlib.closing(_sqlite(file, "mode=ro&immutable=1")) as connection:
        try:
            application = _value(connection, "pragma application_id")
        except sqlite3.DatabaseError as error:
            if "malformed" in str(error):
                raise
            application = None
        # SQLite takes a file of a few bytes for an empty database.
        if application is None or os.path.getsize(file) < SMALLEST_DATABASE:
            raise Error(path, "not a Tilescope file", _remedy_for_wrong_file(path))
        if application != APPLICATION_ID:
            raise Error(path, "is an SQLite database, but not Tilescope's", _remedy_for_wrong_file(path))
        version = _value(connection, "pragma user_version")
        if version > newest_version():
            raise Error(path, "was written by {} (file version {}, this package reads up to {})".format(
                _program_of(connection), version, newest_version()), "use the Python package of that program")
        if version < 1:
            raise Error(path, "the file is damaged (version {})".format(version), "use a copy of it")
        return version


def _program_of(connection):
    """The name and version of the program that wrote the file's last run, as far as a file of another version tells."""
    for sql in ("select program from run order by id desc limit 1", "select program from file"):
        try:
            program = _value(connection, sql)
        except sqlite3.Error:
            continue
        if isinstance(program, str) and program:
            return "a newer program, " + program
    return "a newer Tilescope"


def _translated(error, path):
    text = str(error)
    if "malformed" in text or "not a database" in text:
        return Error(path, "the file is damaged", VERIFY)
    if "locked" in text:
        return Error(path, "another program has locked the file", "close what uses it and try again")
    if "readonly" in text:
        return Error(path, "the process that wrote it was killed while it sealed the file",
                     "open it once with Tilescope as a user who may write it and its folder")
    if "unable to open" in text:
        return Error(path, "cannot be opened", "check that you may use the file and its folder")
    return Error(path, "SQLite failed: " + text)


def _bytes_in_header(file):
    """The size that the header of a file gives; 0: it does not know, as while the newest pages are in a log."""
    with open(file, "rb") as opened:
        head = opened.read(100)
    # https://www.sqlite.org/fileformat.html: versions of writing and reading (1: no log), page size, change counter, pages
    if len(head) < 100 or head[18:20] != b"\1\1" or head[24:28] != head[92:96]:
        return 0
    page = int.from_bytes(head[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big")


def _open_for_reading(path, file):
    size, whole = os.path.getsize(file), _bytes_in_header(file)
    if size < whole:
        raise Error(path, "the file is damaged: it was cut to {} of its {} bytes".format(size, whole), VERIFY)
    connection = _sqlite(file, "mode=ro")
    try:
        _value(connection, "select count(*) from sqlite_master")
        return connection
    except sqlite3.OperationalError:
        connection.close()
        # The copy of a file that was being written: there is no log, and SQLite may not create one. Nobody writes it,
        # because that takes write permission for the folder.
        if (_has_contents(file + "-wal") or _has_contents(file + "-journal")
                or os.access(os.path.dirname(file), os.W_OK)):
            raise
        return _sqlite(file, "mode=ro&immutable=1")
    except BaseException:
        connection.close()
        raise


@contextlib.contextmanager
def connected(path):
    """A connection with one snapshot of the file, in which all tables and views of the newest version can be read.

    It is closed afterwards: an open connection would prevent a writer from sealing the file.
    """
    _require_readable(path)
    file = os.path.realpath(path)  # log and lock are beside the target of a link
    try:
        version = _version_in_header(path, file)
        with contextlib.closing(_open_for_reading(path, file)) as connection:
            _require_our_schema(connection, path, version)
            _prepare_for_reading(connection, version)
            connection.execute("pragma query_only = on")
            connection.text_factory = bytes
            connection.execute("begin")
            yield connection
    except sqlite3.Error as error:
        raise _translated(error, path) from error


def is_being_written(path):
    """Whether a living writer has the file, by its heartbeat: true for up to ten seconds after it was killed."""
    try:
        with open(os.path.realpath(path) + "-lock", encoding="utf-8", errors="replace") as file:
            beat = int(file.read(512).split()[2])
    except (OSError, ValueError, IndexError):
        return False
    return time.time_ns() - beat < DEAD_AFTER_SECONDS * 10**9


def version_of(path):
    """The version of the file, after all checks."""
    with connected(path) as connection:
        return _value(connection, "pragma user_version")

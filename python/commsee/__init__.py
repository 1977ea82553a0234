"""Profiles of commsee as pandas DataFrames.

    import commsee
    run = commsee.read("run.db")
    run.profile.groupby(["comm", "op"]).time_s.sum()      # a view of the profile, with its columns
    run.sql("SELECT * FROM ranks WHERE mpi_s > ?", [1.0])

`run.views` names the views; `through sql --schema` and docs/reference/profile.md explain their columns. Times are seconds, sizes bytes.
"""

import os
import sqlite3
import urllib.parse

__all__ = ["Profile", "read"]

_APPLICATION_ID = 0x6D736565
_VERSION = 1


class Profile:
    """A profile, opened to be read alone. Each view is an attribute, and an item: `run.matrix`, `run["matrix"]`."""

    def __init__(self, path):
        """Raises FileNotFoundError, and ValueError where the file is no profile that this version reads."""
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"{self.path}: there is no such file; `through run -o {self.path} -- mpirun …` makes a profile")
        uri = f"file:{urllib.parse.quote(os.path.abspath(self.path))}?mode=ro"
        self._connection = sqlite3.connect(uri, uri=True)
        try:
            (application,) = self._connection.execute("PRAGMA application_id").fetchone()
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path}: no profile of commsee: {error}") from None
        if application != _APPLICATION_ID:
            raise ValueError(f"{self.path}: no profile of commsee")
        if version != _VERSION:
            raise ValueError(f"{self.path}: a profile of version {version}, and this package reads version {_VERSION}: update it")
        rows = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name")
        self.views = [name for (name,) in rows]

    def sql(self, query, parameters=()):
        """The rows of a query, as a DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("pandas is missing: pip install pandas") from error
        return pandas.read_sql_query(query, self._connection, params=tuple(parameters))

    def __getitem__(self, view):
        if view not in self.views:
            raise KeyError(f"{view}: {self.path} has no such view: {', '.join(self.views)}")
        return self.sql(f'SELECT * FROM "{view}"')

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.views:
            raise AttributeError(f"{name}: a profile has {', '.join(self.__dict__.get('views', []))}")
        return self[name]

    def __dir__(self):
        return [*super().__dir__(), *self.views]

    def __repr__(self):
        return f"commsee.read({self.path!r})"


def read(path):
    """Opens a profile: see Profile."""
    return Profile(path)

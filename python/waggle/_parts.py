"""Logs in parts: files, or row groups of Parquet files, each read where it is needed."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waggle._core import Error
from waggle._logs import OpenLog, _columns

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")


def pyarrow_dataset():
    """pyarrow.dataset, or what to install."""
    try:
        import pyarrow.dataset as dataset
    except ImportError:
        raise Error("Parquet and Arrow files need pyarrow: pip install pyarrow") from None
    return dataset


class EmptyPart(Error):
    """A part without rows, or, with `where`, without any that are asked for."""


@dataclass(frozen=True)
class Part:
    """A file that the library reads, or some row groups of a Parquet file. It is only a name: the
    rows are read by `load`, wherever that is called."""

    path: str
    groups: tuple[int, ...] | None = None
    """Row groups; None: the whole file."""
    before: tuple[Part, ...] = field(default=(), repr=False)
    """The parts of the same record before it, the nearest first."""

    @property
    def name(self) -> str:
        return self.path if self.groups is None else f"{self.path}#{self.groups[0]}"

    @property
    def is_table(self) -> bool:
        return self.path.endswith(PARQUET + ARROW)

    def table(self, columns: Sequence[str] | None, where: Any) -> Any:
        """The rows as an Arrow table: only the columns and, by `where`, the rows asked for are
        read from the file."""
        dataset = pyarrow_dataset()
        try:
            if self.path.endswith(PARQUET):
                filesystem, path = _filesystem(self.path)
                fragment = dataset.ParquetFileFormat().make_fragment(
                    path, filesystem, row_groups=None if self.groups is None else list(self.groups)
                )
                here = set(fragment.physical_schema.names)
                missing = [name for name in columns or () if name not in here]
                if missing:
                    raise Error(f"{self.name!r}: there is no column {missing[0]!r}")
                return fragment.to_table(columns=columns and list(columns), filter=where)
            return dataset.dataset(self.path, format="ipc").to_table(
                columns=columns and list(columns), filter=where
            )
        except Error:
            raise
        except Exception as error:
            raise Error(f"{self.name!r} cannot be read: {_line(error)}") from None

    def load(self, reading: dict[str, Any] | None, overlap: int, where: Any = None) -> Loaded:
        """What the library is given. `reading` is the plan's; None: all columns."""
        if not self.is_table:
            files = [self.path]
            if overlap > 0 and self.before:
                files.insert(0, self.before[0].path)
            return Loaded(files, "", 0)
        import pyarrow

        columns = None
        if reading is not None:
            columns = needed_columns(reading, self._schema_names())
        table = self.table(columns, where)
        if table.num_rows == 0:
            raise EmptyPart(f"{self.name!r}: the part is empty: it has no rows")
        lead = 0
        leads = []
        for part in self.before if overlap > 0 else ():
            rows = part.table(columns, where)
            leads.insert(0, rows.slice(max(0, rows.num_rows - (overlap - lead))))
            lead += leads[0].num_rows
            if lead >= overlap:
                break
        if leads:
            table = pyarrow.concat_tables([*leads, table])
        return Loaded(_columns(table), self.name, lead)

    def _schema_names(self) -> list[str]:
        dataset = pyarrow_dataset()
        form = "parquet" if self.path.endswith(PARQUET) else "ipc"
        try:
            return dataset.dataset(self.path, format=form).schema.names
        except Exception as error:
            raise Error(f"{self.name!r} cannot be read: {_line(error)}") from None


@dataclass
class Loaded:
    data: list[Any]
    name: str
    lead: int


def _filesystem(path: str) -> tuple[Any, str]:
    """Where a path is: on a disk, or, by what it begins with (s3://, gs://, hdfs://), elsewhere."""
    from pyarrow import fs

    return fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def needed_columns(reading: dict[str, Any], there: Sequence[str]) -> list[str]:
    """The columns of a file that a log is read from: reward, actions, observations, and those about
    episodes that are there."""
    wanted = [reading["reward"], *reading["actions"]]
    for name in reading["observations"]:
        column = name.partition("=")[0]
        wanted.append(name if name in there or column not in there else column)
    for key, others in (
        ("episode", ()),
        ("terminated", ("terminals", "terminations")),
        ("truncated", ("timeouts", "truncations")),
    ):
        for name in (reading[key], *others):
            if name and name in there:
                wanted.append(name)
                break
    return list(dict.fromkeys(wanted))


def parts_of(data: Any, joined: bool = False) -> tuple[list[Part], bool]:
    """The parts of a dataset in their order, and whether some go on where others ended.

    A file of CSV or NumPy is a part; of Parquet files, every row group is, and goes on where the one
    before it ended; `joined`: a file goes on where the one before it ended, too.
    """
    files = _files(data)
    parts: list[Part] = []
    record: list[Part] = []
    for path in files:
        if not joined:
            record = []
        for groups in _row_groups(path):
            parts.append(Part(path, groups, tuple(reversed(record[-64:]))))
            record.append(Part(path, groups))
    return parts, any(part.before for part in parts)


def _row_groups(path: str) -> list[tuple[int, ...] | None]:
    if not path.endswith(PARQUET):
        return [None]
    pyarrow_dataset()
    import pyarrow.parquet

    try:
        count = pyarrow.parquet.ParquetFile(path).metadata.num_row_groups
    except Exception:
        return [None]  # what is wrong with it is said when it is read
    return [None] if count <= 1 else [(i,) for i in range(count)]


def _files(data: Any) -> list[str]:
    if hasattr(data, "files") and type(data).__module__.startswith("pyarrow"):
        return [str(path) for path in data.files]
    given = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    files: list[str] = []
    for item in given:
        path = os.fspath(item)
        if Path(path).is_dir():
            inside = sorted(
                str(file)
                for file in Path(path).rglob("*")
                if file.is_file() and file.suffix in (*PARQUET, *ARROW, ".csv", ".npz", ".npy")
            )
            if not inside:
                raise Error(f"{path!r}: no Parquet, Arrow, CSV or NumPy files are in this folder")
            files.extend(inside)
        elif any(sign in path for sign in "*?["):
            found = sorted(glob.glob(path))
            if not found:
                raise Error(f"{path!r}: no file has such a name")
            files.extend(found)
        else:
            files.append(path)
    if not files:
        raise Error("there are no files to learn from")
    return files


def read_table(path: str, reading: dict[str, Any] | None, where: Any = None) -> OpenLog:
    """One Parquet or Arrow file as a log in memory; only the columns that are needed are read."""
    part = Part(path)
    columns = None
    if reading is not None and reading.get("observations") is not None:
        columns = needed_columns(reading, part._schema_names())
    return OpenLog(_columns(part.table(columns, where)), path, reading or {})

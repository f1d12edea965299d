"""Tables of any kind, as the library reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from waggle._core import Error
from waggle._spaces import unmasked


@dataclass
class OpenLog:
    """What the library is given: paths, or columns under a name."""

    data: list[Any]
    name: str = ""
    reading: dict[str, Any] = field(default_factory=dict)
    interface: dict[str, Any] | None = None


def asked(
    reward: str = "reward",
    action: Any = "action",
    observe: Any = None,
    labelled: Any = (),
    ignore: Any = (),
    missing: str = "refuse",
    reward_next: bool = False,
    episode: str | None = "episode",
    terminated: str | None = "terminated",
    truncated: str | None = "truncated",
    time: str | None = None,
    bounds: Any = None,
    choices: Any = None,
    kind: str = "automatic",
    reward_input: bool | None = None,
) -> dict[str, Any]:
    """How to read a log, by the arguments of `learn_log`."""
    return {
        "reward": reward,
        "actions": [action] if isinstance(action, str) else [str(name) for name in action],
        "observations": None if observe is None else [str(name) for name in observe],
        "labelled": [str(name) for name in labelled],
        "ignore": [str(name) for name in ignore],
        "missing": missing,
        "reward_next": bool(reward_next),
        "time": time or "",
        "episode": episode or "",
        "terminated": terminated or "",
        "truncated": truncated or "",
        "choices": choices,
        "bounds": bounds,
        "action_kind": kind,
        "reward_is_input": reward_input,
    }


def open_log(data: Any, asked: dict[str, Any] | None) -> OpenLog:
    """Finds out what `data` is. `asked` is how to read it; None: as a model needs it."""
    reading = None if asked is None else _reading(asked)
    if _is_minari(data):
        from waggle import _minari

        return _minari.read(data, asked)
    paths = _paths(data)
    if paths is not None:
        if any(_is_dataset(path) for path in paths):
            from waggle import _minari

            if len(paths) > 1:
                raise Error(f"{len(paths)} Minari datasets or HDF5 files: give one")
            return _minari.open_path(paths[0], asked)
        if any(path.endswith((".parquet", ".pq", ".arrow", ".feather", ".ipc")) for path in paths):
            from waggle._arrow import read_table

            if len(paths) > 1:
                raise Error(
                    f"{len(paths)} Parquet or Arrow files: give one, or a table of them all"
                )
            return OpenLog(_columns(read_table(paths[0], reading)), paths[0], reading or {})
        return OpenLog(paths, "", reading or {})
    return OpenLog(_columns(data), f"the {_kind(data)}", reading or {})


def _reading(asked: dict[str, Any]) -> dict[str, Any]:
    """LogOptions, as the library names them."""
    reading = {
        key: asked[key]
        for key in (
            "reward",
            "reward_next",
            "actions",
            "labelled",
            "ignore",
            "missing",
            "episode",
            "terminated",
            "truncated",
            "time",
            "action_kind",
        )
    }
    if asked["observations"] is not None:
        reading["observations"] = asked["observations"]
    if asked["choices"] is not None:
        reading["choices"] = [str(choice) for choice in asked["choices"]]
    if asked["bounds"] is not None:
        try:
            lower, upper = (
                np.atleast_1d(np.asarray(bound, dtype=np.float64)).tolist()
                for bound in asked["bounds"]
            )
        except (TypeError, ValueError):
            raise Error(f"bounds = {asked['bounds']!r}: must be a pair (lower, upper)") from None
        reading["lower"], reading["upper"] = lower, upper
    seen = asked["reward_is_input"]
    reading["reward_is_input"] = True if seen is None else bool(seen)
    return reading


def _is_minari(data: Any) -> bool:
    return callable(getattr(data, "iterate_episodes", None))


def _is_dataset(path: str) -> bool:
    """The folder of a Minari dataset, or an HDF5 file."""
    if path.endswith((".hdf5", ".h5")):
        return True
    folder = Path(path)
    data = folder / "data" if (folder / "data").is_dir() else folder
    return any(data.joinpath(name).is_file() for name in ("metadata.json", "main_data.hdf5"))


def _paths(data: Any) -> list[str] | None:
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    listed = isinstance(data, (list, tuple)) and len(data) > 0
    if listed and all(isinstance(item, (str, os.PathLike)) for item in data):
        return [os.fspath(item) for item in data]
    return None


def _kind(data: Any) -> str:
    return "dict" if isinstance(data, Mapping) else type(data).__name__


def _columns(data: Any) -> list[tuple[str, Any]]:
    module = type(data).__module__.partition(".")[0]
    if isinstance(data, Mapping):
        items = [(str(name), unmasked(values)) for name, values in data.items()]
    elif module == "pandas" and hasattr(data, "columns"):
        items = [
            (str(name), _pandas_column(data.iloc[:, i])) for i, name in enumerate(data.columns)
        ]
    elif module == "polars" and hasattr(data, "get_columns"):
        items = [(str(series.name), series.to_numpy()) for series in data.get_columns()]
    elif module == "pyarrow" and hasattr(data, "column_names"):
        items = [(str(name), data.column(i).to_numpy()) for i, name in enumerate(data.column_names)]
    else:
        raise Error(
            f"a log cannot be read from {type(data).__name__}: give a pandas or polars DataFrame, an "
            "Arrow table, a dict of arrays, a Minari dataset or the path of a file"
        )
    columns: list[tuple[str, Any]] = []
    for name, values in items:
        columns.extend(_split(name, values))
    return columns


def _pandas_column(series: Any) -> np.ndarray:
    if series.dtype.kind in "fiub" and series.dtype.__class__.__module__.startswith("pandas"):
        return series.to_numpy(
            dtype=np.float64, na_value=np.nan
        )  # its own kinds, with missing ones
    return series.to_numpy()


def _split(name: str, values: np.ndarray) -> list[tuple[str, Any]]:
    """A column; or several, of a matrix."""
    if values.ndim == 2:
        if values.shape[1] == 1:
            return _split(name, values[:, 0])
        return [(f"{name}_{i}", _numbers(values[:, i])) for i in range(values.shape[1])]
    if values.ndim != 1:
        raise Error(f"column {name!r}: an array of {values.ndim} dimensions, must be 1 or 2")
    if values.dtype.kind in "fiub":
        return [(name, _numbers(values))]
    if values.dtype.kind == "O" and all(
        value is None or isinstance(value, (int, float, np.number, np.bool_)) for value in values
    ):
        numbers = [np.nan if value is None else float(value) for value in values]
        return [(name, np.array(numbers, dtype=np.float64))]
    if values.dtype.kind == "M":
        return [(name, np.datetime_as_string(values).tolist())]  # times, if they are said to be
    if values.dtype.kind not in "OUST":
        raise Error(f"column {name!r} is of {values.dtype}: must be numbers or text")
    return [(name, ["" if _is_missing(value) else str(value) for value in values])]


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _numbers(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)

"""Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waggle._core import Error


def read_table(path: str, reading: dict[str, Any] | None) -> Any:
    """The file as an Arrow table; if `reading` names the observations, only the columns that are
    needed."""
    try:
        from pyarrow import dataset
    except ImportError:
        raise Error("Parquet and Arrow files need pyarrow: pip install pyarrow") from None
    try:
        file = dataset.dataset(
            path, format="parquet" if path.endswith((".parquet", ".pq")) else "ipc"
        )
        columns = None
        if reading is not None and reading.get("observations") is not None:
            columns = _needed_columns(reading, file.schema.names)
        return file.to_table(columns=columns)
    except Exception as error:
        first_line = str(error).strip().partition("\n")[0]
        raise Error(f"{path!r} cannot be read: {first_line}") from None


def _needed_columns(reading: dict[str, Any], there: Sequence[str]) -> list[str]:
    """Reward, actions, observations, and those about episodes, as far as they are there: what is
    missing is said by the library."""
    about_episodes = ("episode", "terminated", "terminals", "terminations")
    about_episodes += ("truncated", "timeouts", "truncations")
    wanted = {reading["reward"], *reading["actions"], *about_episodes}
    wanted |= {reading[key] for key in ("episode", "terminated", "truncated", "time")}
    for name in reading["observations"]:
        wanted |= {name, name.partition("=")[0]}
    return [name for name in there if name in wanted]

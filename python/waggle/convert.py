"""python3 -m waggle.convert DATASET log.csv: a Minari dataset or an HDF5 file as CSV, for the command.

DATASET is the folder of a Minari dataset, its identifier, or an HDF5 file."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

from waggle import Error, _minari
from waggle._logs import OpenLog


def to_csv(dataset: str, out: str) -> None:
    """Writes the log's rows; what is missing is an empty cell."""
    if Path(dataset).exists():
        log: OpenLog = _minari.open_path(dataset, None)
    else:
        log = _minari.read(_minari._minari().load_dataset(dataset), None)
    with open(out, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([name for name, _ in log.data])
        for row in zip(*(values for _, values in log.data), strict=True):
            rows.writerow([_cell(value) for value in row])


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        return ""
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: python3 -m waggle.convert DATASET log.csv", file=sys.stderr)
        return 2
    try:
        to_csv(*arguments)
    except (Error, OSError) as error:
        print(f"waggle.convert: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

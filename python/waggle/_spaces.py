"""Gymnasium's spaces as rows of numbers.

A space is first described as plain data, which a model file keeps, so that a controller understands
observations of that space when it is loaded where Gymnasium is not installed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from waggle._core import Error

_KINDS = ("Box", "Discrete", "MultiBinary", "MultiDiscrete", "Dict", "Tuple")


def _kind_of(space: Any) -> str | None:
    for base in type(space).__mro__:
        if base.__name__ in _KINDS:
            return base.__name__
    return None


def _shape(value: Any) -> list[int]:
    return [int(n) for n in np.atleast_1d(np.asarray(value, dtype=np.int64))]


def describe_observation(space: Any, where: str = "observation") -> dict[str, Any]:
    """The space as plain data. Raises Error for one that cannot be flattened."""
    kind = _kind_of(space)
    if kind == "Box":
        return {"kind": "box", "shape": [int(n) for n in space.shape]}
    if kind == "Discrete":
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if kind == "MultiBinary":
        return {"kind": "binary", "shape": [int(n) for n in space.shape]}
    if kind == "MultiDiscrete":
        start = getattr(space, "start", None)
        counts = _shape(np.asarray(space.nvec).ravel())
        starts = [0] * len(counts) if start is None else _shape(np.asarray(start).ravel())
        shape = [int(n) for n in np.shape(space.nvec)]
        return {"kind": "multidiscrete", "counts": counts, "starts": starts, "shape": shape}
    if kind == "Dict":
        inner = {str(k): describe_observation(s, f"{where}.{k}") for k, s in space.spaces.items()}
        return {"kind": "dict", "spaces": inner}
    if kind == "Tuple":
        parts = [describe_observation(s, f"{where}.{i}") for i, s in enumerate(space.spaces)]
        return {"kind": "tuple", "spaces": parts}
    raise Error(
        f"{where}: a space {type(space).__name__} cannot be flattened; must be one of "
        f"{', '.join(_KINDS)}"
    )


def describe_action(space: Any) -> dict[str, Any]:
    """The same for actions, which are Discrete or a Box of real numbers."""
    kind = _kind_of(space)
    if kind == "Discrete":
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if kind == "Box":
        if not np.issubdtype(space.dtype, np.floating):
            raise Error(f"action: a Box of {space.dtype}, must be of real numbers or Discrete")
        if math.prod(space.shape) == 0:
            raise Error(f"action: a Box of shape {space.shape}, must hold a number")
        return {
            "kind": "box",
            "shape": [int(n) for n in space.shape],
            "dtype": np.dtype(space.dtype).name,
        }
    raise Error(f"action: a space {type(space).__name__}, must be Discrete or Box")


def size_of(space: dict[str, Any]) -> int:
    """Numbers in a flattened value."""
    kind = space["kind"]
    if kind in ("box", "binary"):
        return math.prod(space["shape"])
    if kind == "discrete":
        return space["n"]
    if kind == "multidiscrete":
        return sum(space["counts"])
    inner = space["spaces"].values() if kind == "dict" else space["spaces"]
    return sum(size_of(part) for part in inner)


def names_of(space: dict[str, Any], name: str = "observation") -> list[str]:
    """What each of these numbers is called."""
    kind = space["kind"]
    if kind in ("box", "binary"):
        size = math.prod(space["shape"])
        return [name] if size == 1 else [f"{name}_{i}" for i in range(size)]
    if kind == "discrete":
        return [f"{name}={space['start'] + i}" for i in range(space["n"])]
    if kind == "multidiscrete":
        return [
            f"{name}_{j}={start + i}"
            for j, (count, start) in enumerate(zip(space["counts"], space["starts"], strict=True))
            for i in range(count)
        ]
    items = space["spaces"].items() if kind == "dict" else enumerate(space["spaces"])
    prefix = "" if name == "observation" else f"{name}."
    return [leaf for key, part in items for leaf in names_of(part, f"{prefix}{key}")]


def check(space: Any) -> dict[str, Any]:
    """A description that was read from a file, or Error: nothing in a file is trusted."""

    def whole(value: Any, least: int) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**31

    def good(part: Any, depth: int) -> bool:
        if not isinstance(part, dict) or depth > 16:
            return False
        kind = part.get("kind")
        if kind in ("box", "binary"):
            shape = part.get("shape")
            return isinstance(shape, list) and all(whole(n, 0) for n in shape)
        if kind == "discrete":
            return whole(part.get("n"), 1) and isinstance(part.get("start"), int)
        if kind == "multidiscrete":
            counts, starts = part.get("counts"), part.get("starts")
            return (
                isinstance(counts, list)
                and isinstance(starts, list)
                and isinstance(part.get("shape"), list)
                and len(counts) == len(starts)
                and all(whole(n, 1) for n in counts)
                and all(isinstance(n, int) for n in starts)
            )
        inner = part.get("spaces")
        if kind == "dict":
            return isinstance(inner, dict) and all(good(p, depth + 1) for p in inner.values())
        if kind == "tuple":
            return isinstance(inner, list) and all(good(p, depth + 1) for p in inner)
        return False

    if not good(space, 0):
        raise Error("the model's interface is damaged: its spaces are not to be understood")
    return space


def _same_label(value: Any, label: str) -> bool:
    if value is None or value != value:
        return label == "missing"
    try:
        return str(value) == label or float(value) == float(label)
    except ValueError:
        return False


def by_name(observation: Mapping[str, Any], names: list[str]) -> np.ndarray:
    """The channels of an observation that is given by names of a log's columns."""
    numbers = np.zeros(len(names))
    known: dict[str, list[str]] = {}  # the labels of a column
    for i, name in enumerate(names):
        places = [
            at for at, letter in enumerate(name) if letter == "=" and name[:at] in observation
        ]
        may_miss = f"{name}=missing" in names
        if name in observation or may_miss:
            number = observation.get(name)
            if number is None and not may_miss:
                raise Error(f"{name} is None: must be a number, since it never was missing")
            numbers[i] = np.nan if number is None else float(number)
        elif name.endswith("=missing") and name.removesuffix("=missing") in names:
            continue  # the controller finds out by itself
        elif places:
            column, label = name[: places[0]], name[places[0] + 1 :]
            numbers[i] = _same_label(observation[column], label)
            known.setdefault(column, []).append(label)
        else:
            raise Error(f"the observation has no {name!r}; must have {', '.join(names)}")
    for column, labels in known.items():
        if not any(_same_label(observation[column], label) for label in labels):
            raise Error(f"{column} = {observation[column]!r}: must be one of {', '.join(labels)}")
    return numbers


def _one_hot(value: Any, n: int, start: int, name: str, out: np.ndarray) -> None:
    """Writes the one-hot code of every entry of `value` (B) into `out` (B × n)."""
    index = np.asarray(value)
    if index.dtype.kind not in "iub":
        raise Error(f"{name}: {value!r}, must be a whole number")
    index = index.astype(np.int64).reshape(out.shape[0]) - start
    bad = (index < 0) | (index >= n)
    if bad.any():
        raise Error(
            f"{name} is {int(index[bad][0]) + start}: must be in [{start}, {start + n - 1}]"
        )
    out[...] = 0.0
    out[np.arange(out.shape[0]), index] = 1.0


def unmasked(values: Any) -> np.ndarray:
    """As an array, NaN or None where it was masked: what is masked is missing."""
    if not np.ma.isMaskedArray(values):
        return np.asarray(values)
    if values.dtype.kind in "fiub":
        return values.astype(np.float64).filled(np.nan)
    if values.dtype.kind == "M":
        return values.filled(np.datetime64("NaT"))
    return np.where(np.ma.getmaskarray(values), None, values.data.astype(object))


def writer(space: dict[str, Any], name: str = "observation") -> Callable[[Any, np.ndarray], None]:
    """A function that writes B observations (batched as Gymnasium does) into an array, B × size."""
    kind = space["kind"]
    if kind in ("box", "binary"):
        size = math.prod(space["shape"])

        def write_box(value: Any, out: np.ndarray) -> None:
            numbers = unmasked(value)
            if numbers.size != out.shape[0] * size or numbers.dtype.kind not in "fiub":
                raise Error(
                    f"{name}: an array of shape {numbers.shape} and {numbers.dtype}, must be of "
                    f"{size} numbers for each of {out.shape[0]}"
                )
            out[...] = numbers.reshape(out.shape)

        return write_box
    if kind == "discrete":
        n, start = space["n"], space["start"]
        return lambda value, out: _one_hot(value, n, start, name, out)
    if kind == "multidiscrete":
        counts, starts = space["counts"], space["starts"]

        def write_several(value: Any, out: np.ndarray) -> None:
            numbers = np.asarray(value)
            if numbers.size != out.shape[0] * len(counts):
                raise Error(f"{name}: {numbers.size} numbers, must be {len(counts)} for each")
            numbers = numbers.reshape(out.shape[0], len(counts))
            first = 0
            for j, (n, start) in enumerate(zip(counts, starts, strict=True)):
                _one_hot(numbers[:, j], n, start, f"{name}_{j}", out[:, first : first + n])
                first += n

        return write_several
    items = list(space["spaces"].items() if kind == "dict" else enumerate(space["spaces"]))
    prefix = "" if name == "observation" else f"{name}."
    parts = []
    first = 0
    for key, part in items:
        parts.append((key, writer(part, f"{prefix}{key}"), first, first + size_of(part)))
        first += size_of(part)

    def write_parts(value: Any, out: np.ndarray) -> None:
        for key, write, begin, end in parts:
            try:
                inner = value[key]
            except (KeyError, IndexError, TypeError):
                raise Error(f"{name}: has no part {key!r}") from None
            write(inner, out[:, begin:end])

    return write_parts


def batch_of(space: dict[str, Any], value: Any) -> int | None:
    """How many observations there are in `value`, or None if it is a single one."""
    kind = space["kind"]
    if kind == "dict" or kind == "tuple":
        items = space["spaces"].items() if kind == "dict" else enumerate(space["spaces"])
        for key, part in items:
            try:
                return batch_of(part, value[key])
            except (KeyError, IndexError, TypeError):
                raise Error(f"observation: has no part {key!r}") from None
        return None
    shape = [] if kind == "discrete" else space["shape"]
    own = np.shape(value)
    if len(own) == len(shape) + 1:
        return own[0]
    return None


def action_maker(space: dict[str, Any]) -> Callable[[np.ndarray], Any]:
    """A function that makes an action of the space from the numbers of one."""
    if space["kind"] == "discrete":
        start = space["start"]
        return lambda numbers: np.int64(int(numbers[0]) + start)
    shape = tuple(space["shape"])
    dtype = np.dtype(space["dtype"])
    return lambda numbers: numbers.astype(dtype).reshape(shape)


def action_reader(space: dict[str, Any]) -> Callable[[Any, str], np.ndarray]:
    """A function that makes the numbers of one from an action of the space, which messages name."""
    if space["kind"] == "discrete":
        start, end = space["start"], space["start"] + space["n"]

        def read_choice(value: Any, name: str) -> np.ndarray:
            try:
                choice = operator.index(value)
            except TypeError:
                choice = end
            if isinstance(value, (bool, np.bool_)) or not start <= choice < end:
                raise Error(f"{name} = {value!r}: must be a whole number in [{start}, {end - 1}]")
            return np.array([choice - start], dtype=np.float64)

        return read_choice
    shape = tuple(space["shape"])

    def read_box(value: Any, name: str) -> np.ndarray:
        numbers = np.asarray(value)
        if numbers.shape != shape or numbers.dtype.kind not in "fiu":
            raise Error(
                f"{name}: an action of shape {numbers.shape} and {numbers.dtype}, must be of "
                f"numbers and {shape}"
            )
        return numbers.astype(np.float64).ravel()

    return read_box


def label_reader(labels: list[Any]) -> Callable[[Any, str], np.ndarray]:
    """The same where choices are called by labels."""

    def read_label(value: Any, name: str) -> np.ndarray:
        if np.ndim(value) == 0:
            for i, label in enumerate(labels):
                if value == label:
                    return np.array([i], dtype=np.float64)
        raise Error(f"{name} = {value!r}: must be one of {', '.join(map(str, labels))}")

    return read_label


def batch_action_maker(space: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """The same for B of them at once."""
    if space["kind"] == "discrete":
        start = space["start"]
        return lambda numbers: numbers[:, 0].astype(np.int64) + start
    shape = tuple(space["shape"])
    dtype = np.dtype(space["dtype"])
    return lambda numbers: numbers.astype(dtype).reshape(numbers.shape[0], *shape)

"""Gymnasium's spaces as rows of numbers.

A space is first described as plain data, which a model file keeps, so that a controller understands
observations of that space when it is loaded where Gymnasium is not installed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from waggle._core import Error

_KINDS = ("Box", "Discrete", "MultiBinary", "MultiDiscrete", "Dict", "Tuple")


def _kind_of(space: Any) -> str | None:
    names = (base.__name__ for base in type(space).__mro__)
    return next((name for name in names if name in _KINDS), None)


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
        counts = np.asarray(space.nvec)
        starts = np.zeros_like(counts) if getattr(space, "start", None) is None else space.start
        return {
            "kind": "multidiscrete",
            "counts": counts.ravel().tolist(),
            "starts": np.asarray(starts).ravel().tolist(),
            "shape": list(counts.shape),
        }
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
    if kind not in ("Discrete", "Box"):
        raise Error(f"action: a space {type(space).__name__}, must be Discrete or Box")
    if kind == "Box" and not np.issubdtype(space.dtype, np.floating):
        raise Error(f"action: a Box of {space.dtype}, must be of real numbers or Discrete")
    if kind == "Box" and math.prod(space.shape) == 0:
        raise Error(f"action: a Box of shape {space.shape}, must hold a number")
    described = describe_observation(space)
    return described if kind == "Discrete" else described | {"dtype": np.dtype(space.dtype).name}


def unmasked(values: Any) -> np.ndarray:
    """As an array, NaN or None where it was masked: what is masked is missing."""
    if not np.ma.isMaskedArray(values):
        return np.asarray(values)
    if values.dtype.kind in "fiub":
        return values.astype(np.float64).filled(np.nan)
    if values.dtype.kind == "M":
        return values.filled(np.datetime64("NaT"))
    return np.where(np.ma.getmaskarray(values), None, values.data.astype(object))


class _Leaf(NamedTuple):
    """A part of a space that holds no others."""

    path: tuple[Any, ...]
    name: str
    shape: tuple[int, ...]
    """Of a value of it."""
    counts: list[int] | None
    """Of choices, each one-hot; None: numbers as they are."""
    starts: list[int]

    @property
    def size(self) -> int:
        return math.prod(self.shape) if self.counts is None else sum(self.counts)

    def names(self) -> list[str]:
        entries = math.prod(self.shape)
        alone = not self.shape or (self.counts is None and entries == 1)
        each = [self.name] if alone else [f"{self.name}_{i}" for i in range(entries)]
        if self.counts is None:
            return each
        choices = zip(each, self.counts, self.starts, strict=True)
        return [f"{name}={start + i}" for name, n, start in choices for i in range(n)]

    def write(self, value: Any, out: np.ndarray) -> None:
        """Writes as many values as `out` has rows."""
        numbers = unmasked(value)
        entries = math.prod(self.shape)
        if numbers.size != len(out) * entries or numbers.dtype.kind not in "fiub":
            raise Error(
                f"{self.name}: an array of shape {numbers.shape} and {numbers.dtype}, must be of "
                f"{entries} numbers for each of {len(out)}"
            )
        numbers = numbers.reshape(len(out), entries)
        if self.counts is None:
            out[...] = numbers
            return
        if numbers.dtype.kind == "f":
            raise Error(f"{self.name}: {value!r}, must be whole numbers")
        out[...] = 0.0
        first = 0
        for column, n, start in zip(numbers.T, self.counts, self.starts, strict=True):
            choice = column.astype(np.int64) - start
            bad = column[(choice < 0) | (choice >= n)]
            if bad.size:
                raise Error(f"{self.name} is {bad[0]}: must be in [{start}, {start + n - 1}]")
            out[np.arange(len(out)), first + choice] = 1.0
            first += n


def _leaves(space: dict[str, Any], name: str = "observation", path: tuple = ()) -> list[_Leaf]:
    kind = space["kind"]
    if kind in ("dict", "tuple"):
        items = space["spaces"].items() if kind == "dict" else enumerate(space["spaces"])
        prefix = f"{name}." if path else ""
        return [leaf for k, part in items for leaf in _leaves(part, f"{prefix}{k}", (*path, k))]
    if kind == "discrete":
        return [_Leaf(path, name, (), [space["n"]], [space["start"]])]
    if kind == "multidiscrete":
        return [_Leaf(path, name, tuple(space["shape"]), space["counts"], space["starts"])]
    if kind in ("box", "binary"):
        return [_Leaf(path, name, tuple(space["shape"]), None, [])]
    raise KeyError(kind)


def size_of(space: dict[str, Any]) -> int:
    """Numbers in a flattened value."""
    return sum(leaf.size for leaf in _leaves(space))


def names_of(space: dict[str, Any]) -> list[str]:
    """What each of these numbers is called."""
    return [name for leaf in _leaves(space) for name in leaf.names()]


def check(interface: Any, size: int) -> None:
    """Raises Error unless this, which was read from a file, has an observation of so many numbers and
    an action: nothing in a file is trusted."""

    def all_whole(values: Any, least: int) -> bool:
        return all(type(value) is int and least <= value < 2**31 for value in values)

    try:
        leaves = _leaves(interface["observation"])
        action = interface["action"]
        np.dtype(action.get("dtype", "float64"))
        if action["kind"] not in ("discrete", "box"):
            raise KeyError(action["kind"])
        for leaf in [*leaves, *_leaves(action)]:
            counts = leaf.counts or []
            good = all_whole(leaf.shape, 0) and all_whole(counts, 1)
            good = good and all_whole(leaf.starts, -(2**31)) and len(counts) == len(leaf.starts)
            if not good or (counts and len(counts) != math.prod(leaf.shape)):
                raise ValueError
        found = sum(leaf.size for leaf in leaves)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise Error("the model's interface is damaged: it is no JSON of spaces") from None
    if found != size:
        raise Error(
            f"the model's interface is damaged: {found} numbers are observed, the model has {size}"
        )


def _part(leaf: _Leaf, value: Any) -> Any:
    """What a value of the whole space has for the leaf."""
    for key in leaf.path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            raise Error(f"{leaf.name}: the observation has no part {key!r}") from None
    return value


def writer(space: dict[str, Any]) -> Callable[[Any, np.ndarray], None]:
    """A function that writes B observations (batched as Gymnasium does) into an array, B × size."""
    leaves = _leaves(space)

    def write(value: Any, out: np.ndarray) -> None:
        first = 0
        for leaf in leaves:
            leaf.write(_part(leaf, value), out[:, first : first + leaf.size])
            first += leaf.size

    return write


def batch_of(space: dict[str, Any], value: Any) -> int | None:
    """How many observations there are in `value`, or None if it is a single one."""
    for leaf in _leaves(space):
        shape = np.shape(_part(leaf, value))
        return shape[0] if len(shape) == len(leaf.shape) + 1 else None
    return None


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


def batch_action_maker(space: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """A function that makes actions of the space from rows of their numbers."""
    if space["kind"] == "discrete":
        start = space["start"]
        return lambda rows: rows[:, 0].astype(np.int64) + start
    shape, dtype = tuple(space["shape"]), np.dtype(space["dtype"])
    return lambda rows: rows.astype(dtype).reshape(len(rows), *shape)


def action_reader(space: dict[str, Any]) -> Callable[[Any, str], Any]:
    """A function that makes the numbers of one from an action of the space, which messages name."""
    if space["kind"] == "discrete":
        start, end = space["start"], space["start"] + space["n"]

        def read_choice(value: Any, name: str) -> int:
            try:
                choice = operator.index(value)
            except TypeError:
                choice = end
            if isinstance(value, (bool, np.bool_)) or not start <= choice < end:
                raise Error(f"{name} = {value!r}: must be a whole number in [{start}, {end - 1}]")
            return choice - start

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


def label_reader(labels: list[Any]) -> Callable[[Any, str], int]:
    """The same where choices are called by labels."""

    def read_label(value: Any, name: str) -> int:
        if np.ndim(value) == 0 and value in labels:
            return labels.index(value)
        raise Error(f"{name} = {value!r}: must be one of {', '.join(map(str, labels))}")

    return read_label

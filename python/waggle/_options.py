"""The options there are, as the library describes them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from waggle import _core
from waggle._core import Error

Fields = list[tuple[str, str, str, str]]
"""(path, kind, value, help) of every field of some options, as the library lists them."""

LEARNING = ("value", "reservoir", "greedy", "limits", "exploration")
"""The tables of a learner whose fields may be given by their names alone."""


def presets() -> dict[str, str]:
    """The presets by name, and what each is for; `learn` and `learn_log` take one."""
    return _core.presets()


def options(preset: str = "predictive") -> dict[str, Any]:
    """All options of a preset with their values, as nested dictionaries."""
    return _core.preset_options(preset)


def describe(preset: str = "predictive") -> str:
    """The keyword arguments `learn` takes, with their values and a line of help each."""
    return option_text(_core.learn_options(preset), LEARNING)


class Option(NamedTuple):
    """One option as a person may give it."""

    path: str
    value: str
    help: str


def _listed(fields: Fields, tables: Iterable[str]) -> dict[str, Option]:
    """By name: the fields at the top, those in `tables`, and, of tables that may be absent, theirs
    with its name in front, as predictive_frames. Of several by a name, the first counts."""
    absent = {path for path, kind, _, _ in fields if kind == "optional"}
    order = ["", *tables]
    found = []
    for path, _, value, text in fields:
        table, _, name = path.rpartition(".")
        prefixed = table in absent
        if prefixed:
            table, _, prefix = table.rpartition(".")
            name = f"{prefix}_{name}"
        if table in order:
            last = prefixed and not table
            found.append((last, order.index(table), prefixed, name, Option(path, value, text)))
    found.sort(key=lambda item: item[:3])
    listed: dict[str, Option] = {}
    for *_, name, option in found:
        listed.setdefault(name, option)
    return listed


def option_text(fields: Fields, tables: Iterable[str] = ()) -> str:
    lines, shown = [], ""
    for name, option in _listed(fields, tables).items():
        table = option.path.rpartition(".")[0]
        if table and table != shown:
            lines.append(f"  in {table}:")
        shown = table
        value = f" = {option.value}" if option.value else ""
        lines.append(f"    {name}{value}: {option.help}")
    return "\n".join(lines)


def documented(text: str, fields: Fields, tables: Iterable[str] = ()):
    """A decorator that appends options to a docstring."""

    def decorate(function):
        listed = option_text(fields, tables)
        function.__doc__ = f"{function.__doc__.rstrip()}\n\n    {text}\n\n{listed}\n"
        return function

    return decorate


def nested(given: Mapping[str, Any], fields: Fields, tables: Iterable[str] = ()) -> dict[str, Any]:
    """Keyword arguments as the library takes them, each where it stands in dicts within dicts. Raises
    Error, naming the nearest, for a name that is no option; the library judges the values."""
    given = dict(given)
    listed = _listed(fields, tables)
    if "gamma" in given:  # the literature writes γ for it
        gamma = given.pop("gamma")
        if isinstance(gamma, str):
            raise Error(f"gamma = {gamma!r}: must be a number")
        given["discount"] = gamma
    for name in given:
        if name not in listed:
            raise Error(f"there is no option {name!r}{_nearest(name, ['gamma', *listed])}")
    result: dict[str, Any] = {}
    # A table given as a whole first, then what is given of its fields.
    for name in sorted(given, key=lambda name: listed[name].path.count(".")):
        *within, field = listed[name].path.split(".")
        table = result
        for part in within:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise Error(f"{part}: must be a dict")
        table[field] = _copied(given[name])
    _check_names(result, [path for path, *_ in fields])
    _settle(result)
    return result


def _copied(value: Any) -> Any:
    return {k: _copied(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _check_names(table: dict[str, Any], paths: list[str], within: str = "") -> None:
    known = [path.removeprefix(within) for path in paths if path.startswith(within)]
    for name, value in table.items():
        if name not in known or "." in name:
            near = _nearest(name, [name for name in known if "." not in name])
            raise Error(f"{within}{name}: no such option{near}")
        if isinstance(value, dict):
            _check_names(value, paths, f"{within}{name}.")


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(name), names, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _settle(table: dict[str, Any]) -> None:
    """Who gives one way to rescale the recurrent matrix takes back the other."""
    for way, other in (("operator_norm", "spectral_radius"), ("spectral_radius", "operator_norm")):
        if table.get(way) is not None and other not in table:
            table[other] = None
    for inner in table.values():
        if isinstance(inner, dict):
            _settle(inner)


def check_seed(seed: Any) -> int:
    """The seed, or Error unless it is a whole number that Gymnasium takes too."""
    try:
        whole = int(seed.__index__())
    except (AttributeError, TypeError):
        raise Error(f"seed = {seed!r}: must be a whole number") from None
    if not 0 <= whole < 2**63:
        raise Error(f"seed = {whole}: must be at least 0 and below 2^63")
    return whole

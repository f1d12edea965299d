"""A controller as a page: in notebooks, and as a file."""

from __future__ import annotations

import html
import json
from typing import Any

from waggle._core import __version__

_RANGES = ("minimum", "maximum", "mean", "deviation")
_SHOWN = 32  # rows of a table, at most
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.15rem .8rem .15rem 0;"
    "text-align:left}th{border-bottom:1px solid #8888}pre{overflow-x:auto}"
    ":root{color-scheme:light dark}"
)


def _table(title: str, header: list[str], rows: list[list[str]]) -> str:
    head = f"<h2>{html.escape(title)}</h2>" if title else ""
    top = ""
    if any(header):
        top = "<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in header) + "</tr>"
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"{head}<table>{top}{body}</table>"


def _tables(s: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, header, rows) of a controller's summary."""
    environment, ranges, fit = s["environment"], s["ranges"], s["fit"]
    about = [
        ["environment", environment["name"]],
        [
            "what it is",
            f"{s['kind']}, {s['units']} numbers of memory, {s['features']} features",
        ],
        [
            "learnt from",
            f"{s['provenance']['rows']} rows, {s['provenance']['episodes']} episodes",
        ],
        ["discount γ", f"{s['discount']:g}"],
        ["seed", str(s["seed"])],
        ["ridge λ", f"{fit['ridge']:.3g}"],
        ["residual", f"{fit['residual']:.3g}"],
    ]
    names = [
        (
            environment["reward_name"],
            "reward, also seen" if environment["reward_is_input"] else "reward",
        ),
        *((name, "action") for name in environment["action_names"]),
        *((name, "observed") for name in environment["observation_names"]),
    ]
    columns = [
        [name, role, *(f"{ranges[key][i]:.4g}" for key in _RANGES)]
        for i, (name, role) in enumerate(names[:_SHOWN])
    ]
    tables = [
        ("", ["", ""], about),
        ("Columns", ["name", "role", *_RANGES], columns),
    ]
    if s["rounds"]:
        rounds = [
            [str(i + 1), str(r["steps"]), f"{r['mean_reward']:.4g}"]
            for i, r in enumerate(s["rounds"])
        ]
        tables.append(("Rounds", ["round", "rows", "mean reward"], rounds))
    if "predictions" in s:
        quality = s["predictions"]
        rows = [
            [name, *("–" if share != share else f"{share:.3f}" for share in explained)]
            for name, explained in zip(quality["names"], quality["explained"], strict=True)
        ]
        header = ["R² of predictions", *(f"{h} ahead" for h in quality["horizons"])]
        tables.append(("Predicts", header, rows[:_SHOWN]))
    if s["warnings"]:
        tables.append(("Warnings", [""], [[text] for text in s["warnings"]]))
    return tables


def fragment(summary: dict[str, Any]) -> str:
    """What a notebook shows."""
    parts = [f"<b>waggle controller</b> of {html.escape(summary['environment']['name'])}"]
    parts += [_table(*table) for table in _tables(summary)]
    return "<div>" + "".join(parts) + "</div>"


def whole(summary: dict[str, Any]) -> str:
    """The same with all options, as a file."""
    name = html.escape(summary["environment"]["name"])
    options = json.dumps(
        {"options": summary["options"], "collected": summary.get("collected")},
        indent=2,
        ensure_ascii=False,
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f"<title>{name} · waggle</title><style>{_STYLE}</style><body>"
        f"<h1>{name}</h1>"
        + "".join(_table(*table) for table in _tables(summary))
        + f"<h2>Options</h2><pre>{html.escape(options)}</pre>"
        + f"<p>waggle {html.escape(__version__)}</p></body></html>"
    )

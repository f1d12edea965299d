"""Every line of Python in the pages runs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("WAGGLE_SOURCE", Path(__file__).resolve().parents[2]))
PAGES = [
    "README.md",
    "docs/python.md",
    "docs/from-reservoirpy.md",
    "docs/from-stable-baselines3.md",
]


def blocks(page: str) -> list[tuple[int, str]]:
    """(line, code) of every block."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start(1)) + 1, match.group(1))
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": page}
    assert blocks(page)
    for line, code in blocks(page):
        needs = re.match(r"# needs (\w+)", code)
        if needs and importlib.util.find_spec(needs.group(1)) is None:
            continue
        # The lines of the page are those of an error's traceback.
        exec(compile("\n" * (line - 1) + code, str(ROOT / page), "exec"), names)


def test_the_site_is_made_and_its_links_lead_somewhere(tmp_path):
    pytest.importorskip("markdown")
    result = subprocess.run(
        [sys.executable, str(ROOT / "docs/site.py"), str(tmp_path / "site")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    text = (tmp_path / "site/reference-python.html").read_text(encoding="utf-8")
    assert "waggle.Controller" in text
    assert "predict" in text

"""Every line of Python in the pages runs."""

from __future__ import annotations

import importlib.util
import os
import re
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


def slugs(page: Path) -> set[str]:
    """What a link into a page can name: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, fragment = target.partition("#")
            there = page.parent / path if path else page
            assert there.exists(), f"{page.name}: {target}"
            assert not fragment or fragment in slugs(there), f"{page.name}: {target}"


def test_every_page_is_listed():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        path = page.relative_to(ROOT).as_posix()
        assert path in readme, f"README.md does not list {path}"

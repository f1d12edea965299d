"""One site of all pages, with a reference of the Python and the C++ interface. ./dev docs

    python docs/site.py OUT

Pages are the Markdown files as they are. The reference of Python is made of docstrings, that of C++ of
the comments in the headers. Fails where a link leads nowhere or something public is not described.
"""

from __future__ import annotations

import html
import importlib
import inspect
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import markdown

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ("README.md", "waggle"),
    ("docs/python.md", "Python"),
    ("docs/from-reservoirpy.md", "From reservoirpy"),
    ("docs/from-stable-baselines3.md", "From stable-baselines3"),
    ("docs/guide.md", "From a log to a controller"),
    ("docs/predictive.md", "Predictive states"),
    ("docs/control.md", "The control suite"),
    ("docs/learners.md", "The learners"),
    ("docs/forecasting.md", "Forecasting"),
    ("docs/theory.md", "Theory"),
    ("docs/paper.md", "The paper"),
    ("docs/errata.md", "Errata"),
    ("docs/report.md", "Reports"),
    ("docs/playground.md", "The playground"),
    ("docs/deploy.md", "From a log to a machine"),
    ("docs/running.md", "While it runs"),
    ("docs/scale.md", "Long logs"),
    ("docs/errors.md", "Errors"),
    ("docs/design.md", "Design"),
    ("CHANGELOG.md", "Changelog"),
]
REFERENCES = [
    ("reference-python.html", "Python reference"),
    ("reference-cpp.html", "C++ reference"),
]
STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; display: grid;
       grid-template-columns: minmax(12rem, 16rem) minmax(0, 54rem); gap: 2rem; padding: 1.5rem; }
nav { position: sticky; top: 1.5rem; align-self: start; font-size: .93rem; }
nav a { display: block; padding: .15rem 0; text-decoration: none; color: inherit; opacity: .8; }
nav a[aria-current] { font-weight: 600; opacity: 1; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: 6px; }
code { font-size: .9em; } img { max-width: 100%; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); text-align: left; }
h3 code { font-size: 1em; } .entry { margin: 1.2rem 0; } .entry p { margin: .3rem 0 0 1rem; }
@media (max-width: 45rem) { body { display: block; } nav { position: static; } }
"""


def target_of(source: str) -> str:
    """Where a page of the repository stands on the site."""
    name = Path(source).name
    return "index.html" if source == "README.md" else name.lower().replace(".md", ".html")


def linked(text: str, source: str) -> str:
    """Links between pages as the site has them; to other files of the repository as plain text."""
    known = {str((ROOT / page).resolve()): target_of(page) for page, _ in PAGES}
    folder = (ROOT / source).parent

    def replace(match: re.Match) -> str:
        label, target = match.group(1), match.group(2)
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        if target.startswith("pictures/"):  # done before
            return match.group(0)
        path, fragment = urldefrag(target)
        resolved = (folder / unquote(path)).resolve()
        if not resolved.exists():
            raise SystemExit(f"{source}: a link leads nowhere: {target}")
        if str(resolved) in known:
            where = known[str(resolved)] + (f"#{fragment}" if fragment else "")
        elif resolved.suffix in (".png", ".gif"):
            where = f"pictures/{resolved.name}"
        else:
            return label if match.group(0)[0] != "!" else ""
        return match.group(0).replace(f"({target})", f"({where})")

    # Pictures first: one may be what a link shows.
    text = re.sub(r"!\[([^\[\]]*)\]\(([^)\s]+)\)", replace, text)
    return re.sub(r"(?<!!)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)", replace, text)


def page(title: str, here: str, body: str) -> str:
    entries = [(target_of(source), name) for source, name in PAGES] + REFERENCES
    links = "".join(
        f'<a href="{where}"{" aria-current=page" if where == here else ""}>{html.escape(name)}</a>'
        for where, name in entries
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
        f"<body><nav>{links}</nav><main>{body}</main></body></html>"
    )


def described(text: str) -> str:
    """A docstring or a comment: paragraphs, and indented lines as they are."""
    parts = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if all(line.startswith("    ") for line in part.splitlines()):
            parts.append(f"<pre>{html.escape(part)}</pre>")
        else:
            marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(part))
            parts.append(f"<p>{marked}</p>")
    return "".join(parts)


def python_reference() -> str:
    """Everything public, from its docstring."""
    parts = ["<h1>Python reference</h1>"]
    modules = [
        ("waggle", None),
        ("waggle.environments", ["Environment", "describe", "names"]),
    ]
    for module_name, names in modules:
        module = importlib.import_module(module_name)
        parts.append(f"<h2><code>{module_name}</code></h2>{described(module.__doc__)}")
        for name in names or module.__all__:
            value = getattr(module, name)
            if not value.__doc__:
                raise SystemExit(f"{module_name}.{name} has no docstring")
            kind = "class " if inspect.isclass(value) else ""
            try:
                signature = str(inspect.signature(value))
            except (TypeError, ValueError):
                signature = ""
            parts.append(
                f'<div class=entry id="{module_name}.{name}"><h3>{kind}<code>{name}</code></h3>'
                f"<pre>{html.escape(name + signature)}</pre>{described(value.__doc__)}"
            )
            if inspect.isclass(value):
                parts.append(members(value))
            parts.append("</div>")
    return "".join(parts)


def members(cls: type) -> str:
    parts = []
    for name, value in vars(cls).items():
        if name.startswith("_"):
            continue
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not callable(function) or not getattr(function, "__doc__", None):
            continue
        signature = "" if isinstance(value, property) else str(inspect.signature(function))
        parts.append(
            f"<h4><code>{name}{html.escape(signature)}</code></h4>{described(function.__doc__)}"
        )
    return "".join(parts)


def header_entries(text: str) -> list[tuple[str, str]]:
    """(declaration, comment) for every comment /// and what stands below or before it; a comment
    that ends a header is of the whole of it."""
    entries = []
    comment: list[str] = []
    lines = text.splitlines()
    for i, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith("///") and not stripped.startswith("///<"):
            comment.append(stripped[3:].removeprefix(" "))
            continue
        if comment:
            declaration = [stripped]
            j = i
            while not re.search(r"[;{}]", lines[j]) and j + 1 < len(lines) and j < i + 12:
                j += 1
                declaration.append(lines[j].strip())
            shown = re.split(r"\s*\{", " ".join(declaration))[0].rstrip(";").strip()
            shown = re.sub(r"\s*///<.*", "", shown)
            entries.append((shown, "\n".join(comment)))
            comment = []
        match = re.match(r"\s*(.+?);\s*///<\s*(.*)", line)
        if match:
            more = []
            for below in lines[i + 1 :]:
                if not below.strip().startswith("///<"):
                    break
                more.append(below.strip()[4:].strip())
            entries.append((match.group(1), " ".join([match.group(2), *more])))
    if comment:
        entries.append(("", "\n".join(comment)))
    return entries


def cpp_reference() -> str:
    """Every header, from its own comments."""
    parts = ["<h1>C++ reference</h1>"]
    folder = ROOT / "include/waggle"
    headers = sorted(p for p in folder.rglob("*.h") if p.name != "waggle.h")
    for header in headers:
        name = f"waggle/{header.relative_to(folder).as_posix()}"
        parts.append(f'<h2 id="{name}"><code>&lt;{name}&gt;</code></h2>')
        entries = header_entries(header.read_text(encoding="utf-8"))
        if not entries:
            raise SystemExit(f"{name} has no comments")
        for declaration, comment in entries:
            code = f"<code>{html.escape(declaration)}</code>" if declaration else ""
            parts.append(f"<div class=entry>{code}{described(comment)}</div>")
    return "".join(parts)


class Links(HTMLParser):
    """Where a page leads, and what in it can be led to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if value is None:
                continue
            if key in ("href", "src"):
                self.targets.append(value)
            elif key == "id":
                self.names.add(value)


def check_links(folder: Path) -> int:
    """The number of links; ends the program where one leads nowhere."""
    pages = {}
    for path in folder.glob("*.html"):
        pages[path.name] = Links()
        pages[path.name].feed(path.read_text(encoding="utf-8"))
    count = 0
    for name, links in pages.items():
        for target in links.targets:
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            path, fragment = urldefrag(target)
            path = path or name
            if not (folder / path).exists():
                raise SystemExit(f"{name}: a link leads nowhere: {target}")
            if fragment and fragment not in pages[path].names:
                raise SystemExit(f"{name}: a link leads nowhere in {path}: #{fragment}")
    return count


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    (out / "pictures").mkdir(parents=True)
    for picture in (ROOT / "docs/pictures").iterdir():
        shutil.copy(picture, out / "pictures")
    missing = {p.name for p in (ROOT / "docs").glob("*.md")} - {Path(s).name for s, _ in PAGES}
    if missing:
        raise SystemExit(f"docs/site.py does not list {', '.join(sorted(missing))}")
    for source, title in PAGES:
        text = linked((ROOT / source).read_text(encoding="utf-8"), source)
        body = markdown.markdown(text, extensions=["tables", "fenced_code", "toc", "sane_lists"])
        (out / target_of(source)).write_text(page(title, target_of(source), body), encoding="utf-8")
    for (where, title), body in zip(REFERENCES, (python_reference(), cpp_reference()), strict=True):
        (out / where).write_text(page(title, where, body), encoding="utf-8")
    print(f"{out}/index.html: {len(PAGES)} pages, 2 references, {check_links(out)} links checked")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))

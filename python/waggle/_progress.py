"""Progress bars, where somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from waggle._core import Error


@contextmanager
def bar(progress: bool | Callable[[str, float, float], Any] | None):
    """A callback (what, done, total) for the time of some work, or None.

    True: a bar by tqdm; None: the same if a terminal or a notebook shows it; False: none; or a
    function of one's own.
    """
    if callable(progress) or progress is False:
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise Error("progress=True needs tqdm: pip install tqdm") from None
        yield None
        return
    shown_anyway = progress or "ipykernel" in sys.modules
    with tqdm(leave=False, unit="", disable=False if shown_anyway else None) as shown:

        def tell(what: str, done: float, total: float) -> None:
            shown.set_description(what, refresh=False)
            shown.total = total if total > 0 else None
            shown.n = done
            shown.refresh()

        yield tell

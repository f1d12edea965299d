"""The repaired wheel brings its libraries along."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import waggle


@pytest.mark.skipif(not os.environ.get("WAGGLE_REPAIRED"), reason="only for a repaired wheel")
def test_libraries_come_from_the_wheel():
    from waggle import _core

    folder = Path(_core.__file__).resolve().parents[1]
    maps = Path("/proc/self/maps").read_text()
    loaded = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
    ours = [path for path in loaded if re.search(r"waggle_control\.libs/", path)]
    for name in ("openblas", "zip", "gfortran"):
        assert any(name in path for path in ours), name
    # Nothing else of the kind is taken from the system for us.
    stray = [
        path
        for path in loaded
        if re.search(r"/lib(openblas|lapack|blas|zip)[-_.]", path)
        and not path.startswith(str(folder))
    ]
    assert not stray


@pytest.mark.skipif(not os.environ.get("WAGGLE_REPAIRED"), reason="only for an installed wheel")
def test_the_wheel_is_whole():
    folder = Path(waggle.__file__).parent
    assert "site-packages" in str(folder)
    stub = (folder / "_core.pyi").read_text()
    assert "class Model" in stub
    assert (folder / "py.typed").exists()

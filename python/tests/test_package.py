"""The package as such: what it costs to import, its options, its errors, its types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import waggle


def run(code: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **options
    )


def test_import_is_fast_and_needs_nothing():
    code = (
        "import sys, time; t = time.perf_counter(); import waggle; s = time.perf_counter() - t\n"
        "heavy = {'numpy', 'gymnasium', 'pandas', 'sklearn', 'minari', 'polars', 'pyarrow', 'tqdm'}\n"
        "print(s, sorted(heavy & set(sys.modules)))"
    )
    fastest = 1.0
    for _ in range(3):
        seconds, loaded = run(code).stdout.split(maxsplit=1)
        assert loaded.strip() == "[]"
        fastest = min(fastest, float(seconds))
    assert fastest < 0.05


def test_what_is_missing_is_named():
    block = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in {'sklearn', 'gymnasium', 'minari', 'pandas', 'tqdm'}:\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "import waggle\n"
    )
    result = run(block + "waggle.Forecaster")
    assert "pip install 'scikit-learn>=1.6'" in result.stderr
    result = run(block + "import waggle.environments")
    assert "pip install gymnasium" in result.stderr
    result = run(
        block + "waggle.learn_log({'reward': [1., 2.] * 99, 'action': [0., 1., 2.] * 66},"
        " progress=True, preset='direct', units=5)"
    )
    assert "waggle._core.Error: progress=True needs tqdm: pip install tqdm" in result.stderr
    result = run(block + "waggle.Experience.to_pandas(None)")
    assert "waggle._core.Error: to_pandas needs pandas: pip install pandas" in result.stderr


def test_types_and_docstrings():
    folder = Path(waggle.__file__).parent
    assert (folder / "py.typed").exists()
    for name in waggle.__all__:
        assert getattr(waggle, name).__doc__, name
    from waggle import _core

    stub = folder / "_core.pyi"
    if Path(_core.__file__).parent == folder and not Path(_core.__file__).is_symlink():
        assert "class Model" in stub.read_text()


def test_version_and_errors():
    assert waggle.__version__.count(".") == 2
    assert issubclass(waggle.Error, ValueError)
    with pytest.raises(AttributeError, match="no attribute 'lern'"):
        waggle.lern  # noqa: B018


def test_options_are_the_librarys_own():
    assert next(iter(waggle.presets())) == "predictive"
    assert waggle.options("direct")["predictive"] is None
    assert waggle.options("direct")["rounds"] == 1
    with pytest.raises(waggle.Error, match="no preset 'dircet'; did you mean 'direct'"):
        waggle.options("dircet")
    text = waggle.describe()
    assert "units = 300: units in a network" in text
    for name in ("gamma", "units", "final_sweeps"):
        assert name == "gamma" or name in waggle.learn.__doc__
    assert "sweeps" in waggle.learn_log.__doc__
    assert "final_sweeps" not in waggle.learn_log.__doc__


LOG = {"reward": [0.0, 1.0, 0.5] * 40, "action": [0.0, 0.25, 0.5, 0.75] * 30}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"untis": 5}, "no option 'untis'; did you mean 'units'"),
        ({"reservoir": {"untis": 5}}, "reservoir.untis: no such option; did you mean 'units'"),
        ({"reservoir": 5}, "reservoir: must be a dict"),
        ({"units": 0}, r"units = 0: must be in \[1"),
        ({"units": 5.0}, r"reservoir.units = 5.0: must be a whole number"),
        ({"units": 2**70}, "units = 1180591620717411303424: must be a whole number"),
        ({"units": "many"}, "must be a whole number"),
        ({"units": object()}, "units = <object"),
        ({"gamma": 1.0}, "discount = 1: must be in"),
        ({"gamma": float("nan")}, "discount = nan"),
        ({"activation": "rely"}, "activation = 'rely': must be one of"),
        ({"ridge": -1.0}, "ridge = -1"),
        ({"seed": -1}, "seed = -1: must be at least 0"),
        ({"seed": 0.5}, "seed = 0.5: must be a whole number"),
        ({"preset": "nonsense"}, "no preset 'nonsense'"),
        ({"operator_norm": 0.5, "spectral_radius": 0.5}, "operator_norm"),
    ],
)
def test_wrong_options_are_refused_by_name(options, message):
    with pytest.raises(waggle.Error, match=message):
        waggle.learn_log(LOG, **{"preset": "direct", "units": 5, **options})


def test_options_of_structs_that_may_be_absent_are_keyword_arguments_too():
    text = waggle.describe()
    assert "in predictive:" in text
    assert "predictive_frames = 3: inputs before the last" in text
    assert "procedure_one_features = 100: random features" in text
    assert "final_exploration_epsilon = 0.0: chance" in text
    assert "predictive_dynamics" in waggle.learn_log.__doc__
    assert "procedure_one_delay" in waggle.Reservoir.__doc__

    def of(**options):
        return waggle.learn_log(LOG, gamma=0.5, units=5, **options).summary["options"]

    small = {"predictive_layer": 6, "predictive_features": 7}
    learnt = of(**small, predictive={"dynamics": 5, "layer": 9})["predictive"]
    assert (learnt["layer"], learnt["features"], learnt["dynamics"]) == (6, 7, 5)
    # One of them switches the struct on, with its own defaults.
    assert of(preset="direct")["predictive"] is None
    switched = of(preset="direct", **small)["predictive"]
    assert (switched["layer"], switched["frames"]) == (6, 3)
    drawn = of(preset="direct", procedure_one_features=4, procedure_one_delay=1)["reservoir"]
    assert (drawn["procedure_one"]["features"], drawn["procedure_one"]["delay"]) == (4, 1)
    assert drawn["procedure_one"]["radius"] == 1.0
    for given in (
        {"procedure_one_features": 4, "procedure_one": {"delay": 1}},
        {"procedure_one": {"delay": 1}, "procedure_one_features": 4},
    ):
        drawn = of(preset="direct", **given)["reservoir"]["procedure_one"]
        assert (drawn["features"], drawn["delay"]) == (4, 1)
    assert of(predictive=None)["predictive"] is None
    with pytest.raises(waggle.Error, match="predictive: must be a dict"):
        of(predictive=None, predictive_layer=6)
    with pytest.raises(waggle.Error, match="no option 'predictive_frame'.*'predictive_frames'"):
        of(predictive_frame=6)


def test_numpys_numbers_are_numbers():
    import numpy as np

    a = waggle.learn_log(
        LOG, preset="direct", units=np.int64(5), gamma=np.float32(0.5), seed=np.uint8(1)
    )
    b = waggle.learn_log(LOG, preset="direct", units=5, gamma=0.5, seed=1)
    assert a.to_bytes() == b.to_bytes()


def test_one_way_to_rescale_takes_the_other_back():
    controller = waggle.learn_log(LOG, preset="direct", units=5, spectral_radius=0.5)
    assert controller.summary["options"]["reservoir"]["operator_norm"] is None


def test_nothing_leaks():
    """nanobind says at exit what was not freed."""
    code = (
        "import waggle, numpy as np\n"
        "rows = {'reward': np.sin(np.arange(99.)), 'action': np.cos(np.arange(99.))}\n"
        "c = waggle.learn_log(rows, preset='direct', units=5)\n"
        "a, s = c.predict(np.zeros(0), reward=0.0)\n"
        "f = waggle.Reservoir(units=5).run(np.zeros((9, 1)))\n"
        "m = waggle.learn_log(rows, preset='direct', units=2,"
        " reservoir=lambda x, z: np.tanh(z[:2] + 0.1 * x), standardise=False)\n"
        "try: waggle.load('/nonexistent')\n"
        "except Exception as e: kept = e\n"
    )
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert "leak" not in result.stderr

"""waggle.tune, on a real Optuna."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import waggle

optuna = pytest.importorskip("optuna")
optuna.logging.set_verbosity(optuna.logging.WARNING)

BEE = {"reward": "nectar", "action": "move"}
FIXED = {"gamma": 0.5, "members": 1}
SPACE = {"units": ("int", 5, 30, "log"), "operator_norm": ("float", 0.3, 0.95)}


@pytest.fixture(scope="module")
def halves(bee_columns):
    return (
        {name: values[:400] for name, values in bee_columns.items()},
        {name: values[400:] for name, values in bee_columns.items()},
    )


def search(halves, **more):
    asked = {"space": SPACE, "trials": 6, "seeds": [1000, 1001], "fixed": FIXED, **BEE, **more}
    return waggle.tune(*halves, **asked)


def test_the_best_of_the_trials_is_found_and_is_repeatable(halves):
    tuned = search(halves)
    assert len(tuned.study.trials) == 6
    assert tuned.error == min(t.value for t in tuned.study.trials if t.value is not None)
    assert 0.0 <= tuned.error < 1.0
    assert set(tuned.options) == {"preset", "gamma", "members", "units", "operator_norm"}
    assert search(halves).options == tuned.options
    from waggle._tune import held_out_error

    errors = [held_out_error(*halves, tuned.options, seed, BEE) for seed in (1000, 1001)]
    assert np.mean(errors) == pytest.approx(tuned.error, rel=1e-12)


def test_a_search_goes_on_where_it_was(halves, tmp_path, request):
    # In memory where that can be had: SQLite waits for the disk after every line.
    folder = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path
    file = folder / f"waggle-{os.getpid()}.db"
    request.addfinalizer(lambda: file.unlink(missing_ok=True))
    storage = f"sqlite:///{file}"
    first = search(halves, storage=storage, trials=2)
    both = search(halves, storage=storage, trials=4)
    assert len(first.study.trials) == 4 == len(both.study.trials)
    assert search(halves, storage=storage, trials=4).options == both.options


def test_what_was_found_is_a_file_for_the_command(halves, tmp_path, command):
    tuned = search(halves, trials=3)
    tuned.save(tmp_path / "found.toml")
    train = halves[0]
    rows = zip(train["nectar"].tolist(), train["move"].tolist(), strict=True)
    text = "nectar,move\n" + "".join(f"{a!r},{b!r}\n" for a, b in rows)
    (tmp_path / "log.csv").write_text(text)
    model = tmp_path / "model.safetensors"
    subprocess.run(
        [command, "learn", str(tmp_path / "log.csv"), "--config", str(tmp_path / "found.toml"),
         "-o", str(model)],
        check=True, capture_output=True,
    )  # fmt: skip
    by_command = waggle.load(model)
    by_package = waggle.learn_log(train, **BEE, **tuned.options)
    assert by_command.summary["fit"] == by_package.summary["fit"]


def test_bad_trials_are_pruned_and_bad_questions_refused(halves):
    class Always(optuna.pruners.BasePruner):
        def prune(self, study, trial):
            return trial.number > 0

    tuned = search(halves, trials=3, pruner=Always())
    states = [trial.state for trial in tuned.study.trials]
    assert states.count(optuna.trial.TrialState.PRUNED) == 2
    with pytest.raises(waggle.Error, match="searched and fixed"):
        search(halves, fixed={"units": 5})
    with pytest.raises(waggle.Error, match="space\\['units'\\]"):
        search(halves, space={"units": ("whole", 1, 2)})
    with pytest.raises(waggle.Error, match="trials = 0"):
        search(halves, trials=0)
    with pytest.raises(waggle.Error, match="no_such"):
        search(halves, space={"no_such": ("int", 1, 2)})

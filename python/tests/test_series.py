"""Reservoirs, regressors and forecasters."""

from __future__ import annotations

import pickle
import signal
import time

import numpy as np
import pytest

import waggle

RNG = np.random.default_rng(0)


def waves(steps: int, phase: float = 0.0) -> np.ndarray:
    t = 0.1 * np.arange(steps) + phase
    return np.c_[np.sin(t), np.cos(1.7 * t)]


@pytest.mark.parametrize("activation", ["relu", "tanh", "identity"])
def test_states_are_those_of_the_defining_equation(activation):
    function = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "identity": lambda x: x}
    X = RNG.normal(size=(50, 3))
    reservoir = waggle.Reservoir(units=20, seed=1, activation=activation, leak=0.7)
    states = reservoir.run(X)
    assert states.shape == (50, 20)
    w = reservoir.weights()
    x = np.zeros(20)
    for k, z in enumerate(X):
        pre = w["recurrent"] @ x + w["input"] @ z + w["bias"]
        x = (1 - w["leak"]) * x + w["leak"] * function[activation](pre)
        assert np.abs(states[k] - x).max() < 1e-13


def test_a_run_goes_on():
    X = RNG.normal(size=(40, 2))
    reservoir = waggle.Reservoir(units=10, seed=2)
    whole = reservoir.run(X)
    first = reservoir.run(X[:15])
    assert (reservoir.run(X[15:], first[-1]) == whole[15:]).all()
    assert (waggle.Reservoir(units=10, seed=2).run(X) == whole).all()
    assert (waggle.Reservoir(units=10, seed=3).run(X) != whole).any()
    assert (pickle.loads(pickle.dumps(reservoir)).run(X) == whole).all()
    assert (reservoir.run(X.astype(np.float32)[:, ::-1].copy()[:, ::-1]).shape) == (40, 10)
    assert reservoir.run(np.zeros((0, 2))).shape == (0, 10)
    assert waggle.Reservoir(units=5).run(np.arange(9.0)).shape == (9, 5)
    assert waggle.Reservoir(units=5, direct_inputs=True).run(X).shape == (40, 8)
    assert repr(reservoir) == "waggle.Reservoir(units=10, seed=2)"


def test_bad_reservoirs_are_refused():
    for options, message in [
        ({"units": 0}, "units = 0"),
        ({"units": 5.5}, "units = 5.5"),
        ({"untis": 5}, "no option 'untis'"),
        ({"leak": 2.0}, "leak = 2"),
        ({"seed": -1}, "seed = -1"),
    ]:
        with pytest.raises(waggle.Error, match=message):
            waggle.Reservoir(**options)
    reservoir = waggle.Reservoir(units=5)
    with pytest.raises(waggle.Error, match="drawn when it first runs"):
        reservoir.weights()
    reservoir.run(np.zeros((3, 2)))
    for X, message in [
        (np.zeros((3, 1)), "1 columns, the reservoir takes 2"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.array([[0.0, np.nan]]), "column 1 of row 0 is not finite"),
    ]:
        with pytest.raises(waggle.Error, match=message):
            reservoir.run(X)
    with pytest.raises(waggle.Error, match="state: 3 numbers, must be 5"):
        reservoir.run(np.zeros((3, 2)), np.zeros(3))
    wild = waggle.Reservoir(units=5, activation="identity", spectral_radius=50.0)
    with pytest.raises(waggle.Error, match="grow without bound"):
        wild.run(np.ones((2000, 1)))


def test_forecaster():
    pytest.importorskip("sklearn")
    forecaster = waggle.Forecaster(horizon=10, units=100).fit(waves(2000))
    new = waves(500, phase=300.0)
    predictions = forecaster.predict(new)
    assert predictions.shape == new.shape
    assert np.abs(predictions[100:-10] - new[110:]).max() < 0.05
    assert forecaster.score(new[:]) > 0.9
    free = waggle.Forecaster(units=100).fit(waves(2000))
    run = free.run(50)
    assert np.abs(run - waves(2050)[2000:]).max() < 0.01
    assert (pickle.loads(pickle.dumps(free)).run(50) == run).all()
    several = waggle.Forecaster(units=100).fit([waves(900), waves(900, phase=5.0)])
    assert [part.shape for part in several.predict([waves(30), waves(20)])] == [(30, 2), (20, 2)]
    assert several.score([waves(500), waves(400, 1.0)]) > 0.9
    with pytest.raises(waggle.Error, match="horizon = 0"):
        waggle.Forecaster(horizon=0).fit(waves(99))
    with pytest.raises(waggle.Error, match="needs horizon 1"):
        forecaster.run(5)
    with pytest.raises(waggle.Error, match="no option 'unts'"):
        waggle.Forecaster(options={"unts": 5}).fit(waves(99))


def test_a_spectral_radius_that_is_none_is_none():
    pytest.importorskip("sklearn")

    def options(**given):
        model = waggle.Forecaster(units=10, **given).fit(waves(200)).model_
        return model.options()["reservoir"]

    assert options()["spectral_radius"] == 0.9
    assert options(spectral_radius=None)["spectral_radius"] is None
    norm = options(spectral_radius=None, options={"operator_norm": 0.5})
    assert (norm["spectral_radius"], norm["operator_norm"]) == (None, 0.5)
    assert options(spectral_radius=0.0)["spectral_radius"] == 0.0


def test_ctrl_c_ends_a_fit_soon():
    from waggle import _core

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            _core.Supervised.fit(
                np.sin(np.arange(100_000.0)).reshape(-1, 1),
                np.cos(np.arange(100_000.0)).reshape(-1, 1),
                [100_000],
                {"units": 1000, "spectral_radius": None},
                0,
            )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 5.0


def test_regressor_remembers():
    pytest.importorskip("sklearn")
    X = RNG.uniform(-1, 1, (1500, 1))
    y = np.r_[np.zeros(5), X[:-5, 0]]  # five steps ago: no memoryless model can know
    model = waggle.ReservoirRegressor(units=100, activation="identity", input_scaling=1.0).fit(
        X[:1000], y[:1000]
    )
    assert model.score(X[1000:], y[1000:]) > 0.9
    parts = waggle.ReservoirRegressor(units=100, activation="identity", input_scaling=1.0)
    parts.fit([X[:500], X[500:1000]], [y[:500], np.r_[np.zeros(5), X[500:995, 0]]])
    predictions = parts.predict([X[1000:]])[0]
    assert np.corrcoef(predictions[100:], y[1100:])[0, 1] > 0.95
    with pytest.raises(waggle.Error, match="y: must be a list of as many series"):
        parts.fit([X, X], [y])
    with pytest.raises(waggle.Error, match="series 1"):
        parts.fit([X, X], [y, y[:-1]])


# What a memory cannot have: rows do not depend on those before them.
EXPECTED = {
    "check_methods_sample_order_invariance": "the order of rows is what is remembered",
    "check_methods_subset_invariance": "a row is understood by those before it",
}


@pytest.mark.parametrize("name", ["ReservoirRegressor", "Forecaster"])
def test_scikit_learns_own_checks(name):
    pytest.importorskip("sklearn")
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(
        getattr(waggle, name)(units=30), expected_failed_checks=EXPECTED, on_skip=None
    )
    bad = {r["check_name"] for r in results if r["status"] not in ("passed", "skipped")}
    assert bad <= set(EXPECTED)


def test_pipeline_and_grid_search():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = RNG.normal(size=(400, 2))
    y = np.r_[0.0, X[:-1, 0]]
    pipeline = make_pipeline(StandardScaler(), waggle.ReservoirRegressor(units=20))
    assert pipeline.fit(X, y).predict(X).shape == (400,)
    search = GridSearchCV(
        waggle.ReservoirRegressor(units=20),
        {"spectral_radius": [0.1, 0.9], "leak": [0.5, 1.0]},
        cv=TimeSeriesSplit(3),
    ).fit(X, y)
    assert set(search.best_params_) == {"spectral_radius", "leak"}
    search = GridSearchCV(waggle.Forecaster(units=20), {"leak": [0.5, 1.0]}, cv=TimeSeriesSplit(3))
    assert search.fit(waves(400)).best_score_ > 0.5

"""Estimators with scikit-learn's conventions."""

from __future__ import annotations

from typing import Any

import numpy as np

from waggle import _core
from waggle._core import Error
from waggle._options import nested

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "Forecaster and ReservoirRegressor need scikit-learn 1.6 or newer: "
        "pip install 'scikit-learn>=1.6'"
    ) from error


def _is_list_of_series(X: Any) -> bool:
    """A list of arrays of steps × channels, rather than one series written as lists."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(np.ndim(part) == 2 for part in X)


class _Readout(BaseEstimator):
    """What the two have in common: a network, and a linear readout of it."""

    def __init__(
        self,
        units: int = 300,
        spectral_radius: float | None = 0.9,
        leak: float = 1.0,
        input_scaling: float = 0.3,
        activation: str = "tanh",
        ridge: float | None = None,
        washout: int | None = None,
        seed: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.units = units
        self.spectral_radius = spectral_radius
        self.leak = leak
        self.input_scaling = input_scaling
        self.activation = activation
        self.ridge = ridge
        self.washout = washout
        self.seed = seed
        self.options = options

    def _fit_readout(self, inputs: np.ndarray, targets: np.ndarray, ends: list[int]) -> None:
        lengths = np.diff([0, *ends])
        # The first states remember a beginning that never was; but short series have nothing else.
        washout = min(100, int(lengths.min()) // 10) if self.washout is None else self.washout
        given = {
            "units": self.units,
            "leak": self.leak,
            "input_scaling": self.input_scaling,
            "activation": self.activation,
            "spectral_radius": self.spectral_radius,  # None: as drawn, not the library's own
            "ridge": self.ridge,
            "washout": washout,
            **(self.options or {}),
        }
        given = nested(given, _core.forecasting_options(), ["reservoir"])
        self.model_ = _core.Supervised.fit(inputs, targets, ends, given, self.seed)
        self.washout_ = washout

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = state["model_"].to_bytes()
        return state

    def __setstate__(self, state):
        state = dict(state)
        if "model_" in state:
            state["model_"] = _core.Supervised.from_bytes(state["model_"], "the pickle")
        super().__setstate__(state)


class ReservoirRegressor(RegressorMixin, _Readout):
    """Ridge regression of y on the states of an echo state network that reads X, row after row.

    X is one series, steps × channels, with y of as many rows; or lists of such, each of which is
    read from the beginning. λ is chosen by cross-validation unless `ridge` is given. `washout` rows
    at each beginning are read but not fitted (not given: 100, or a tenth of the shortest series).
    `options` are any others of the library (see waggle/supervised.h).

    The order of the rows matters: `predict` reads a series from a fresh state.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> ReservoirRegressor:
        """Fits the readout."""
        if _is_list_of_series(X):
            inputs, targets, ends = self._join(X, y)
            self.n_features_in_ = inputs.shape[1]
        else:
            inputs, targets = validate_data(
                self,
                X,
                y,
                dtype=np.float64,
                multi_output=True,
                y_numeric=True,
                ensure_min_samples=2,
            )
            targets = np.asarray(targets, dtype=np.float64)
            ends = [len(inputs)]
        self._single_ = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        self._fit_readout(np.ascontiguousarray(inputs), np.ascontiguousarray(targets), ends)
        return self

    @staticmethod
    def _join(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, list[int]]:
        if not isinstance(y, (list, tuple)) or len(y) != len(X):
            raise Error(f"y: must be a list of as many series as X, {len(X)}")
        targets = [np.asarray(part, dtype=np.float64) for part in y]
        inputs = [np.asarray(part, dtype=np.float64) for part in X]
        for i, (a, b) in enumerate(zip(inputs, targets, strict=True)):
            if len(a) != len(b) or a.shape[1] != inputs[0].shape[1] or a.ndim != 2:
                raise Error(
                    f"series {i}: X is {a.shape}, y is {b.shape}; must have as many rows, and as "
                    "many columns as the first"
                )
        return (
            np.concatenate(inputs),
            np.concatenate(targets),
            [int(n) for n in np.cumsum([len(part) for part in inputs])],
        )

    def predict(self, X: Any) -> Any:
        """What the readout makes of every row, each series read from its beginning."""
        check_is_fitted(self, "model_")
        if _is_list_of_series(X):
            return [self._predict(np.asarray(part, dtype=np.float64)) for part in X]
        return self._predict(validate_data(self, X, dtype=np.float64, reset=False))

    def _predict(self, rows: np.ndarray) -> np.ndarray:
        result, _ = self.model_.predict(np.ascontiguousarray(rows), None)
        return result[:, 0] if self._single_ else result


class Forecaster(_Readout):
    """Forecasts a series from its own past, `horizon` steps ahead.

    `fit(X)` takes one series, steps × channels, or a list of them; `predict(X)` says
    for every row what is to follow `horizon` rows later, having read the rows up to it; `run(steps)`
    goes on freely from where the series ended. The other arguments are those of
    ReservoirRegressor.
    """

    def __init__(
        self,
        horizon: int = 1,
        units: int = 300,
        spectral_radius: float | None = 0.9,
        leak: float = 1.0,
        input_scaling: float = 0.3,
        activation: str = "tanh",
        ridge: float | None = None,
        washout: int | None = None,
        seed: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            units, spectral_radius, leak, input_scaling, activation, ridge, washout, seed, options
        )
        self.horizon = horizon

    def fit(self, X: Any, y: Any = None) -> Forecaster:
        """Learns from the series; `y` is not used."""
        horizon = self.horizon
        if isinstance(horizon, bool) or not isinstance(horizon, (int, np.integer)) or horizon < 1:
            raise Error(f"horizon = {horizon!r}: must be a whole number, at least 1")
        listed = _is_list_of_series(X)
        series = [self._rows(part, reset=i == 0) for i, part in enumerate(X if listed else [X])]
        for i, part in enumerate(series):
            if len(part) < horizon + 2:
                raise Error(
                    f"series {i} has n_samples = {len(part)}: must be at least horizon + 2 = "
                    f"{horizon + 2}; 1 sample is not enough"
                )
        inputs = np.concatenate([part[:-horizon] for part in series])
        targets = np.concatenate([part[horizon:] for part in series])
        ends = [int(n) for n in np.cumsum([len(part) - horizon for part in series])]
        self._fit_readout(np.ascontiguousarray(inputs), np.ascontiguousarray(targets), ends)
        # Where the last series ended, to go on from.
        self.state_ = self.model_.predict(np.ascontiguousarray(series[-1]), None)[1]
        return self

    def _rows(self, X: Any, reset: bool) -> np.ndarray:
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def predict(self, X: Any) -> Any:
        """For every row of X, the row `horizon` later; each series read from its beginning."""
        check_is_fitted(self, "model_")
        if _is_list_of_series(X):
            return [self._predict(part) for part in X]
        return self._predict(X)

    def _predict(self, X: Any) -> np.ndarray:
        rows = np.ascontiguousarray(self._rows(X, reset=False))
        return self.model_.predict(rows, None)[0]

    def score(self, X: Any, y: Any = None) -> float:
        """R² of the predictions of X from its own past, mean over the channels. As in the fit, the
        first rows of a series (washout_) only tell where it is."""
        from sklearn.metrics import r2_score

        parts = X if _is_list_of_series(X) else [X]
        true, forecast = [], []
        for part in parts:
            rows = np.asarray(part, dtype=np.float64)
            skipped = min(self.washout_, max(0, len(rows) - self.horizon - 2))
            true.append(rows[self.horizon + skipped :])
            forecast.append(self._predict(part)[skipped : -self.horizon])
        return float(r2_score(np.concatenate(true), np.concatenate(forecast)))

    def run(self, steps: int) -> np.ndarray:
        """Goes on from where the last series ended, reading its own forecasts: steps × channels, or
        fewer if it runs away. For horizon = 1."""
        check_is_fitted(self, "model_")
        if self.horizon != 1:
            raise Error(f"horizon = {self.horizon}: a free run needs horizon 1")
        return self.model_.free_run(np.ascontiguousarray(self.state_), steps)

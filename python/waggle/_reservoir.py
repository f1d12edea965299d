"""Echo state networks for people who bring their own readout."""

from __future__ import annotations

from typing import Any

import numpy as np

from waggle import _core
from waggle._core import Error
from waggle._options import check_seed, documented, nested


def as_rows(X: Any, name: str = "X") -> np.ndarray:
    """A series as rows of numbers: T × d, one number each if it is a vector."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows.reshape(-1, 1)
    if rows.ndim != 2:
        raise Error(f"{name}: an array of {rows.ndim} dimensions, must be (steps, channels)")
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        raise Error(f"{name}: column {bad[0][1]} of row {bad[0][0]} is not finite")
    return np.ascontiguousarray(rows)


@documented("Options:", _core.reservoir_options())
class Reservoir:
    """A fixed random recurrent network, x_{k+1} = (1 − leak) x_k + leak σ(A x_k + C z_k + ζ).

    `run` drives it through a series and returns the states; what to make of them is yours. It is
    drawn when it first sees how many channels a series has. States are `units` numbers; with
    direct_inputs=True the inputs and a constant 1 are appended.
    """

    def __init__(self, units: int = 300, seed: int = 0, **options: Any) -> None:
        self._options = {"units": units, **options}
        self._seed = check_seed(seed)
        self._network: _core.Network | None = None
        self._given = nested(self._options, _core.reservoir_options())
        if not isinstance(units, (int, np.integer)) or units < 1:
            raise Error(f"units = {units!r}: must be a whole number, at least 1")
        # A small one refuses what is wrong.
        _core.Network.draw(
            {**self._given, "units": 1, "operator_norm": None, "spectral_radius": None}, 1, 0
        )

    def _drawn(self, inputs: int) -> _core.Network:
        if self._network is None:
            self._network = _core.Network.draw(self._given, inputs, self._seed)
        elif self._network.inputs != inputs:
            raise Error(f"X: {inputs} columns, the reservoir takes {self._network.inputs}")
        return self._network

    def run(self, X: Any, state: Any = None) -> np.ndarray:
        """The states after each row of X (steps × channels): steps × units. Starts from `state`, or
        from 0."""
        rows = as_rows(X)
        if state is not None:
            state = np.ascontiguousarray(state, dtype=np.float64)
            if state.ndim != 1:
                raise Error(f"state: an array of {state.ndim} dimensions, must be 1")
        return self._drawn(rows.shape[1]).run(rows, state)

    def weights(self) -> dict[str, np.ndarray]:
        """A (recurrent), C (input), ζ (bias) and the leaks, once it has been drawn."""
        if self._network is None:
            raise Error("the reservoir is drawn when it first runs: call run")
        network = self._network
        return {
            "recurrent": network.recurrent(),
            "input": network.input(),
            "bias": network.bias(),
            "leak": network.leak(),
        }

    def __reduce__(self):
        return _restored, (self._options, self._seed, self._network and self._network.inputs)

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self._options.items())
        return f"waggle.Reservoir({given}, seed={self._seed})"


def _restored(options: dict[str, Any], seed: int, inputs: int | None) -> Reservoir:
    reservoir = Reservoir(seed=seed, **options)
    if inputs:
        reservoir._drawn(inputs)
    return reservoir

"""What the package costs beside what one would write instead, in one run. ./dev bench python"""

from __future__ import annotations

import os
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core against one core

import numpy as np

import waggle

ROWS: list[tuple[str, float, str, bool]] = []


def best(work, repeats: int = 5) -> float:
    """The seconds of the fastest run."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def whole(run, X: np.ndarray, repeats: int = 5) -> float:
    """The seconds of run(X), from the fastest of each of its parts: whatever else the machine does
    disturbs few of them."""
    return sum(best(lambda part=part: run(part), repeats) for part in np.split(X, 20))


def row(name: str, value: float, least: float | None = None, most: float | None = None) -> None:
    limit = f"(at least {least:g})" if least is not None else f"(below {most:g})"
    good = value >= least if least is not None else value < most
    ROWS.append((name, value, limit, good))
    print(f"  {name:<66} {value:8.2f}   {limit}{'' if good else '   <-- missed'}", flush=True)


def numpy_loop(w: dict[str, np.ndarray], X: np.ndarray, tanh: bool) -> np.ndarray:
    A, C, bias, leak = w["recurrent"], w["input"], w["bias"], w["leak"]
    states = np.empty((len(X), len(bias)))
    x = np.zeros(len(bias))
    for k in range(len(X)):
        pre = A @ x + C @ X[k] + bias
        x = (1 - leak) * x + leak * (np.tanh(pre) if tanh else np.maximum(pre, 0.0))
        states[k] = x
    return states


def reservoirs() -> None:
    try:
        import reservoirpy
        from reservoirpy.nodes import Reservoir as Node

        if hasattr(reservoirpy, "verbosity"):
            reservoirpy.verbosity(0)
    except ImportError:
        Node = None
        print("  reservoirpy is not installed: not compared with")
    X = np.random.default_rng(0).normal(size=(10_000, 3))
    for n, than_other, than_loop in ((300, 4.0, 2.5), (1000, 2.0, 2.0)):
        # reservoirpy as it comes, with a tenth of the weights; the same here, but for ReLU units.
        if Node is not None:
            sparse = {"units": n, "seed": 0, "density": 0.1, "orthogonal": False}
            other = whole(Node(n, sr=0.9, seed=0).run, X)
            ratio = other / whole(waggle.Reservoir(**sparse).run, X)
            row(f"Reservoir.run, n = {n}, a tenth dense: reservoirpy / waggle", ratio, than_other)
            ratio = other / whole(waggle.Reservoir(**sparse, activation="tanh").run, X)
            print(f"    (with tanh units, as reservoirpy has them: {ratio:.2f})")
        own = waggle.Reservoir(units=n, seed=0)
        fast = whole(own.run, X)
        weights = own.weights()
        loop = whole(lambda part, w=weights: numpy_loop(w, part, False), X)
        row(f"Reservoir.run, n = {n}: numpy loop / waggle", loop / fast, least=than_loop)
        tanh = waggle.Reservoir(units=n, seed=0, activation="tanh")
        slow = whole(tanh.run, X)
        weights = tanh.weights()
        loop = whole(lambda part, w=weights: numpy_loop(w, part, True), X)
        print(f"    (with tanh units: numpy loop / waggle {loop / slow:.2f})")


class Trivial:
    """As little as an environment does that does anything: a noisy walk."""

    def __init__(self, noise: float = 0.1) -> None:
        from gymnasium import spaces

        self.noise = noise
        self.observation_space = spaces.Box(-100.0, 100.0, (2,), np.float64)
        self.action_space = spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.t, self.x = 0, 0.0
        return np.array([self.x, 0.0]), {}

    def step(self, action):
        self.t += 1
        self.x += 0.1 * action - 0.05
        if self.noise:
            self.x += self.rng.normal(0.0, self.noise)
        return np.array([self.x, self.t / 100]), -abs(self.x), self.t >= 100, False, {}


def controllers() -> None:
    import gymnasium

    env = gymnasium.make("CartPole-v1")
    controller = waggle.learn(
        env, steps=2000, seed=0, preset="direct", members=1, washout=0, sweeps=0, units=300
    )
    seen = np.zeros(4, dtype=np.float32)

    def one_by_one(count=2000):
        state = None
        for _ in range(count):
            _, state = controller.predict(seen, state)

    single = best(one_by_one) / 2000
    row("predict, n = 300: µs", 1e6 * single, most=60.0)
    many = np.zeros((64, 4), dtype=np.float32)

    def together(count=100):
        state = None
        for _ in range(count):
            _, state = controller.predict(many, state)

    each = best(together) / 6400
    row("predict, n = 300: one by one / each of 64 at once", single / each, least=4.0)
    print(f"    (each of 64: {1e6 * each:.2f} µs)")


def learning() -> None:
    steps = 20_000

    def ratio(noise: float) -> tuple[float, float]:
        def drive():
            env = Trivial(noise)
            env.reset(seed=0)
            for k in range(steps):
                if env.step(k % 2)[2]:
                    env.reset()

        def learn():
            waggle.learn(
                Trivial(noise),
                steps=steps,
                seed=0,
                preset="direct",
                members=1,
                washout=0,
                sweeps=0,
                units=1,
            )

        own = best(drive) / steps
        return own, best(learn) / steps - own

    own, more = ratio(0.1)
    row("learn: µs of a step in waggle / in a trivial environment", more / own, most=8.0)
    print(f"    (the environment {1e6 * own:.2f} µs, waggle {1e6 * more:.2f} µs)")
    own, more = ratio(0.0)
    print(f"    (without noise: {1e6 * own:.2f} µs, {1e6 * more:.2f} µs)")


def importing() -> None:
    code = "import time; t = time.perf_counter(); import waggle; print(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
        for _ in range(5)
    ]
    row("import waggle, ms", 1e3 * min(times), most=50.0)


if __name__ == "__main__":
    print("ratios of best times in this run")
    importing()
    controllers()
    learning()
    reservoirs()
    missed = [name for name, _, _, good in ROWS if not good]
    if missed:
        print(f"{len(missed)} of {len(ROWS)} missed")
        sys.exit(1)

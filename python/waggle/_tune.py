"""Search for the options of a learner, by Optuna."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from waggle import _core
from waggle._core import Error
from waggle._options import check_seed

# What is searched unless told otherwise: of these depends most what a value on the memory is worth.
SPACE: dict[str, tuple] = {
    "units": ("int", 50, 400, "log"),
    "input_scaling": ("float", 0.1, 3.0, "log"),
    "bias_scaling": ("float", 0.1, 3.0, "log"),
    "operator_norm": ("float", 0.3, 0.99),
    "slowest_leak": ("float", 0.01, 1.0, "log"),
}

_READING = (
    "reward", "action", "observe", "labelled", "ignore", "missing", "reward_next", "episode",
    "terminated", "truncated", "time",
)  # fmt: skip


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise Error("waggle.tune needs Optuna: pip install 'waggle-control[tune]'") from None
    return optuna


def _suggest(trial: Any, name: str, law: Any) -> Any:
    """A value of one option: ("int" or "float", low, high[, "log"]), or a list of choices."""
    if callable(law):
        return law(trial)
    if isinstance(law, list):
        return trial.suggest_categorical(name, law)
    ok = (
        isinstance(law, tuple)
        and len(law) in (3, 4)
        and law[0] in ("int", "float")
        and law[3:] in ((), ("log",))
    )
    if not ok:
        raise Error(
            f"space[{name!r}] = {law!r}: must be ('int' or 'float', low, high) or with 'log' after "
            "these, a list of choices, or a function of the trial"
        )
    suggest = trial.suggest_int if law[0] == "int" else trial.suggest_float
    return suggest(name, law[1], law[2], log=len(law) == 4)


def held_out_error(
    data: Any, test: Any, options: Mapping[str, Any], seed: int, reading: Mapping[str, Any]
) -> float:
    """Share of the variance of what was really earned in `test`, as far as it was foreseeable there,
    that the value of the logged policy, learnt from `data`, leaves unexplained: 0 foresees all of
    it, 1 nothing. It is that of the policy that acted, since of no other the rewards are known."""
    from waggle._learn import learn_log

    asked = {**options, "sweeps": 0, "confidence": False}
    controller = learn_log(data, seed=seed, progress=False, **reading, **asked)
    about = {
        key: reading[key]
        for key in ("reward_next", "episode", "terminated", "truncated", "time")
        if key in reading
    }
    judged = controller.evaluate_log(test, progress=False, **about)
    if judged.with_return < 2 or judged.correlation != judged.correlation:
        return 1.0
    # A value that foresees the opposite is worse than none.
    return 1.0 - judged.correlation * abs(judged.correlation)


class Tuned:
    """What a search found."""

    def __init__(self, study: Any, preset: str, fixed: dict[str, Any], reading: dict[str, Any]):
        self.study = study
        """Optuna's study: its plots are of this."""
        self._preset = preset
        self._fixed = fixed
        self._reading = reading

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for `waggle.learn_log`, beside those that say what the columns are."""
        return {"preset": self._preset, **self._fixed, **self.study.best_trial.user_attrs["found"]}

    @property
    def error(self) -> float:
        """Held out, the mean over the seeds."""
        return self.study.best_value

    def toml(self) -> str:
        """The same as a file for `waggle learn --config`."""
        given = {key: value for key, value in self.options.items() if key != "preset"}
        table = _core.option_table(self._preset, given)
        top = {"preset": self._preset}
        for key in _READING:
            value = self._reading.get(key)
            if value is not None and value != ():
                top[key.replace("_", "-")] = [value] if key == "action" else value
        text = (
            f"# waggle learn LOG --config THIS_FILE -o MODEL   (held-out error {self.error:.4g})\n"
        )
        return text + _toml({**top, **table})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `toml()`."""
        Path(path).write_text(self.toml())

    def __repr__(self) -> str:
        return f"<waggle.Tuned: error {self.error:.4g} after {len(self.study.trials)} trials, {self.options}>"


def _toml(table: Mapping[str, Any], path: str = "") -> str:
    import json

    def value(item: Any) -> str:
        if item is None:
            return '"none"'
        if isinstance(item, (list, tuple)):
            return f"[{', '.join(value(inner) for inner in item)}]"
        return json.dumps(item)

    lines = [
        f"{key} = {value(item)}\n" for key, item in table.items() if not isinstance(item, dict)
    ]
    for key, item in table.items():
        if isinstance(item, dict):
            inner = f"{path}.{key}" if path else key
            lines.append(f"\n[{inner}]\n{_toml(item, inner)}")
    return "".join(lines)


def tune(
    data: Any,
    test: Any,
    *,
    space: Mapping[str, Any] | None = None,
    trials: int = 30,
    seeds: Sequence[int] = (1000, 1001, 1002),
    storage: Any = None,
    study: str = "waggle",
    jobs: int = 1,
    preset: str = "direct",
    sampler: Any = None,
    pruner: Any = None,
    callback: Callable[[Any, Any], None] | None = None,
    fixed: Mapping[str, Any] | None = None,
    **reading: Any,
) -> Tuned:
    """Searches the options whose value foresees most of a log that it has not seen, by Optuna.

    `data` is the log to learn from, `test` the one to judge by, as `waggle.learn_log` takes them;
    what the columns are is said as there (`reward`, `action`, …). The error is that of
    `held_out_error`, in the mean over networks drawn by `seeds`; after each of them, Optuna may
    prune a trial that is worse than the median so far.

    `space` has for each option ("int" or "float", low, high[, "log"]), a list of choices, or a
    function of the trial; `fixed` are options that all trials have, `gamma` among them. With a
    `storage` (such as "sqlite:///search.db") a search that is interrupted goes on where it was:
    `trials` are those in all. `jobs` trials run side by side.

    Returns `Tuned`: its `options` are for `learn_log`, its `save` writes a file for
    `waggle learn --config`.
    """
    optuna = _optuna()
    space = SPACE if space is None else space
    fixed = dict(fixed or {})
    seeds = [check_seed(seed) for seed in seeds]
    if not seeds or trials < 1:
        raise Error(f"seeds = {seeds}, trials = {trials}: at least one of each is needed")
    both = sorted(set(space) & set(fixed))
    if both:
        raise Error(f"{both[0]!r} is searched and fixed: it can be only one of these")

    def objective(trial: Any) -> float:
        found = {name: _suggest(trial, name, law) for name, law in space.items()}
        trial.set_user_attr("found", found)
        options = {"preset": preset, **fixed, **found}
        errors: list[float] = []
        for step, seed in enumerate(seeds):
            try:
                errors.append(held_out_error(data, test, options, seed, reading))
            except Error as error:
                raise Error(f"{found}: {error}") from None
            trial.report(sum(errors) / len(errors), step)
            if step + 1 < len(seeds) and trial.should_prune():
                raise optuna.TrialPruned
        return sum(errors) / len(errors)

    made = optuna.create_study(
        study_name=study,
        storage=storage,
        load_if_exists=True,
        direction="minimize",
        sampler=sampler or optuna.samplers.TPESampler(seed=seeds[0]),
        pruner=pruner or optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    left = trials - len(made.get_trials(deepcopy=False, states=finished))
    if left > 0:
        made.optimize(
            objective,
            n_trials=left,
            n_jobs=jobs,
            callbacks=None if callback is None else [callback],
        )
    return Tuned(made, preset, fixed, reading)

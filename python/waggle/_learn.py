"""Learning, from an environment or from a log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from waggle import _core
from waggle._controller import Controller
from waggle._core import Error
from waggle._envs import adapt
from waggle._options import LEARNING, check_seed, documented, nested
from waggle._progress import bar


def _own_memory(reservoir: Any, options: dict[str, Any]) -> tuple[Any, int]:
    """A Python function as memory, and its size; or None, and `reservoir` as an option."""
    if reservoir is None:
        return None, 0
    if not callable(reservoir):
        options["reservoir"] = reservoir
        return None, 0
    units = options.pop("units", None)
    if not isinstance(units, int) or isinstance(units, bool):
        raise Error(
            f"units = {units!r}: a reservoir of your own needs units, how many numbers x has"
        )
    return reservoir, units


def _search(tune: Any) -> dict[str, Any] | None:
    """How to search for settings, or None: not at all."""
    if tune is None or tune is False:
        return None
    how = {} if tune is True else tune if isinstance(tune, dict) else {"seconds": tune}
    return nested(how, _core.tune_options())


@documented("Options:", _core.learn_options("predictive"), LEARNING)
def learn(
    env: Any,
    steps: int | None = None,
    seed: int = 0,
    preset: str = "predictive",
    *,
    reward_input: bool = False,
    reservoir: Callable | dict[str, Any] | None = None,
    progress: bool | Callable | None = None,
    **options: Any,
) -> Controller:
    """Learns a controller by acting in a Gymnasium environment, or in a vector of copies of it.

    `env` is anything with Gymnasium's `reset`, `step`, `observation_space` and `action_space`; it is
    left where the experience ended. Observations may be Box, Discrete, MultiBinary, MultiDiscrete,
    Dict or Tuple (discrete ones become one-hot), actions Discrete or Box.

    `steps` is how many rows to learn from: one for every step, and one more where an episode begins.
    The first rows are of random actions, each held for a while. `seed` draws the network, the random
    actions and, by `env.reset(seed=seed)`, the environment. `preset` is what all options start from,
    one of `waggle.presets()`; every option is a keyword argument, `gamma` among them.

    `reward_input`: let the controller see the reward too, which `predict` must then be told.
    `reservoir`: options of the network as a dict; or a function (x, z) -> x of your own as memory,
    with `units` for the size of x, which is slow, since Python is asked at every step.
    `progress`: True or False, or a function (what, done, total); not given: a bar by tqdm where a
    terminal or notebook shows it.

    Raises waggle.Error for what it refuses; what the environment raises comes out as it is.
    """
    if steps is not None:
        options["steps"] = steps
    seed = check_seed(seed)
    step, units = _own_memory(reservoir, options)
    adapter = adapt(env, seed)
    with bar(progress) as tell:
        model = _core.learn_env(
            adapter,
            spec=adapter.spec(bool(reward_input)),
            preset=preset,
            options=nested(options, _core.learn_options(preset), LEARNING),
            seed=seed,
            progress=tell,
            step=step,
            units=units,
        )
    model.interface = json.dumps(adapter.interface(), separators=(",", ":"))
    return Controller(model)


@documented("Options:", _core.log_options("predictive"), LEARNING)
def learn_log(
    data: Any,
    *,
    reward: str = "reward",
    action: str | Sequence[str] = "action",
    observe: Sequence[str] | None = None,
    labelled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    missing: str = "refuse",
    reward_next: bool = False,
    episode: str | None = "episode",
    terminated: str | None = "terminated",
    truncated: str | None = "truncated",
    time: str | None = None,
    bounds: Sequence[Any] | None = None,
    choices: Sequence[Any] | None = None,
    kind: str = "automatic",
    reward_input: bool | None = None,
    seed: int = 0,
    preset: str = "predictive",
    tune: bool | float | dict[str, Any] | None = None,
    reservoir: Callable | dict[str, Any] | None = None,
    progress: bool | Callable | None = None,
    **options: Any,
) -> Controller:
    """Learns a controller from a log alone.

    `data` is a pandas or polars DataFrame, an Arrow table, a dict of arrays, a Minari dataset, or
    the path (or paths, or pattern) of CSV files, which may be larger than memory, or of NumPy files,
    or that of a Minari dataset's folder or an HDF5 file. What is masked in an array is missing.
    Row k holds the reward and the observations seen at step k and the action then chosen; with
    `reward_next` the reward, and whether the process ended, are those of the row's own action.

    `reward`, `action` and `observe` name columns; observations are all others unless named. Texts,
    and the numbers of columns in `labelled`, are labels: one channel, `column=label`, for each.
    Columns in `ignore` are left out. Observations that are missing are refused, or, with `missing`
    "hold", go on as they were, with one more channel, `column=missing`, that says so.

    A new episode starts where the column `episode` changes and after rows that are `terminated` or
    `truncated`, where there are such columns, and after a gap in the column `time`, which has numbers
    or dates (ISO 8601). What is odd about the log is warned of, by the names of the command's flags:
    `--reward-next` is `reward_next`.

    An action is a choice if it is text or takes few whole
    numbers (`kind`: "automatic", "discrete" or "continuous"; `choices`: all of them in order), else
    within `bounds` (lower, upper), which are otherwise those of the log. Of a Minari dataset all this
    is known.

    `tune`: seconds to search for better settings, by off-policy evaluation on the half of the log
    it was not learnt from; True: 60; or how, as a dict of `seconds`, `trials` and `fixed`.
    What you give as an option, or by another preset, is not searched. `Controller.tuning` has what
    was tried.

    `reward_input`: whether the controller will see the reward while it acts; by default it does,
    unless the data is a Minari dataset. `seed`, `preset`, `reservoir`, `progress`: as `learn`.
    """
    from waggle._logs import asked, open_log

    step, units = _own_memory(reservoir, options)
    log = open_log(
        data,
        asked(
            reward, action, observe, labelled, ignore, missing, reward_next, episode, terminated,
            truncated, time, bounds, choices, kind, reward_input,
        ),
    )  # fmt: skip
    with bar(progress) as tell:
        model = _core.learn_log(
            log.data,
            name=log.name,
            reading=log.reading,
            preset=preset,
            options=nested(options, _core.log_options(preset), LEARNING),
            seed=check_seed(seed),
            tune=_search(tune),
            progress=tell,
            step=step,
            units=units,
        )
    if log.interface:
        model.interface = json.dumps(log.interface, separators=(",", ":"))
    return Controller(model)

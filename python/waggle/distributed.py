"""Learning from a log in parts, on a Dask cluster.

    from dask.distributed import Client
    import waggle.distributed

    client = Client(...)  # SSH, SLURM, Kubernetes: how workers are started is Dask's business
    controller = waggle.distributed.learn(["monday.csv", "tuesday.csv"], client=client)

Every process runs the same fit on rows of its own. Wherever a fit adds rows up, it stops and gives
what its own add up to; the library adds all of them in a fixed tree, and every process goes on with
the total. So what is learnt has the bits that `waggle.learn_log` finds in the same files.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from inspect import signature
from itertools import accumulate
from typing import Any

from waggle import _core
from waggle._controller import Controller
from waggle._core import Error
from waggle._logs import _reading, asked, open_log
from waggle._options import LEARNING, check_seed, documented, nested

__all__ = ["learn"]

# What `waggle.learn_log` is told of the columns, but for what needs a look at the whole log.
_COLUMNS = {name: p.default for name, p in signature(asked).parameters.items()}
del _COLUMNS["missing"], _COLUMNS["time"]


def _survey(part: Any, reading: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
    """How many rows a part has, its columns and actions, and what it is called."""
    log = open_log(part, None)
    rewards, actions, _, ends, spec = _core.read_log(log.data, log.name, reading)
    taken = actions[ends != 1]  # that of a terminated row never was
    spec["lower"], spec["upper"] = taken.min(axis=0).tolist(), taken.max(axis=0).tolist()
    return len(rewards), spec, log.name or log.data[0]


class _Process:
    """One process, as an actor: it learns in a thread, and stops wherever rows are added up."""

    def __init__(self, parts: list[Any], work: dict[str, Any]) -> None:
        self._said: queue.SimpleQueue = queue.SimpleQueue()
        self._answers: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._learn, args=(parts, work), daemon=True).start()

    def _learn(self, parts: list[Any], work: dict[str, Any]) -> None:
        try:
            logs = [open_log(part, None) for part in parts]
            model = _core.learn_part(
                [(log.data, log.name) for log in logs], exchange=self._all, **work
            )
            self._said.put(("learnt", model.to_bytes()))
        except BaseException as error:
            self._said.put(("failed", str(error)))

    def _all(self, mine: bytes, combine: Any) -> bytes:
        self._combine = combine
        self._said.put(("sums", mine))
        answer = self._answers.get()
        if answer is None:
            raise Error("another process has failed")
        return answer

    def go_on(self, total: bytes | None) -> tuple[str, Any]:
        """What it says next, given the total it asked for, if it did."""
        if total is not None:
            self._answers.put(total)
        return self._said.get()

    def combine(self, sums: list[bytes]) -> bytes:
        return self._combine(sums)

    def stop(self) -> None:
        self._answers.put(None)


@documented("Options:", _core.log_options("predictive"), LEARNING)
def learn(
    parts: Sequence[Any],
    *,
    client: Any,
    processes: int | None = None,
    seed: int = 0,
    preset: str = "predictive",
    **options: Any,
) -> Controller:
    """Learns a controller from a log in parts, whose rows the workers of a Dask cluster share.

    `parts` are paths of files that every worker can read, or anything else `waggle.learn_log` reads,
    or futures of such. Each begins an episode and has the same columns. `client` is a
    `dask.distributed.Client`. As many `processes` learn as there are workers, unless you say how
    many; a short log is shared by fewer. Each holds its rows in memory.

    The other arguments, those that say what the columns are among them, are those of
    `waggle.learn_log`; but `missing`, `time`, `tune`, `reservoir` and `progress` are not. Only presets
    with predictive states can be learnt so. If a worker dies, the work is lost.
    """
    seed = check_seed(seed)
    parts = list(parts)
    if processes is not None and processes < 1:
        raise Error(f"processes = {processes}: must be at least 1")
    if not parts:
        raise Error("parts is empty: there is nothing to learn from")
    named = {name: options.pop(name, default) for name, default in _COLUMNS.items()}
    reading = _reading(asked(**named))
    reading["reward_must_vary"] = False  # in every part
    surveys = client.gather([client.submit(_survey, part, reading, pure=False) for part in parts])
    specs = [spec for _, spec, _ in surveys]
    names = [name for _, _, name in surveys]
    _agree(reading, specs, names)
    begins = list(accumulate((rows for rows, _, _ in surveys), initial=0))
    rows = begins[-1]
    leaf = _core.leaf_rows(rows)
    leaves = -(-rows // leaf)
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not workers:
        raise Error("the cluster has no workers")
    count = min(processes or len(workers), leaves)
    actors = []
    for i in range(count):
        first = leaves * i // count * leaf
        end = min(leaves * (i + 1) // count * leaf, rows)
        seen = [
            k
            for k in range(len(parts))
            if begins[k + 1] > first and begins[k] < end + _core.overlap
        ]
        work = {
            "reading": reading,
            "preset": preset,
            "options": nested(options, _core.log_options(preset), LEARNING),
            "seed": seed,
            "sources": names,
            "skipped": first - begins[seen[0]],
            "to_end": seen[-1] + 1 == len(parts),
            "number": i,
            "first": first,
            "count": end - first,
        }
        worker = [workers[i % len(workers)]]
        mine = [parts[k] for k in seen]
        actors.append(client.submit(_Process, mine, work, actor=True, pure=False, workers=worker))
    try:
        return Controller.from_bytes(_lead([actor.result() for actor in actors]))
    except OSError as error:
        raise Error(f"a worker was lost while it learnt: {error}") from error


def _agree(reading: dict[str, Any], specs: list[dict[str, Any]], names: list[str]) -> None:
    """What was found out of each part, for all of them."""
    for spec, name in zip(specs, names, strict=True):
        if spec["observation_names"] != specs[0]["observation_names"]:
            raise Error(
                f"{name!r} shows {', '.join(spec['observation_names'])}, {names[0]!r} "
                f"{', '.join(specs[0]['observation_names'])}: name the columns in observe"
            )
    if specs[0]["observation_names"]:
        reading["observations"] = specs[0]["observation_names"]
    if "choices" in reading or "lower" in reading:
        return
    if all(spec["choice_names"] for spec in specs):
        labels = {label for spec in specs for label in spec["choice_names"]}
        try:
            reading["choices"] = sorted(labels, key=float)
        except ValueError:
            reading["choices"] = sorted(labels, key=str.encode)
        return

    def ends(spec: dict[str, Any], side: str) -> list[float]:
        labels = [float(label) for label in spec["choice_names"]]
        return [min(labels) if side == "lower" else max(labels)] if labels else spec[side]

    reading["action_kind"] = "continuous"
    reading["lower"] = [min(all_) for all_ in zip(*(ends(s, "lower") for s in specs), strict=True)]
    reading["upper"] = [max(all_) for all_ in zip(*(ends(s, "upper") for s in specs), strict=True)]


def _lead(processes: list[Any]) -> bytes:
    """Adds up what all processes ask for, as often as they do; returns what they have learnt."""
    total = None
    while True:
        asked = [process.go_on(total) for process in processes]
        said = [future.result() for future in asked]
        faults = [text for kind, text in said if kind == "failed"]
        if faults:
            for process in processes:
                process.stop().result()
            raise Error(faults[0])
        if said[0][0] == "learnt":
            return said[0][1]
        total = processes[0].combine([sums for _, sums in said]).result()

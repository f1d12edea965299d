"""Learning from a log in parts, on a Dask cluster.

    from dask.distributed import Client
    import waggle.distributed

    client = Client(...)  # SSH, SLURM, Kubernetes: how workers are started is Dask's business
    controller = waggle.distributed.learn("log/*.parquet", client=client, reward="gain", action="u")

Parts stay where they are: a worker reads one, adds up what the fit needs of it and sends the sums,
whose size does not depend on the rows. What was solved goes out and sums come back, once for each
solve of predictive states, or for every sweep of policy iteration. The sums are added in the order
of the parts, by the library, so that the bits of what is learnt depend neither on the number of
workers nor on which of them died.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waggle import _core
from waggle._controller import Controller
from waggle._core import Error
from waggle._logs import _reading
from waggle._options import check_seed, documented
from waggle._parts import EmptyPart, Part, parts_of

__all__ = ["Run", "learn", "sweep"]


# What workers do. Each is a function of its arguments alone, so that it may be done twice.


def _begin(parts: list[Part], asked: dict[str, Any]) -> str:
    """A plan without measures, of the columns as these parts have them."""
    if not parts[0].is_table:
        return _core.begin_plan([part.path for part in parts], name="", **asked)
    import pyarrow

    from waggle._logs import _columns

    tables = [part.table(None, None) for part in parts]
    for part, table in zip(parts, tables, strict=True):
        if table.schema.names != tables[0].schema.names:
            raise Error(
                f"{part.name!r} has other columns than {parts[0].name!r}: "
                f"{', '.join(table.schema.names)}; must be {', '.join(tables[0].schema.names)}"
            )
    table = pyarrow.concat_tables(tables, promote_options="permissive")
    try:
        return _core.begin_plan(_columns(table), name=parts[0].name, **asked)
    except Error:
        for part, alone in zip(parts, tables, strict=True):
            try:
                _core.begin_plan(_columns(alone), name=part.name, **asked)
            except Error as error:
                if ", row " in str(error):  # a cell of this part, by its own row
                    raise
        raise


def _choose(plan: str, parts: list[Part], asked: dict[str, Any], where: Any) -> str:
    """The plan with what its first rows tell; those of the first parts, as many as it takes."""
    reading = json.loads(plan)["reading"]
    rows = 0
    loaded = []
    for part in parts:
        try:
            each = part.load(reading, 0, where)
        except Error:
            continue  # what is wrong with it is said when it is measured
        loaded.append((each.data, each.name))
        if part.is_table:
            rows += len(each.data[0][1])
            if rows >= _core.first_rows():
                break
    learner = {name: asked[name] for name in ("preset", "options", "seed")}
    return _core.choose_for_plan(plan, loaded, **learner)


def _measure(plan: str, part: Part, where: Any) -> tuple[str, str]:
    """The measure of a part; or a fault; or, if no row is asked for, neither."""
    try:
        like = json.loads(plan)
        loaded = part.load(like["reading"], like["overlap"], where)
        return _core.measure_part(plan, loaded.data, loaded.name, loaded.lead), ""
    except EmptyPart as error:
        return "", "" if where is not None else str(error)
    except Error as error:
        return "", _named(part, error)


def _sum(plan: str, rounds: bytes, group: list[tuple[int, Part]], where: Any) -> tuple[bytes, str]:
    """The sums of some parts, added up; or a fault."""
    part = group[0][1]
    try:
        like = _core.Plan.parse(plan)
        reading = json.loads(plan)["reading"]
        sums = []
        for i, part in group:
            loaded = part.load(reading, like.overlap, where)
            sums.append(like.sum(rounds, i, loaded.data, loaded.name, loaded.lead))
        return sums[0] if len(sums) == 1 else _core.merge_sums(sums), ""
    except Error as error:
        return b"", _named(part, error)


def _named(part: Part, error: Error) -> str:
    text = str(error)
    return text if part.name in text or part.path in text else f"{part.name!r}: {text}"


class _Workers:
    """Work for a Dask cluster, done again elsewhere if a worker dies or says nothing for long."""

    def __init__(self, client: Any, patience: float | None) -> None:
        self.client = client
        self.patience = patience
        self.silent: set[str] = set()  # workers that gave no sign of life

    def count(self) -> int:
        return max(1, sum(self.client.nthreads().values()))

    def run(self, function: Any, calls: dict[Any, tuple]) -> Iterable[tuple[Any, Any]]:
        """(key, result) of function(*arguments) as they come, each once."""
        from distributed import TimeoutError as Late
        from distributed import as_completed

        stamp = f"waggle-{function.__name__}-{time.time_ns():x}"
        keys: dict[Any, Any] = {}  # of futures

        def submit(key, attempt, avoided):
            others = [worker for worker in self.client.nthreads() if worker not in avoided]
            future = self.client.submit(
                function,
                *calls[key],
                key=f"{stamp}-{attempt}-{key}",
                pure=False,
                workers=others if avoided and others else None,
            )
            keys[future] = key
            return future

        waiting = as_completed([submit(key, 0, self.silent) for key in calls], raise_errors=False)
        left = set(calls)
        attempt = 0
        patience = self.patience
        while left:
            future = self._next(waiting, patience)
            if future is None:
                attempt += 1
                avoided = self._avoided(stamp, patience)
                warnings.warn(
                    f"no part was done for {patience:g} s: {len(left)} are tried again",
                    stacklevel=2,
                )
                patience *= 2.0  # who is only slow must not be given ever more to do
                for key in sorted(left, key=str):
                    waiting.add(submit(key, attempt, avoided))
                continue
            key = keys.pop(future)
            if key not in left or future.cancelled():
                continue  # another was faster
            try:
                result = future.result(timeout=patience)
            except Late:
                # It was done by one that has fallen silent since, and has the result.
                attempt += 1
                waiting.add(submit(key, attempt, self._avoided(stamp, patience)))
                continue
            left.discard(key)
            copies = [other for other, of in keys.items() if of == key]
            if copies:
                self.client.cancel(copies, force=True)
            yield key, result

    def _avoided(self, stamp: str, patience: float) -> set[str]:
        """Workers that have said nothing for long; if all have, those that have the work."""
        now = time.time()
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        self.silent |= {
            name for name, worker in workers.items() if now - worker["last_seen"] > patience / 2
        }
        return self.silent or {
            worker
            for worker, tasks in self.client.processing().items()
            if any(str(task).startswith(stamp) for task in tasks)
        }

    @staticmethod
    def _next(waiting: Any, patience: float | None) -> Any:
        """The next that is done; None if there is none for so long."""
        if patience is None:
            return next(waiting)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if waiting.has_ready():
                return next(waiting)
            time.sleep(0.005)
        return None


class _Checkpoint:
    """A folder with the plan, where the rounds are, and the sums of the round in work."""

    def __init__(self, folder: str | os.PathLike[str] | None, asked: dict[str, Any]) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asked, sort_keys=True, default=str)
        mark = hashlib.sha256(text.encode()).hexdigest()
        there = self.read("asked.json")
        if there is not None and json.loads(there)["mark"] != mark:
            raise Error(
                f"{str(self.folder)!r} has the checkpoints of another run: give another folder, or "
                "remove it"
            )
        self.write("asked.json", json.dumps({"mark": mark, "asked": json.loads(text)}).encode())

    def read(self, name: str) -> bytes | None:
        path = self.folder and self.folder / name
        return path.read_bytes() if path and path.exists() else None

    def write(self, name: str, content: bytes) -> None:
        if self.folder is None:
            return
        # Whole or not at all.
        beside = self.folder / f".{name}.new"
        beside.write_bytes(content)
        beside.replace(self.folder / name)

    def sums(self, fingerprint: str) -> Iterable[bytes]:
        for path in sorted(self.folder.glob(f"sums-{fingerprint}-*")) if self.folder else ():
            yield path.read_bytes()

    def drop_sums(self) -> None:
        for path in self.folder.glob("sums-*") if self.folder else ():
            path.unlink()


@documented("Options:", _core.log_options("predictive"))
def learn(
    data: Any,
    *,
    client: Any = None,
    reward: str = "reward",
    action: str | Sequence[str] = "action",
    observe: Sequence[str] | None = None,
    labelled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    reward_next: bool = False,
    episode: str | None = "episode",
    terminated: str | None = "terminated",
    truncated: str | None = "truncated",
    bounds: Sequence[Any] | None = None,
    choices: Sequence[Any] | None = None,
    kind: str = "automatic",
    reward_input: bool = True,
    where: Any = None,
    joined: bool = False,
    overlap: int | None = None,
    corrupt: str = "refuse",
    checkpoint: str | os.PathLike[str] | None = None,
    patience: float | None = None,
    seed: int = 0,
    preset: str = "predictive",
    **options: Any,
) -> Controller:
    """Learns a controller from a log in parts, which workers of a Dask cluster read.

    `data` is a pattern, a folder, a list of paths, or a `pyarrow.dataset`, of Parquet, Arrow, CSV or
    NumPy files that every worker can read. A file is a part, of Parquet every row group. `client`
    is a `dask.distributed.Client`; None: the parts are gone through here, one after the other, to
    the same bits.

    `reward` … `reward_input` say what the columns are, as for `waggle.learn_log`. `where` is a
    `pyarrow.dataset` expression: only rows of Parquet and Arrow files for which it holds are read.

    A row group goes on where the one before it ended; files begin episodes unless they are
    `joined`. What goes on is driven through the last rows before it, `overlap` of them; not given,
    until the memory has forgotten where it started.

    `corrupt`: what to do about a part that cannot be read: "refuse" it, by its name, or "skip" it with
    a warning. `checkpoint`: a folder; interrupted and called again with the same arguments, learning
    goes on from there. `patience`: seconds without any news from the workers after which what is open
    is given to others; not given, only a worker's death is noticed.

    What is learnt is what `waggle.learn_log` learns from the whole with the same preset, to rounding.
    How much predictive states are to remember is told by the first 30,000 rows, where `learn_log`
    looks at all; `predictive_seen` and `predictive_extra_units` leave nothing to be chosen.
    """
    if corrupt not in ("refuse", "skip"):
        raise Error(f"corrupt = {corrupt!r}: must be 'refuse' or 'skip'")
    seed = check_seed(seed)
    reading = _reading(
        {
            "reward": reward,
            "actions": [action] if isinstance(action, str) else [str(name) for name in action],
            "observations": None if observe is None else [str(name) for name in observe],
            "labelled": [str(name) for name in labelled],
            "ignore": [str(name) for name in ignore],
            "missing": "refuse",
            "reward_next": bool(reward_next),
            "time": "",
            "episode": episode or "",
            "terminated": terminated or "",
            "truncated": truncated or "",
            "choices": choices,
            "bounds": bounds,
            "action_kind": kind,
            "reward_is_input": bool(reward_input),
        }
    )
    parts, continued = parts_of(data, joined)
    names = [part.name for part in parts]
    kept = _Checkpoint(
        checkpoint,
        {
            "parts": names, "reading": reading, "seed": seed, "preset": preset, "options": options,
            "overlap": overlap, "where": str(where), "corrupt": corrupt,
            "waggle": _core.__version__,
        },
    )  # fmt: skip
    cluster = None if client is None else _Workers(client, patience)
    workers = _here if cluster is None else cluster.run
    size = 1 if cluster is None else cluster.count()
    made = kept.read("plan.json")
    if made is None:
        asked = {
            "reading": reading,
            "preset": preset,
            "options": options,
            "seed": seed,
            "parts": names,
            "continued": continued,
            "overlap": overlap,
        }
        made = _plan(workers, parts, where, corrupt, asked).encode()
        kept.write("plan.json", made)
    return _solve(workers, size, made.decode(), dict(zip(names, parts, strict=True)), where, kept)


def _here(function: Any, calls: dict[Any, tuple]) -> Iterable[tuple[Any, Any]]:
    for key, arguments in calls.items():
        yield key, function(*arguments)


def _plan(workers, parts, where, corrupt, asked) -> str:
    # What columns and choices there are, these tell; how large the numbers are, all do.
    sample = parts[:: -(-len(parts) // 16)]
    faults: list[str] = []
    begun = None
    while begun is None:
        try:
            ((_, begun),) = workers(_begin, {0: (sample, asked)})
        except Error as error:
            # One that cannot be read may be among those that were looked at.
            if corrupt == "refuse" or len(parts) == 1:
                raise
            readable = [part for part in parts if _readable(part)]
            if len(readable) == len(parts) or not readable:
                raise
            faults.append(str(error))
            parts = sample = readable
    if json.loads(begun)["fit"].get("predictive") is not None:
        ((_, begun),) = workers(_choose, {0: (begun, parts, asked, where)})
    calls = {i: (begun, part, where) for i, part in enumerate(parts)}
    measured: dict[int, str] = {}
    for i, (measure, fault) in workers(_measure, calls):
        if fault and corrupt == "refuse":
            raise Error(fault)
        if fault:
            faults.append(fault)
        elif measure:
            measured[i] = measure
    for fault in faults:
        warnings.warn(f"a part is skipped: {fault}", stacklevel=3)
    if not measured:
        raise Error("no part has rows to learn from")
    order = sorted(measured)
    return _core.finish_plan(
        begun, [measured[i] for i in order], [parts[i].name for i in order], False
    )


def _solve(workers, size, plan, by_name, where, kept) -> Controller:
    """All rounds by a plan, from where they are."""
    like = _core.Plan.parse(plan)
    numbered = list(enumerate(by_name[name] for name in like.parts))
    rounds = kept.read("rounds.safetensors") or b""
    while like.stage(rounds)[0] != "done":
        sums = _round(workers, size, plan, rounds, numbered, where, kept)
        rounds, _ = like.solve(rounds, sums)
        kept.write("rounds.safetensors", rounds)
        kept.drop_sums()
    return Controller(like.model(rounds))


def _readable(part: Part) -> bool:
    try:
        if part.is_table:
            part.table(None, None)
        elif not os.path.isfile(part.path):
            return False
    except Error:
        return False
    return True


def _round(workers, size, plan, rounds, numbered, where, kept) -> bytes:
    """The sums of all parts for one round, in groups of neighbours, a few for every worker."""
    fingerprint = _core.Plan.parse(plan).stage(rounds)[1]
    total: bytes | None = None
    there: set[int] = set()
    for sums in kept.sums(fingerprint):
        try:
            nodes = _core.sums_info(sums)["nodes"]
            total = sums if total is None else _core.merge_sums([total, sums])
        except Error:
            continue  # damaged, or there already: it is made again
        there.update(itertools.chain.from_iterable(range(a, a + n) for a, n in nodes))
    missing = [item for item in numbered if item[0] not in there]
    length = max(1, min(8, -(-len(missing) // (4 * size))))
    groups = [missing[i : i + length] for i in range(0, len(missing), length)]
    calls = {group[0][0]: (plan, rounds, group, where) for group in groups}
    for first, (sums, fault) in workers(_sum, calls):
        if fault:
            raise Error(fault)
        kept.write(f"sums-{fingerprint}-{first:08d}", sums)
        total = sums if total is None else _core.merge_sums([total, sums])
    return total


@dataclass(frozen=True)
class Run:
    """One seed with one setting."""

    seed: int
    setting: dict[str, Any]
    controller: Controller
    evaluation: Any
    """On the test log, if there was one."""


def _run(data, test, seed, setting, common) -> tuple[bytes, Any, str]:
    from waggle._learn import learn_log

    try:
        controller = learn_log(data, seed=seed, progress=False, **{**common, **setting})
        judged = None if test is None else controller.evaluate_log(test, progress=False)
        return controller.to_bytes(), judged, ""
    except Error as error:
        return b"", None, str(error)


def sweep(
    data: Any,
    *,
    seeds: Iterable[int] = range(5),
    settings: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] = ({},),
    test: Any = None,
    client: Any = None,
    patience: float | None = None,
    **common: Any,
) -> list[Run]:
    """Learns from a log once for every seed and setting, side by side on a Dask cluster.

    `settings` is a list of dicts of options, or a dict of lists, whose combinations are tried.
    `data` and `test` are what `waggle.learn_log` reads, of which every worker needs to see the files;
    `common` are its other arguments. The runs come in the order of the settings, then of the seeds.
    """
    if isinstance(settings, Mapping):
        names = list(settings)
        settings = [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*settings.values())
        ]
    runs = [(check_seed(seed), dict(setting)) for setting in settings for seed in seeds]
    workers = _here if client is None else _Workers(client, patience).run
    calls = {i: (data, test, seed, setting, common) for i, (seed, setting) in enumerate(runs)}
    results: dict[int, Run] = {}
    for i, (model, judged, fault) in workers(_run, calls):
        seed, setting = runs[i]
        if fault:
            raise Error(f"seed {seed}, {setting}: {fault}")
        results[i] = Run(seed, setting, Controller.from_bytes(model), judged)
    return [results[i] for i in sorted(results)]

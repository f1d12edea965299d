"""Logs in parts: Parquet, Dask, and what may go wrong with either."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import waggle

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
compute = pytest.importorskip("pyarrow.compute")

import waggle.distributed  # noqa: E402

ASKED = {
    "reward": "nectar", "action": "move", "preset": "direct", "units": 12, "members": 2,
    "gamma": 0.5, "sweeps": 3,
}  # fmt: skip

# The default: predictive states.
PREDICTIVE = {
    "reward": "nectar", "action": "move", "observe": [], "units": 10, "gamma": 0.5,
    "predictive": {"layer": 20, "dynamics": 20, "features": 30, "averaged": 2},
}  # fmt: skip

# What waits for workers to be missed takes a machine that has nothing else to do.
faults = pytest.mark.skipif("WAGGLE_FAULTS" not in os.environ, reason="./dev test dask runs it")


@pytest.fixture(scope="module")
def cluster():
    """A real scheduler and three worker processes."""
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture
def flight(bee_columns) -> dict[str, np.ndarray]:
    """One long record, with a column that nobody asks for."""
    return {**bee_columns, "noise": np.arange(len(bee_columns["move"]), dtype=float)}


def one_file(columns, folder: Path, rows: int = 50) -> str:
    path = str(folder / "flight.parquet")
    parquet.write_table(pyarrow.table(columns), path, row_group_size=rows)
    return path


def some_files(columns, folder: Path, count: int = 6) -> list[str]:
    paths = []
    for i, part in enumerate(np.array_split(np.arange(len(columns["move"])), count)):
        table = pyarrow.table({name: values[part] for name, values in columns.items()})
        paths.append(str(folder / f"part{i}.parquet"))
        parquet.write_table(table, paths[-1])
    return paths


def weights(controller) -> np.ndarray:
    data = controller.to_bytes()
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8 : 8 + size])["readout.weights"]["data_offsets"]
    return np.frombuffer(data[8 + size + begin : 8 + size + end])


def test_row_groups_are_parts_and_an_episode_goes_on_from_one_to_the_next(flight, tmp_path):
    path = one_file(flight, tmp_path)
    whole = waggle.learn_log(flight, observe=[], **ASKED)
    learnt = waggle.distributed.learn(path, observe=[], **ASKED)
    assert len(learnt.summary["provenance"]["sources"]) == 12
    assert learnt.summary["provenance"]["rows"] == 600
    off = np.linalg.norm(weights(learnt) - weights(whole)) / np.linalg.norm(weights(whole))
    assert off < 1e-9
    hasty = waggle.distributed.learn(path, observe=[], overlap=30, **ASKED)
    off = np.linalg.norm(weights(hasty) - weights(whole)) / np.linalg.norm(weights(whole))
    assert off > 1e-9  # the memory is longer than that


def test_predictive_states_are_the_default_and_what_learn_log_finds(cluster, flight, tmp_path):
    path = one_file(flight, tmp_path, rows=150)
    whole = waggle.learn_log(flight, **PREDICTIVE)
    learnt = waggle.distributed.learn(path, **PREDICTIVE)
    assert len(learnt.summary["provenance"]["sources"]) == 4
    off = np.linalg.norm(weights(learnt) - weights(whole)) / np.linalg.norm(weights(whole))
    assert off < 1e-6
    there = waggle.distributed.learn(path, client=cluster, **PREDICTIVE)
    assert there.to_bytes() == learnt.to_bytes()


def test_only_what_is_needed_is_read(flight, tmp_path):
    from waggle._parts import Part

    path = one_file(flight, tmp_path)
    part = Part(path, (1,))
    reading = {
        "reward": "nectar", "actions": ["move"], "observations": [], "episode": "episode",
        "terminated": "terminated", "truncated": "truncated",
    }  # fmt: skip
    assert [name for name, _ in part.load(reading, 0).data] == ["nectar", "move"]
    where = compute.field("noise") < 70
    assert part.table(["noise"], where).num_rows == 20
    # Rows that are left out by `where` are as if they were not there.
    kept = {name: values[100:] for name, values in flight.items()}
    some = waggle.distributed.learn(path, observe=[], where=compute.field("noise") >= 100, **ASKED)
    assert some.summary["provenance"]["rows"] == 500
    alone = waggle.learn_log(kept, observe=[], **ASKED)
    assert weights(some) == pytest.approx(weights(alone), rel=1e-6)
    # learn_log reads a file of it, too.
    assert waggle.learn_log(path, observe=[], **ASKED).to_bytes() != b""


def test_a_cluster_learns_the_same_bits(cluster, flight, tmp_path):
    path = one_file(flight, tmp_path)
    here = waggle.distributed.learn(path, observe=[], **ASKED)
    there = waggle.distributed.learn(path, observe=[], client=cluster, **ASKED)
    assert there.to_bytes() == here.to_bytes()


def test_the_command_and_the_package_make_the_same_bits(command, bee_columns, tmp_path):
    names = []
    for i in range(3):
        rows = slice(i * 200, (i + 1) * 200)
        text = ["nectar,move"]
        text += [
            f"{a!r},{b!r}"
            for a, b in zip(
                bee_columns["nectar"][rows].tolist(),
                bee_columns["move"][rows].tolist(),
                strict=True,
            )
        ]
        names.append(str(tmp_path / f"day{i}.csv"))
        Path(names[-1]).write_text("\n".join(text) + "\n")
    learnt = waggle.distributed.learn(names, checkpoint=tmp_path / "kept", **ASKED)
    run = lambda *words: subprocess.run([command, *words], check=True, capture_output=True)  # noqa: E731
    plan, after = str(tmp_path / "kept" / "plan.json"), []
    for turn in range(6):
        sums = []
        for name in reversed(names):
            sums.append(f"{name}.{turn}")
            run("stats", name, "--like", plan, *after, "-o", sums[-1])
        run("merge", *sums, "-o", str(tmp_path / "fit"))
        rounds, model = str(tmp_path / f"rounds{turn}"), str(tmp_path / "model.safetensors")
        out = run("solve", str(tmp_path / "fit"), "--like", plan, *after, "--rounds", rounds,
                  "-o", model, "--json")  # fmt: skip
        after = ["--after", rounds]
        if json.loads(out.stdout)["done"]:
            break
    assert Path(model).read_bytes() == learnt.to_bytes()


def _killer(victim: str, after: str):
    """A sum that, the first time it comes to one part, takes the worker with it or stops it."""

    def summed(plan, rounds, group, where):
        mark = Path(after)
        if group[0][0] >= 2 and not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), getattr(signal, victim))
        from waggle import distributed

        return distributed._sum(plan, rounds, group, where)

    summed.__name__ = "_sum"
    return summed


@faults
@pytest.mark.parametrize("asked", [{"observe": [], **ASKED}, PREDICTIVE], ids=["direct", "states"])
@pytest.mark.parametrize("victim", ["SIGKILL", "SIGSTOP"])
def test_a_worker_that_dies_or_hangs_changes_no_bit(
    cluster, flight, tmp_path, victim, asked, monkeypatch
):
    path = one_file(flight, tmp_path)
    expected = waggle.distributed.learn(path, **asked)
    real = waggle.distributed._round

    def sabotaged(workers, size, plan, rounds, numbered, where, kept):
        def spoiled(function, calls):
            return workers(_killer(victim, str(tmp_path / "mark")), calls)

        return real(spoiled, size, plan, rounds, numbered, where, kept)

    monkeypatch.setattr(waggle.distributed, "_round", sabotaged)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        learnt = waggle.distributed.learn(path, client=cluster, patience=3.0, **asked)
    assert (tmp_path / "mark").exists()
    assert learnt.to_bytes() == expected.to_bytes()
    if victim == "SIGSTOP":
        assert any("tried again" in str(warning.message) for warning in told)
        os.kill(int((tmp_path / "mark").read_text()), signal.SIGCONT)


def test_a_corrupt_part_is_named_and_refused_or_skipped(cluster, flight, tmp_path):
    paths = some_files(flight, tmp_path)
    good = [path for path in paths if "part3" not in path]
    expected = waggle.distributed.learn(good, observe=[], **ASKED)
    whole = Path(paths[3]).read_bytes()
    Path(paths[3]).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(waggle.Error, match="part3.parquet.*cannot be read"):
        waggle.distributed.learn(paths, observe=[], client=cluster, **ASKED)
    with pytest.warns(UserWarning, match="skipped.*part3.parquet"):
        learnt = waggle.distributed.learn(
            paths, observe=[], client=cluster, corrupt="skip", **ASKED
        )
    assert learnt.to_bytes() == expected.to_bytes()


@faults
def test_a_client_that_is_interrupted_goes_on_from_its_checkpoints(flight, tmp_path, monkeypatch):
    path = one_file(flight, tmp_path)
    expected = waggle.distributed.learn(path, observe=[], **ASKED)
    kept = tmp_path / "kept"
    calls = []
    real = waggle.distributed._sum

    def interrupted(*arguments):
        calls.append(arguments[2][0][0])
        if len(calls) == 20:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(waggle.distributed, "_sum", interrupted)
    with pytest.raises(KeyboardInterrupt):
        waggle.distributed.learn(path, observe=[], checkpoint=kept, **ASKED)
    assert (kept / "rounds.safetensors").exists()
    assert list(kept.glob("sums-*"))
    monkeypatch.setattr(waggle.distributed, "_sum", real)
    seen = []
    monkeypatch.setattr(
        waggle.distributed, "_sum", lambda *given: (seen.append(given[2]), real(*given))[1]
    )
    learnt = waggle.distributed.learn(path, observe=[], checkpoint=kept, **ASKED)
    assert learnt.to_bytes() == expected.to_bytes()
    assert sum(len(group) for group in seen) < 5 * 12 - 12  # a round was not made again
    with pytest.raises(waggle.Error, match="another run"):
        waggle.distributed.learn(path, observe=[], checkpoint=kept, **{**ASKED, "gamma": 0.6})


def test_what_does_not_fit_is_named(flight, tmp_path):
    paths = some_files(flight, tmp_path, 3)
    nan = {name: values[:100].copy() for name, values in flight.items()}
    nan["nectar"][41] = np.nan
    parquet.write_table(pyarrow.table(nan), paths[1])
    with pytest.raises(waggle.Error, match="part1.parquet.*row 42.*nectar"):
        waggle.distributed.learn(paths, observe=[], **ASKED)
    parquet.write_table(pyarrow.table({"nectar": nan["nectar"][:9]}), paths[1])
    with pytest.raises(waggle.Error, match="part1.parquet.*move|part1.parquet.*columns"):
        waggle.distributed.learn(paths, observe=[], **ASKED)
    parquet.write_table(pyarrow.table({name: v[:0] for name, v in flight.items()}), paths[1])
    with pytest.raises(waggle.Error, match="part1.parquet.*no rows"):
        waggle.distributed.learn(paths, observe=[], **ASKED)
    with pytest.raises(waggle.Error, match="preset direct"):
        waggle.distributed.learn(paths[0], observe=[], **{**ASKED, "preset": "predictive"})
    with pytest.raises(waggle.Error, match="corrupt = 'x'"):
        waggle.distributed.learn(paths, corrupt="x", **ASKED)
    with pytest.raises(waggle.Error, match="no file"):
        waggle.distributed.learn(str(tmp_path / "*.none"), **ASKED)


def test_another_version_of_waggle_is_refused(flight, tmp_path):
    from waggle import _core

    path = one_file(flight, tmp_path)
    waggle.distributed.learn(path, observe=[], checkpoint=tmp_path / "kept", **ASKED)
    plan = (tmp_path / "kept" / "plan.json").read_text()
    other = plan.replace(f'"{_core.__version__}"', '"7.7.7"', 1)
    with pytest.raises(waggle.Error, match="waggle 7.7.7, this is waggle"):
        _core.Plan.parse(other)


def test_sums_are_small():
    from waggle import _core

    rng = np.random.default_rng(0)
    log = [("reward", rng.normal(size=300)), ("action", rng.uniform(-1, 1, 300))]
    options = {"units": 996, "members": 1, "ridge": 1e-3, "ridge_scale": "relative"}
    begun = _core.begin_plan(
        log,
        name="log",
        reading={},
        preset="direct",
        options=options,
        seed=0,
        parts=["log"],
        continued=False,
        overlap=None,
    )
    measure = _core.measure_part(begun, log, "log", 0)
    plan = _core.Plan.parse(_core.finish_plan(begun, [measure], ["log"], False))
    assert 8 * 996**2 < len(plan.sum(b"", 0, log, "log", 0)) < 9e6  # of n = 999 features


def test_a_sweep_runs_seeds_and_settings(cluster, flight):
    runs = waggle.distributed.sweep(
        {"nectar": flight["nectar"], "move": flight["move"]},
        seeds=[0, 1], settings={"units": [8, 12]}, client=cluster,
        **{key: value for key, value in ASKED.items() if key != "units"},
    )  # fmt: skip
    assert [(run.setting["units"], run.seed) for run in runs] == [(8, 0), (8, 1), (12, 0), (12, 1)]
    alone = waggle.learn_log(
        {"nectar": flight["nectar"], "move": flight["move"]}, seed=1, **{**ASKED, "units": 8}
    )
    assert runs[1].controller.to_bytes() == alone.to_bytes()


def test_without_dask_one_is_told(tmp_path):
    code = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in {'pyarrow', 'optuna'}:\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "import waggle, waggle.distributed\n"
    )
    run = lambda text: subprocess.run(  # noqa: E731
        [sys.executable, "-c", code + text], capture_output=True, text=True, timeout=60
    )
    assert "pip install pyarrow" in run("waggle.distributed.learn('x.parquet')").stderr
    assert "waggle-control[tune]" in run("waggle.tune({}, {})").stderr

"""Learning on a cluster gives the bits of learning in one process."""

from __future__ import annotations

import csv
import os
import signal

import numpy as np
import pytest

import waggle

pytest.importorskip("distributed")

SMALL = {"layer": 40, "dynamics": 40, "features": 100, "averaged": 1}
OPTIONS = {"units": 40, "gamma": 0.9, **{f"predictive_{name}": n for name, n in SMALL.items()}}


@pytest.fixture(scope="module")
def client():
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def write_tanks(folder, seed: int) -> list[str]:
    """Three episodes of 600 rows, a file each."""
    from waggle import _core

    rng = np.random.default_rng(seed)
    paths = []
    for part in range(3):
        environment = _core.Environment("tanks", {"episode_steps": 0})
        seen, reward, _, _ = environment.reset(10 * seed + part)
        paths.append(str(folder / f"{seed}-{part}.csv"))
        with open(paths[-1], "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["reward", "pump", "valve", "level"])
            for k in range(600):
                if k % 4 == 0:
                    action = rng.uniform([-0.6, -0.8], [0.6, 0.8])
                rows.writerow([reward, *action, *seen])
                seen, reward, _, _ = environment.step(action)
    return paths


def decisions(controller: waggle.Controller) -> np.ndarray:
    rng = np.random.default_rng(0)
    state, actions = None, []
    for k in range(20):
        seen, reward = rng.normal(size=1), rng.normal()
        action, state = controller.predict(seen, state, k == 0, reward=reward)
        actions.append(action)
    return np.array(actions)


def facts(controller: waggle.Controller) -> dict:
    """What a file of it says, but for when it was made."""
    loaded = waggle.Controller.from_bytes(controller.to_bytes())
    return {name: value for name, value in loaded.summary.items() if name != "provenance"}


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_any_number_of_processes_learns_the_same(client, tmp_path, seed):
    from waggle import distributed

    paths = write_tanks(tmp_path, seed)
    asked = {"action": ["pump", "valve"], "seed": seed, **OPTIONS}
    alone = waggle.learn_log(paths, **asked)
    for processes in (1, 3, 7):
        learnt = distributed.learn(paths, client=client, processes=processes, **asked)
        np.testing.assert_array_equal(decisions(learnt), decisions(alone))
        assert str(facts(learnt)) == str(facts(alone))


def test_what_is_refused_is_refused_once_and_clearly(client, tmp_path):
    from waggle import distributed

    paths = write_tanks(tmp_path, 1)
    asked = {"client": client, "action": ["pump", "valve"]}
    with pytest.raises(waggle.Error, match="only predictive states"):
        distributed.learn(paths, preset="direct", units=20, members=1, **asked)
    with pytest.raises(waggle.Error, match="must be at least 1"):
        distributed.learn(paths, processes=0, **asked)
    with pytest.raises(waggle.Error, match="valvo"):
        distributed.learn(paths, client=client, action=["pump", "valvo"])


def test_a_worker_that_dies_is_an_error(tmp_path, monkeypatch):
    from dask.distributed import Client, LocalCluster

    from waggle import distributed

    lead = distributed._lead

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        pids = client.run(os.getpid)

        def killing(processes):
            os.kill(max(pids.values()), signal.SIGKILL)
            return lead(processes)

        monkeypatch.setattr(distributed, "_lead", killing)
        with pytest.raises(waggle.Error, match="a worker was lost"):
            distributed.learn(
                write_tanks(tmp_path, 1), client=client, action=["pump", "valve"], units=300
            )

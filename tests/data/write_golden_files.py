"""Writes the files of this folder: see README.md."""

import h5py
import numpy as np

k = np.arange(40)
reward = (k % 7) / 4
action = ((3 * k) % 5) / 8 - 0.25
np.savez_compressed(
    "numpy.npz",
    reward=reward.astype("f4"),
    action=action.astype(">f8"),
    obs=np.asfortranarray(np.column_stack([1.5 * k, 100.0 - k])),
    step=k.astype(">i2"),
    truncated=k % 20 == 19,
)
np.save("numpy.npy", np.asfortranarray(np.column_stack([reward, action]).astype(">f4")))
np.save("records.npy", np.array([(1.0, 2)], dtype=[("reward", "f8"), ("action", "i4")]))


def write_minari(name, version, **packing):
    with h5py.File(name, "w", libver=(version, version)) as file:
        for episode, (steps, ends) in enumerate(((5, True), (4, False))):
            t = np.arange(steps)
            seen = np.arange(steps + 1)
            last = t == steps - 1
            group = file.create_group(f"episode_{episode}")
            group.attrs["id"] = episode
            group.attrs["total_steps"] = steps
            arrays = {
                "observations": np.column_stack([seen, -seen]).astype("f4"),
                "actions": (t % 2).astype("i8"),
                "rewards": 10.0 * episode + t + 1,
                "terminations": last & ends,
                "truncations": last & (not ends),
            }
            for field, data in arrays.items():
                group.create_dataset(field, data=data, chunks=True, **packing)
        file.attrs["total_episodes"] = 2
        file.attrs["total_steps"] = 9


write_minari("h5py_gzip.hdf5", "v110", compression="gzip", shuffle=True)
write_minari("h5py_lzf.hdf5", "v110", compression="lzf")
write_minari("h5py_newest.hdf5", "latest", compression="gzip")

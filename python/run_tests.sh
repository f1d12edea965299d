#!/usr/bin/env bash
# Builds the wheel, installs it into a virtual environment with the libraries it works with, and runs
# the tests there. With `sb3`: those of stable-baselines3 alone, which needs gigabytes of torch; with
# `dask`: those of clusters alone; with `bench`: the benchmarks; with `env`: makes the environment of the tests, and no more.
# Exits with 77, and says why, where Python's package index cannot be reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what=${1:-}
work=build/python
env=$work/env
case $what in sb3 | bench) env+=$what ;; esac  # all else is made where the tests run
requirements=(-r python/tests/requirements.txt)
[ "$what" = sb3 ] && requirements+=(stable-baselines3)
[ "$what" = bench ] && requirements+=(reservoirpy)

skip() {
  echo "Skipped: $1"
  exit 77
}

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  skip "the Python package needs Python 3.10 or newer"
"$python" -c 'import ensurepip, venv' 2>/dev/null || skip "python3 has no venv (Debian: python3-venv)"
header=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"] + "/Python.h")')
[ -e "$header" ] || skip "python3 has no headers (Debian: python3-dev)"

# The environment is made anew when what is to be in it changes, the wheel is installed every time.
mkdir -p "$work"
wanted="$("$python" --version) ${requirements[*]} $(cat python/tests/requirements.txt)"
if [ "$(cat "$env/made_of" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$env"
  "$python" -m venv "$env"
  # Few of the modules are ever imported; those that are get compiled then.
  if ! "$env/bin/pip" install -q --no-compile --disable-pip-version-check "${requirements[@]}" >"$work/pip.log" 2>&1; then
    tail -n 5 "$work/pip.log"
    rm -rf "$env"
    skip "the Python package index cannot be reached, or lacks something ($work/pip.log)"
  fi
  echo "$wanted" >"$env/made_of"
fi
[ "$what" = env ] && exit
pip=("$env/bin/pip" --disable-pip-version-check -q)

if [ -z "$what" ]; then
  "$env/bin/ruff" check -q python
  "$env/bin/ruff" format -q --check python
fi
rm -rf "$work/dist" "$work/repaired"
began=$SECONDS
PATH="$PWD/$env/bin:$PATH" "${pip[@]}" wheel . --no-build-isolation --no-deps -w "$work/dist"
echo "the wheel was built in $((SECONDS - began)) s: $(basename "$work"/dist/*.whl)"
if [ -z "$what" ]; then
  PATH="$PWD/$env/bin:$PATH" "$env/bin/python" -m auditwheel -v repair --plat auto -w "$work/repaired" \
    "$work"/dist/*.whl >"$work/auditwheel.log" 2>&1 || { tail -n 20 "$work/auditwheel.log"; exit 1; }
  wheel=$(echo "$work"/repaired/*.whl)
else
  wheel=$(echo "$work"/dist/*.whl)
fi
"${pip[@]}" install --no-deps --force-reinstall "$wheel"

export WAGGLE_REPAIRED=$([ -z "$what" ] && echo 1) WAGGLE_SOURCE=$PWD
if [ -z "$what" ]; then
  exec "$env/bin/python" -m pytest -p no:cacheprovider --durations=5 --rootdir python/tests python/tests
fi
if [ "$what" = dask ]; then
  exec "$env/bin/python" -m pytest -p no:cacheprovider --durations=5 --rootdir python/tests \
    python/tests/test_distributed.py
fi
if [ "$what" = bench ]; then
  exec "$env/bin/python" python/benchmarks/bench.py
fi
exec "$env/bin/python" -m pytest -p no:cacheprovider -rs --rootdir python/tests python/tests/test_sb3.py \
  "python/tests/test_docs.py::test_a_page_runs[docs/from-stable-baselines3.md]"

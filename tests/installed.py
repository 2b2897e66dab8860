"""What an installed wheel must do with the base dependencies alone. A script, to be run outside of the checkout."""

from __future__ import annotations

import json
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np

import ordinal_objectives
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, _core


def check_files() -> None:
    """The types are installed; sources, tests and the repository's own folders are not."""
    package = Path(ordinal_objectives.__file__).parent
    for name in ("py.typed", "_core.pyi"):
        assert (package / name).is_file(), f"{name} is not in the wheel"
    for name in ("adapters", "threshold_solver", "histogram_engine", "tests", "benchmarks", "native"):
        assert not (package.parent / name).exists(), f"{name} is installed beside the package"
    sources = [path.name for path in package.rglob("*") if path.suffix in (".cpp", ".hpp", ".txt")]
    assert not sources, f"the wheel holds sources: {sources}"


def check_parts() -> None:
    """What is linked into the module is listed with its version, and its licence lies beside (PEP 770)."""
    files = metadata.files("ordinal-objectives") or []
    (listed,) = [file for file in files if file.parent.name == "sboms"]
    bill = json.loads(listed.read_text(encoding="utf-8"))
    assert bill["metadata"]["component"]["version"] == ordinal_objectives.__version__
    parts = {part["name"]: part["version"] for part in bill["components"]}
    for part in bill["components"]:
        assert part["version"].replace(".", "").isdigit(), part
        assert part["purl"].partition("@")[2].removeprefix("v") == part["version"], part
    licences = {file.stem for file in files if "licenses" in file.parts and file.suffix == ".txt"}
    assert licences == parts.keys(), f"licences of {licences}, versions of {set(parts)}"


def check_model() -> None:
    """A model learns its rows with every instruction set of this processor, and comes back from its file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=600), [-0.7, 0.7])
    for name in _core.instruction_sets():
        _core.select_instruction_set(name)
        model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
        right = np.mean(model.predict(X) == y)
        assert right > 0.8, f"{name}: {right:.0%} of the rows are predicted right"
        with tempfile.TemporaryDirectory() as folder:
            model.save_model(Path(folder) / "model.json")
            again = HistGradientBoostingOrdinalClassifier()
            again.load_model(Path(folder) / "model.json")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        print(f"{name}: {right:.0%} of the training rows are predicted right")


if __name__ == "__main__":
    check_files()
    check_parts()
    check_model()

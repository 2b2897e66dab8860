"""The examples of the README, of the guide and of recipes run, one after the other, and links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.adapters.xgb.outputs import is_at_least

README = Path(__file__).resolve().parents[2] / "README.md"
GUIDE = README.parent / "docs" / "guide"
# Pages without code.
NO_CODE = {"data", "gpu_and_clusters", "index", "labels", "losses_and_links"}


# In the first line of a block; with an older version the block must stop by saying so.
NEEDED = re.compile(r"# Needs XGBoost (\d+)\.(\d+)\.\n")


def run_examples(document, *, at_least):
    """Run a page's blocks of Python one after the other; return what they have named."""
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= at_least
    names = {}
    for block in blocks:
        needed = NEEDED.match(block)
        version = tuple(map(int, needed.groups())) if needed else (0, 0)
        # Or XGBoost's own error, of a booster that stands alone.
        too_old = pytest.raises(ValueError, match="this needs XGBoost {}.{} or later|IsMultiTarget".format(*version))
        with contextlib.nullcontext() if is_at_least(version) else too_old:
            exec(compile(block, str(document), "exec"), names)  # our own text
    return names


def test_examples_run_and_print_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        names = run_examples(README, at_least=4)
    (shown,) = re.findall(r"```text\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert printed.getvalue() == shown
    assert olgbm.load_model(tmp_path / "ordinal.txt").num_trees() == 100
    assert names["joint"].proportional_


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(GUIDE.glob("*.md")), ids=lambda page: page.stem)
def test_examples_of_the_guide_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = run_examples(page, at_least=0)
    assert (page.stem in NO_CODE) == (not names)
    if page.stem == "metrics":
        assert names["search"].best_score_ == max(names["search"].cv_results_["mean_test_score"]) < 0
        assert names["proba"].shape == (500, 5)
        mean_codes = names["proba"] @ np.arange(5)
        assert np.corrcoef(mean_codes, names["y"])[0, 1] > 0.2  # 0 where codes are alphabetical
    if page.stem == "host_shifts" and is_at_least((3, 3)):
        assert names["margins"].shape == (500, 4, 4)
    if page.stem == "calibration":
        assert names["with_curve"] < names["without"]
    if page.stem == "train_save_continue":
        assert names["both"].n_iter_ == names["booster"].num_boosted_rounds() == 10
        assert names["train"]().num_boosted_rounds() == 10  # from the last checkpoint


@pytest.mark.parametrize("page", ["add_a_link.md", "add_a_loss.md"])
def test_examples_of_losses_and_links_run(page):
    names = run_examples(README.parent / "docs" / "how_to" / page, at_least=1)
    assert names["model"].score(names["X"], names["y"]) > 0.8


def test_examples_of_other_formats_run():
    pytest.importorskip("treelite", minversion="4.8")
    names = run_examples(README.parent / "docs" / "how_to" / "other_formats.md", at_least=4)
    np.testing.assert_allclose(names["by_treelite"], names["expected"], rtol=0, atol=1e-12)
    assert names["found"].values.shape == (500, 3, 4)


def test_the_page_of_c_code_gives_the_models_classes(tmp_path, monkeypatch):
    pytest.importorskip("treelite", minversion="4.8")
    pytest.importorskip("tl2cgen")
    monkeypatch.chdir(tmp_path)
    names = run_examples(README.parent / "docs" / "how_to" / "c_code.md", at_least=1)
    assert (tmp_path / "score" / "main.c").is_file()
    np.testing.assert_allclose(names["scores"], names["model"].predict_raw(names["X"]), rtol=0, atol=1e-12)
    assert (names["classes"] == names["model"].predict(names["X"])).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # marginaleffects' own
def test_the_page_of_marginaleffects_has_the_same_effects():
    pytest.importorskip("marginaleffects")
    polars = pytest.importorskip("polars")
    if not polars.__version__.startswith("1."):
        pytest.skip("marginaleffects needs polars 1")
    names = run_examples(README.parent / "docs" / "how_to" / "marginaleffects.md", at_least=1)
    theirs = dict(zip(names["theirs"]["group"], names["theirs"]["estimate"], strict=True))
    ours = names["ours"].to_frame()["effect"]
    np.testing.assert_allclose([theirs[grade] for grade in ours.index], ours, rtol=0, atol=1e-12)
    assert ours["high"] > 0.1


def test_the_page_of_skpro_has_the_regressors_distributions():
    pytest.importorskip("skpro")
    names = run_recipe("skpro")
    X, y, inner = names["X"][500:], names["y"][500:], names["model"].regressor_
    assert abs(names["error"] / inner.crps(X, y["price"]) - 1) < 0.01
    below = names["model"].predict_proba(X).cdf(y).to_numpy().ravel()
    expected = [inner.predict_cdf(X[i : i + 1], y["price"].iloc[i : i + 1])[0, 0] for i in range(len(X))]
    assert np.abs(below - expected).max() <= 0.5 / 200 + 1e-12


def test_examples_of_serving_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_examples(README.parent / "docs" / "how_to" / "serve.md", at_least=8)
    row = names["X"].iloc[:1].assign(age=np.float32(0.3), ward="B")
    assert list(names["app"].openapi()["paths"]) == ["/severity"]
    answer = names["severity"](0.3, "B")
    assert [answer["label"]] == names["label"].tolist() == names["model"].predict(row).tolist()
    assert list(answer["probabilities"]) == names["lowest_first"] == ["mild", "moderate", "severe"]
    by_model = names["model"].predict_proba_ordered(row)
    np.testing.assert_allclose([list(answer["probabilities"].values())], by_model, atol=2e-6)
    assert list(names["severity"]()["probabilities"]) == names["lowest_first"]
    assert (names["same"].predict(names["X"]) == names["model"].predict(names["X"])).all()
    np.testing.assert_allclose(names["probabilities"], names["model"].predict_proba(names["X"]), atol=2e-6)
    assert names["difference"].max() < 2e-6
    assert (names["its_labels"] == names["pipeline"].predict(names["X"])).all()


def run_recipe(name):
    return run_examples(README.parent / "docs" / "how_to" / f"{name}.md", at_least=2)


def test_the_recipe_of_pipelines_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_recipe("pipeline")
    by_label = dict(zip(names["pipeline"].classes_, names["pipeline"].predict_proba(names["X_test"]).T, strict=True))
    np.testing.assert_array_equal(names["ordered"].T, [by_label[name] for name in names["names"]])
    assert (names["loaded"].predict(names["X_test"]) == names["pipeline"].predict(names["X_test"])).all()
    assert names["scores"]["qwk"] > 0.3
    assert 1 < names["pipeline"][-1].n_iter_ < 500
    assert len(names["found"]) == 3


def test_the_recipe_of_text_runs():
    names = run_recipe("text")
    assert names["model"].score(names["X"][600:], names["y"][600:]) > 0.6


@pytest.mark.slow
def test_the_searches_run():
    names = run_recipe("search")
    assert names["search"].best_score_ == max(names["search"].cv_results_["mean_test_score"]) < 0
    states = {trial.state.name for trial in names["study"].trials}
    assert states == {"COMPLETE", "PRUNED"}
    by_name = GridSearchCV(names["model"], {"max_depth": [1]}, scoring="neg_rps")
    with pytest.raises(ValueError, match=r"The 'scoring' parameter .* must be a str among"):
        by_name.fit(names["X"], names["y"])


def test_the_recipes_of_columns_run():
    names = run_recipe("columns")
    up = np.diff(names["rising"].predict_cumulative_proba(names["along"]), axis=0)
    assert up.min() < -0.001
    assert up.max() <= 1e-12
    assert names["by_xgboost"].proportional_


@pytest.mark.slow
def test_the_recipe_of_rare_classes_runs():
    names = run_recipe("imbalanced")
    assert names["error"] < names["before"]
    assert (names["found"] == "severe").sum() > (names["plain"].predict(names["X_test"]) == "severe").sum()


@pytest.mark.slow
def test_the_page_for_those_who_come_from_kaggle_runs():
    names = run_recipe("from_kaggle")
    rounded, *others = names["found"].values()
    assert len(others) == 3
    by_folds = names["qwk"](names["y_test"], names["submission"])
    assert min([*others, by_folds]) > rounded


def test_the_page_on_judges_has_calibrated_probabilities_from_300_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_recipe("judges")
    assert len(names["train"]) == 300
    assert names["error"] < 0.05
    lower, upper = names["lowest_and_highest"].T
    inside = (lower <= names["test"]["label"]) & (names["test"]["label"] <= upper)
    assert inside.mean() > 0.85
    strict = names["severity"] > 1.0
    assert (names["strictest"]["effect"].sort_index()[strict] < 0.0).all()
    assert names["adapted"].thresholds_.mean() < names["model"].thresholds_.mean()
    np.testing.assert_allclose(names["preference"].sum(axis=1), 1.0)


def test_the_page_on_grades_keeps_its_rules():
    names = run_recipe("grades")
    assert (np.diff(names["at_least_b"]) <= 1e-12).all()
    np.testing.assert_allclose(names["migration"].sum(axis=1), 1.0)
    assert np.abs(names["migration"].to_numpy() - names["observed"].to_numpy()).max() < 0.1


@pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning", "ignore:Unknown solver options")  # mord's
def test_the_page_for_those_who_come_from_other_packages_runs():
    """Signs, slopes and probabilities are those of OrderedModel, thresholds up to one constant; classes are mord's."""
    names = run_examples(README.parent / "docs" / "how_to" / "from_other_packages.md", at_least=3)
    theirs, ours = names["theirs"], names["ours"]
    slopes = (ours.linear_.contributions(names["at_1"]) - ours.linear_.contributions(names["at_0"]))[0]
    np.testing.assert_allclose(slopes, theirs.params[:2], atol=1e-3)
    assert (np.sign(slopes) == [1, -1]).all()
    np.testing.assert_allclose(ours.predict_proba_ordered(names["X"]), theirs.predict(names["X"]), atol=1e-3)
    assert np.ptp(ours.thresholds_ - names["their_thresholds"]) < 1e-3
    assert set(names["agreement"]) == {"LogisticAT", "LogisticIT", "LogisticSE"}
    assert min(names["agreement"].values()) > 0.999
    assert names["separate"].min() < -0.01
    assert names["moving"].predict_proba(names["far"]).min() >= 0


def anchors(document):
    """Return what a link may name behind #: the headings, as GitHub writes them in an address."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    before = [names[:i].count(name) for i, name in enumerate(names)]
    return [f"{name}-{n}" if n else name for name, n in zip(names, before, strict=True)]


def test_links_lead_somewhere():
    for document in sorted((README.parent / "docs").rglob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", document.read_text(encoding="utf-8")):
            place = document.parent / target if target else document
            assert target.startswith("http") or place.exists(), f"{document.name}: {target}"
            if anchor and place.suffix == ".md":
                assert anchor in anchors(place), f"{document.name}: {target}#{anchor}"


def test_links_of_the_readme_work_on_a_package_index():
    """There is no folder beside it there: they are the addresses of files of this repository."""
    metadata = (README.parent / "pyproject.toml").read_text(encoding="utf-8")
    home = re.search(r'^Homepage = "(.*)"$', metadata, re.MULTILINE).group(1)
    pictures = home.replace("github.com", "raw.githubusercontent.com") + "/main/"
    text = README.read_text(encoding="utf-8")
    defined = dict(re.findall(r"^\[(\w+)\]: ([^\s#]+)", text, re.MULTILINE))
    assert "](" not in text  # a link's address stands at the end, out of a reader's way
    assert set(re.findall(r"\]\[(\w+)\]", text)) == set(defined)
    found = list(defined.values())
    assert any(target.startswith(pictures) for target in found)
    for target in found:
        assert target.startswith((home + "/blob/main/", pictures)), target
        path = target.split("/main/")[1]
        assert (README.parent / path).exists(), target
    assert set(re.findall(r'"(https://[^"]*)"', metadata)) >= {home, f"{home}/blob/main/docs/guide/index.md"}

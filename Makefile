# Each command sets up its own virtual environment. A newcomer needs two: make demo, make test. Who changes the code
# needs make dev, make test-fast and make lint: there the package is the source itself.
# The newest Python that the tests pass on, else a newer one, pyenv's too; `make PYTHON=...` takes another.
PYENV := $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions
VERSIONS ?= 3.13 3.12 3.14 3.15
PYTHON ?= $(shell for version in $(VERSIONS); do \
	for found in python$$version $(PYENV)/$$version.*/bin/python; do \
		"$$found" -c 'import ensurepip, venv' 2>/dev/null && echo "$$found" && exit; done; done; echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml $(shell find native ordinal_objectives adapters histogram_engine threshold_solver -name '*.py' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name CMakeLists.txt)
DEMO_ARGS ?=
PYTEST_ARGS ?= -n auto --dist worksteal
# What is installed: the source, or a wheel that was built of it.
PACKAGE ?= .

.PHONY: python demo dev test coverage coverage-python test-instruction-sets test-fast test-oldest test-clusters test-each-cluster fuzz fuzz-files sanitize sanitize-threads cross dist lint format docs docs-check notebooks bench bench-accuracy bench-distributions fetch-data clean
# The package is imported from the environment, never from the source folder beside it.
export PYTHONSAFEPATH = 1

# Which Python the commands take.
python:
	@echo $(PYTHON)

$(VENV)/created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12) and "Python 3.12 or newer is needed, with venv: install it (Debian and Ubuntu: apt install python3.12-venv), or say where it is by make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# One stamp for each set of extras.
$(VENV)/installed-%: $(VENV)/created $(SOURCES)
	$(BIN)/python -m pip install --quiet '$(PACKAGE)[$*]'
	touch $@

demo: $(VENV)/installed-demo
	$(BIN)/python -I examples/demo.py $(DEMO_ARGS)

# A worker for each processor, each with one thread; tests of threads ask for more themselves.
test: export OMP_NUM_THREADS = 1
test: $(VENV)/installed-test
	$(BIN)/python $(MEASURED) -m pytest $(PYTEST_ARGS)

# The same, with the branches of Python that it takes, which costs a quarter more. What is not taken stands in the table.
COUNTS := build/coverage
coverage-python: $(VENV)/installed-test
	$(BIN)/python -m pip install --quiet --group coverage
	rm -rf $(COUNTS)/data* $(COUNTS)/python.json && mkdir -p $(COUNTS)
	$(MAKE) test MEASURED='-m coverage run'
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report
	$(BIN)/python -m coverage json --quiet -o $(COUNTS)/python.json
	$(BIN)/python tests/coverage_figures.py $(COUNTS)

# And the lines of the native core, on a module that counts them, in an environment of its own. Threads that count at once
# may lose some. Where Python's figure is too low, the last command says so.
coverage: VENV = .venv-coverage
coverage:
	$(MAKE) $(VENV)/installed-test VENV=$(VENV)
	rm -rf $(COUNTS)
	$(VENV)/bin/python -m pip install --quiet --no-deps --force-reinstall -Cbuild-dir=$(COUNTS)/native \
		-Ccmake.define.ORDINAL_COVERAGE=ON .
	$(MAKE) coverage-python VENV=$(VENV) || test -f $(COUNTS)/python.json
	$(VENV)/bin/python -m gcovr --merge-lines --filter native/core/ --txt $(COUNTS)/native.txt \
		--gcov-ignore-parse-errors=negative_hits.warn_once_per_file --gcov-suspicious-hits-threshold=0 \
		--json-summary $(COUNTS)/native.json $(COUNTS)/native
	$(VENV)/bin/python tests/coverage_figures.py $(COUNTS)

# The quick tests of what the native code computes, on each of this processor's instruction sets but the best, which
# `make test` takes. An instruction set can only make a kernel's numbers wrong: these compare each kernel with NumPy, and
# trees of each criterion with the oracle's. What the estimators make of them is the same on all.
KERNELS := $(addprefix tests/rows/test_,statistics.py link_kernel.py leaf_sums.py) $(addprefix tests/trees/test_,leaves.py \
	predictions.py) $(addprefix tests/histogram_engine/test_,engine_oracle.py engine_high_order.py vector_engine.py \
	vector_criterion.py multi_output_criterion.py category_splits.py row_sampler.py engine_cross_terms.py)
COMPUTED := $(KERNELS) tests/rows/test_margin_statistics.py tests/trees/test_vector_leaves.py
OTHER_SETS := from ordinal_objectives import _core; print(*_core.instruction_sets()[1:])
test-instruction-sets: $(VENV)/installed-test
	for set in $$($(BIN)/python -c '$(OTHER_SETS)'); do \
		$(BIN)/python -m pytest $(PYTEST_ARGS) -m 'not slow' --instruction-set $$set $(COMPUTED) || exit 1; done

# The quick tests with the frameworks' oldest versions.
test-oldest: export PIP_CONSTRAINT = $(CURDIR)/tests/oldest.txt
test-oldest:
	$(MAKE) test VENV=.venv-oldest PYTEST_ARGS="$(PYTEST_ARGS) -m 'not slow'"

# What meets a real cluster on this machine. `make test` skips it where the cluster's package is not installed; here that
# is an error. Spark needs Java.
test-clusters:
	$(MAKE) .venv-clusters/installed-test,ray,spark VENV=.venv-clusters
	.venv-clusters/bin/python -c 'import pyspark, ray'
	test -n "$$JAVA_HOME" || command -v java || { echo 'Spark needs Java: apt install default-jre-headless'; exit 1; }
	.venv-clusters/bin/python -m pytest tests/clusters tests/package/test_parity.py

# One fit or a few on each kind of cluster, with what `make test` has installed. A package that cannot be installed here
# is no error: pytest says what it has skipped, as it does where there is no Java.
test-each-cluster: $(VENV)/installed-test
	for cluster in ray spark; do \
		$(BIN)/python -m pip install --quiet "$(PACKAGE)[$$cluster]" || echo "SKIPPED: $$cluster cannot be installed"; done
	$(BIN)/python -m pytest -rs tests/clusters -k 'test_dask or thresholds_are_those'

# Ten thousand runs of the state machines, of which `make test` has some. Resumes where it was stopped; SEED
# begins others.
RUNS ?= 10000
SEED ?= 1000
fuzz: $(VENV)/installed-test
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz.py --runs $(RUNS) --seed $(SEED)

# Model files that a coverage-guided fuzzer has changed; goes on from what it has found, SECONDS of each format.
SECONDS ?= 600
fuzz-files: $(VENV)/installed-test
	$(BIN)/python -m pip install --quiet atheris
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz_files.py --seconds $(SECONDS)

# An edited Python file needs no new installation, and C++ is rebuilt when it is imported. A file that comes or goes
# does: the stamp's name stands for the list of files.
DEV := .venv-dev
FILES := $(shell printf '%s\n' $(SOURCES) | sort | cksum | cut -d ' ' -f 1)
dev: $(DEV)/files-$(FILES)

$(DEV)/created: pyproject.toml
	$(PYTHON) -m venv $(DEV)
	$(DEV)/bin/python -m pip install --quiet --upgrade pip 'setuptools>=70.1' 'scikit-build-core>=1.0' 'nanobind>=2.7' cmake ninja
	touch $@

$(DEV)/files-$(FILES): $(DEV)/created
	rm -f $(DEV)/files-*
	$(DEV)/bin/python -m pip install --quiet --no-build-isolation -Cbuild-dir=build/dev -Ceditable.rebuild=true \
		-Ceditable.verbose=false -Ccmake.define.ORDINAL_WERROR=ON -e . --group dev
	touch $@

test-fast: export OMP_NUM_THREADS = 1
test-fast: dev
	$(DEV)/bin/python -m pytest -m 'not slow' $(PYTEST_ARGS)

# The native tests on an extension module built with the compiler's sanitizers, whose runtime must be loaded before
# Python. First a mistake made on purpose, which must be reported; then the tests, where nothing may be. A report goes to
# the standard error of a process that it ends, so nothing is captured.
# An address is wrong or right whatever the numbers are: the kernels, and beside them what reads files, samples, blocks,
# categories and odd layouts; of each the quick tests.
NATIVE_TESTS := $(KERNELS) $(addprefix tests/histogram_engine/test_,engine_inputs.py engine_binning.py engine_estimator.py \
	engine_pruning.py categorical_features.py constraints.py goss.py multi_output_steps.py restricted_outputs.py \
	row_blocks.py)
# Replays compare the numbers of trainings that other tests run.
REACHING := not replay

# What the package needs is taken from $(VENV): the instrumented build alone is installed.
.venv-%/instrumented: $(VENV)/installed-test
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --upgrade pip
	.venv-$*/bin/python -m pip install --quiet --no-deps -Cbuild-dir=build/$* -Ccmake.define.ORDINAL_SANITIZE=$* .
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
		"$$(.venv-$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dependencies.pth"
	touch $@

# The runtime wraps C++ exceptions only if it finds them when it starts.
STDLIB := $(shell $(CXX) -print-file-name=libstdc++.so)

# What Python itself never frees is no leak of ours.
sanitize: RUN = env LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $(STDLIB)" ASAN_OPTIONS=detect_leaks=0 \
	PYTHONMALLOC=malloc .venv-address/bin/python
sanitize: .venv-address/instrumented
	$(RUN) tests/native/native_mistakes.py overrun 2>&1 | grep heap-buffer-overflow
	$(RUN) -m pytest --quiet --capture=no $(PYTEST_ARGS) -m 'not slow' -k '$(REACHING)' $(NATIVE_TESTS)

# OpenBLAS's and LightGBM's threads are not instrumented; polars and Arrow do not start beside the runtime, so tests that
# import them are left out. Older runtimes need addresses that are not randomised.
# Narrow vectors and cut files are the same to threads; the other sanitizer meets them. So does it tests that run on one
# thread, where nothing races: a test with threads says so in its name, or its file stands here.
SERIAL := $(REACHING) and not lightgbm and not flipped_bits and not sse2 and not avx2 and not few_rows_and_heavy and \
	not shared_out_to_leaves
THREADED := thread or helpers or parts or keep_no_histogram or seed_alone or oracle or goss or high_order or \
	cross_terms or binning or pruning or uneven or light_rows or row_blocks or vector_engine or leaf_weights or \
	several_values or drawn_for_each_node
THREADED_TESTS := $(NATIVE_TESTS) $(addprefix tests/histogram_engine/test_,engine_guarantees.py multi_output_estimator.py)
UNINSTRUMENTED = $(shell grep -lrE '^import (polars|pyarrow)' --include='test_*.py' $(THREADED_TESTS))
sanitize-threads: RUN = $$(setarch -R true 2>/dev/null && echo setarch -R) \
	env LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $(STDLIB)" OPENBLAS_NUM_THREADS=1 TSAN_OPTIONS=halt_on_error=1 \
	.venv-thread/bin/python
sanitize-threads: .venv-thread/instrumented
	$(RUN) tests/native/native_mistakes.py race 2>&1 | grep 'data race'
	$(RUN) -m pytest --quiet --capture=no $(PYTEST_ARGS) -m 'not slow' -k '$(SERIAL) and ($(THREADED))' \
		$(filter-out $(UNINSTRUMENTED),$(THREADED_TESTS))

# The core on platforms that the tests do not run on: it must compile there without a warning, and where something runs
# its programs, one checks sums and splits. "one lane" is what compilers without GCC's vector extension, as MSVC, get.
# A name, a compiler, what runs its programs, and CMake's options. What this machine lacks is skipped.
define cross_check
@if ! command -v $(2) >/dev/null; then echo "SKIPPED: the core for $(1), since there is no $(2) here"; else set -e; \
	PATH="$(CURDIR)/$(DEV)/bin:$$PATH" $(DEV)/bin/cmake -S native -B build/cross/$(1) -G Ninja --log-level=WARNING \
		-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=$(2) -DPython_EXECUTABLE=$(CURDIR)/$(DEV)/bin/python \
		-DORDINAL_MODULE=OFF -DORDINAL_WERROR=ON $(4); \
	$(DEV)/bin/cmake --build build/cross/$(1) -- --quiet; echo "The core compiles for $(1)"; \
	if command -v $(3) >/dev/null; then $(3) build/cross/$(1)/core_check; \
	else echo "SKIPPED: the check of the core for $(1), since there is no $(3) here"; fi; fi
endef

cross: $(DEV)/created
	$(call cross_check,one-lane,$(CXX),env,-DORDINAL_ONE_LANE=ON)
	$(call cross_check,aarch64,aarch64-linux-gnu-g++,qemu-aarch64,-DCMAKE_SYSTEM_NAME=Linux \
		-DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_EXE_LINKER_FLAGS=-static)
	$(call cross_check,windows,x86_64-w64-mingw32-g++-posix,wine,-DCMAKE_SYSTEM_NAME=Windows \
		-DCMAKE_SYSTEM_PROCESSOR=AMD64)

# What a release uploads. The wheel is built from the sdist, and tried with the base dependencies alone, outside of the
# checkout.
DIST := $(CURDIR)/.venv-dist
dist:
	rm -rf dist $(DIST)
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet --upgrade pip build twine
	$(DIST)/bin/python -m build
	$(DIST)/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(DIST)/user
	$(DIST)/user/bin/python -m pip install --quiet dist/*.whl
	cd $(DIST) && user/bin/python -m ordinal_objectives versions
	cd $(DIST) && user/bin/python $(CURDIR)/tests/installed.py

# mypy does not see folders that are mapped into the package; in $(TYPED) they are where they are installed.
TYPED := build/typed/ordinal_objectives
FOLDERS := adapters histogram_engine threshold_solver
FORMATTED = $(shell find native ordinal_objectives -name '*.cpp' -o -name '*.hpp' -o -name '*.cu') tests/cuda_on_cpu.hpp
SCHEMA := $(DEV)/bin/check-jsonschema --quiet --builtin-schema
# The words that users read.
SPELLED := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs examples native ordinal_objectives $(FOLDERS)
lint: dev
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/codespell $(SPELLED)
	$(DEV)/bin/pymarkdown scan --recurse $(wildcard *.md) docs
	$(DEV)/bin/repo-review . >build/repo-review.txt || { cat build/repo-review.txt; exit 1; }
	$(DEV)/bin/clang-format --dry-run --Werror $(FORMATTED)
	$(DEV)/bin/zizmor --offline --no-progress --quiet --pedantic .github
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.citation-file-format CITATION.cff
	rm -rf $(TYPED) && mkdir -p $(TYPED)
	ln -s $(CURDIR)/ordinal_objectives/* $(addprefix $(CURDIR)/,$(FOLDERS)) $(CURDIR)/build/dev/_core.pyi $(TYPED)
	MYPYPATH=build/typed:benchmarks $(DEV)/bin/mypy -p ordinal_objectives -p claims -p lib
	MYPYPATH=build/typed:benchmarks $(DEV)/bin/mypy --explicit-package-bases tests
	MYPYPATH=build/typed $(DEV)/bin/mypy docs/conf.py docs/check_links.py docs/check_overflow.py docs/count_words.py docs/llms.py docs/parity.py notebooks/make.py
	MYPYPATH=build/typed $(DEV)/bin/mypy --allow-untyped-defs --allow-untyped-calls --allow-any-generics \
		--disable-error-code=arg-type --disable-error-code=assignment examples

format: dev
	$(DEV)/bin/ruff check --fix .
	$(DEV)/bin/ruff format .
	$(DEV)/bin/clang-format -i $(FORMATTED)

# The site, from docs, examples and the docstrings of what is installed. What Sphinx warns of is an error, and so are a
# warning that an example prints and a link that leads nowhere. The examples are small: threads would only wait for each
# other.
docs: export OMP_NUM_THREADS = 1
docs: $(VENV)/installed-docs
	rm -rf build/site build/doctrees docs/generated docs/gallery
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs auto -d build/doctrees docs build/site
	! grep -rn --include='*.rst' 'Warning: ' docs/gallery
	$(BIN)/python docs/check_links.py build/site
	@echo "The site begins at build/site/index.html"

# Nothing on the built site is cut off, at the widths of a laptop and of a phone: as a browser lays it out.
docs-check: docs
	$(BIN)/python docs/check_overflow.py build/site

# The notebooks with their outputs: after a change of examples/quickstart.py or of results.
notebooks: export OMP_NUM_THREADS = 1
notebooks: $(VENV)/installed-test
	$(BIN)/python notebooks/make.py

# PYTHONSAFEPATH keeps a script's own folder off the path.
bench bench-accuracy fetch-data: export PYTHONPATH = benchmarks
bench-%: export PYTHONPATH = benchmarks

bench: $(VENV)/installed-test
	$(BIN)/python benchmarks/claims/speed/kernel.py
	$(BIN)/python benchmarks/claims/speed/numpy_kernel.py
	$(BIN)/python benchmarks/claims/speed/plugin_rounds.py

# NGBoost wants an older scikit-learn than the other rivals, so its claim has an environment of its own.
bench-distributions: VENV = .venv-distributions
bench-distributions:
	$(MAKE) $(VENV)/installed-distributions VENV=$(VENV)
	$(BIN)/python benchmarks/claims/accuracy/distributions.py $(ARGS)

# Any claim by its name: make bench-kernel ARGS='--rows 100000'. Those that take long resume.
bench-%: $(VENV)/installed-bench
	$(BIN)/python benchmarks/claims/*/$*.py $(ARGS)

# Downloads the evaluation data into the folder that ORDINAL_DATA names; SETS names some of them.
fetch-data: $(VENV)/installed-bench
	$(BIN)/python benchmarks/fetch_data.py $(SETS)

# Resumes where it was stopped; HOURS bounds each of the four runs. QUICK=1 walks through the same steps on one small
# set, away from the committed results.
QUICK_RESULTS := build/quick/accuracy_runs.csv
HOURS ?= 2
EVIDENCE := accuracy tuned thesis_options learning_curves
bench-accuracy: $(VENV)/installed-bench
ifdef QUICK
	rm -rf $(dir $(QUICK_RESULTS))
	for claim in $(EVIDENCE); do \
		$(BIN)/python benchmarks/claims/accuracy/$$claim.py --quick --results build/quick/$${claim}_runs.csv || exit 1; done
	$(BIN)/python benchmarks/claims/report/accuracy_report.py --results $(QUICK_RESULTS) --into $(dir $(QUICK_RESULTS))
else
	for claim in $(EVIDENCE); do $(BIN)/python benchmarks/claims/accuracy/$$claim.py --hours $(HOURS) || exit 1; done
	$(BIN)/python benchmarks/claims/accuracy/artificial.py
	$(BIN)/python benchmarks/claims/report/accuracy_report.py
endif

clean:
	rm -rf build dist docs/generated docs/gallery .venv* .pytest_cache .mypy_cache .ruff_cache .hypothesis

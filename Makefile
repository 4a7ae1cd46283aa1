# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINES := $(VENV)/.engines
SUITE := $(VENV)/.suite
DEMO := demo
NODE := examples/deploy/node
TASK := GeneLab-Inverted-Pendulum-v0

.PHONY: setup suite engines demo node chromium test lint format bench soak docs clean

setup: $(STAMP) suite

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,skrl,sb3,web]'
	touch $(STAMP)

# dm_control for its model files, without the packages that its own code needs and that not every Python has.
suite: $(SUITE)

$(SUITE): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps dm_control \
		&& touch $(SUITE) || echo "dm_control could not be installed: the control suite and its tests are left out"

# Physics engines beside MuJoCo, and Weights & Biases, for their tests; where they cannot be installed, pytest says what it left out.
engines: $(ENGINES)

$(ENGINES): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[genesis,mjwarp,wandb,ray]' \
		&& touch $(ENGINES) || echo "genesis, mjwarp, wandb and ray could not be installed: their tests are left out"

demo: setup
	rm -rf $(DEMO)
	$(BIN)/genelab train $(TASK) --seed 1 --log-dir $(DEMO)
	$(BIN)/genelab eval $(TASK) $(DEMO)/model_final.pt --out $(DEMO)/eval.json
	$(BIN)/genelab export $(TASK) $(DEMO)/model_final.pt --format onnx --out $(DEMO)/policy.onnx
	$(BIN)/genelab play $(TASK) --checkpoint $(DEMO)/model_final.pt --max-steps 600 --video $(DEMO)/video.mp4
	$(BIN)/genelab play Genelab-Velocity-Flat-Unitree-Go1-v0 --agent trained --max-steps 400 --video $(DEMO)/go1.mp4
	$(BIN)/genelab play Genelab-Velocity-Flat-Unitree-G1-v0 --agent trained --max-steps 400 --video $(DEMO)/g1.mp4
	$(BIN)/genelab play Genelab-Velocity-Rough-Unitree-Go1-v0 --agent trained --max-steps 400 --video $(DEMO)/go1-rough.mp4
	$(BIN)/genelab play GeneLab-Franka-Pick-And-Place-v0 --agent trained --max-steps 200 --video $(DEMO)/franka.mp4
	@echo
	@echo "run:        $(DEMO)"
	@echo "policy:     $(DEMO)/model_final.pt"
	@echo "evaluation: $(DEMO)/eval.json"
	@echo "export:     $(DEMO)/policy.onnx"
	@echo "films:      $(DEMO)/*.mp4"
	@$(BIN)/python -c 'import json; m = json.load(open("$(DEMO)/eval.json"))["metrics"]; print("return:     %.3f of 40 (95 %% interval ± %.3f, 100 episodes)" % (m["return_mean"], m["return_ci95"]))'
	@$(BIN)/python examples/demo_page.py $(DEMO)

# The exported policy is also run in Node.js; without npm, those tests say that they were left out.
node:
	test -f $(NODE)/node_modules/.package-lock.json || ! command -v npm >/dev/null || \
		npm install --prefix $(NODE) --ignore-scripts --no-audit --no-fund --silent || \
		echo "onnxruntime-node could not be installed: tests in Node.js are left out"

# Pages are also opened in a browser; without one, those tests say that they were left out. CI installs it.
chromium:
	command -v chromium >/dev/null || { apt-get update && apt-get install -y chromium; } >/dev/null 2>&1 || \
		echo "chromium could not be installed: tests of pages in a browser are left out"

test: setup engines lint node
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadgroup -rs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python benchmarks/env_throughput.py
	$(BIN)/python benchmarks/suite_throughput.py
	$(BIN)/python benchmarks/train_throughput.py
	$(BIN)/python benchmarks/eval_throughput.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/sb3_throughput.py

# The documentation as a site. The pages open from the disk; the search box needs a server.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html, or run $(BIN)/mkdocs serve and open http://127.0.0.1:8000 to search it"

# Minutes of attacks: kills, damaged and wrong files, fuzzed overrides, faults of the environment.
soak: setup
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m attacks.soak --out results/soak.json

clean:
	rm -rf $(VENV) $(DEMO) build dist site

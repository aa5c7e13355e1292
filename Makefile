# Barnabas. `make` alone explains itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Tests start thousands of processes: where this is set, each of them would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

help: ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup: $(STAMP) ## Create .venv with everything in it

$(STAMP): pyproject.toml constraints.txt src/barnabas/records/_compiled.c
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable '.[client,spark,java]'
	$(BIN)/barnabas spark prepare || true # Spark starts without it, too, in twice the time
	@touch $(STAMP)

demo: setup ## Run the main job: telemetry of 10,000 devices, a pipeline, a proof by event id, a replay, a chart
	$(BIN)/python -m demo

# Four workers for two cores: most tests with real clients and processes wait more than they compute.
test: setup kcat ## Run the tests
	$(BIN)/python -m pytest -n 4 --dist worksteal tests

interop: setup ## Test with Apache Kafka's tools and clients, Spark's connector, franz-go and KafkaJS (downloaded once)
	$(BIN)/python interop/peers.py
	$(BIN)/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder interop

soak: setup ## Crash it at every named step, kill it 200 times under load, check properties and histories (hours); prints seeds
	$(BIN)/python -m barnabas.testing.crash --jobs 2
	$(BIN)/python -m barnabas.testing.simulation --seeds 100000 --minutes 30
	BARNABAS_KILL_ROUNDS=200 $(BIN)/python -m pytest -s -p no:xdist tests/crash/test_kill_under_load.py
	BARNABAS_RAFT_SEEDS=20000 $(BIN)/python -m pytest -n 2 --timeout 3600 tests/raft/test_raft_simulation.py
	BARNABAS_DAMAGE_ROUNDS=1000 $(BIN)/python -m pytest -s -p no:xdist tests/crash/test_damage_anywhere.py
	BARNABAS_EXAMPLES=20 $(BIN)/python -m pytest -n 2 --dist worksteal --timeout 3600 -m hypothesis tests
	$(BIN)/python -m barnabas.testing.checker run --workload all --minutes 6
	$(BIN)/python -m barnabas.testing.spark_kills --every-step
	$(BIN)/python -m barnabas.testing.spark_kills --rounds 50
	$(BIN)/python -m barnabas.testing.spark_kills --rounds 10 --at-least-once
	$(BIN)/python -m barnabas.testing.spark_memory --gigabytes 10
	$(BIN)/python -m demo.kills --rounds 20
	$(BIN)/python interop/peers.py
	$(BIN)/python -m pytest -p no:xdist interop/tutorial_on_kafka.py
	$(BIN)/python -m demo.large

check: setup ## What CI runs: lint, types, imports, tests
	$(BIN)/ruff check src tests tools demo interop bench fuzz
	$(BIN)/ruff format --check src tests tools demo interop bench fuzz
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/mypy fuzz
	$(BIN)/mypy interop
	$(BIN)/mypy -p bench
	$(BIN)/mypy -p demo
	$(BIN)/lint-imports
	$(MAKE) test

fuzz: setup ## Fuzz every parser for SECONDS (60) each, with atheris
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group fuzz
	$(BIN)/python -m fuzz --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

format: setup ## Format and sort imports
	$(BIN)/ruff check --fix src tests tools demo interop bench fuzz
	$(BIN)/ruff format src tests tools demo interop bench fuzz

bench: setup ## Compare with Apache Kafka (an hour, 25 GB of disk), for docs/performance.md
	$(BIN)/python -m bench --page docs/performance.md --chart docs/images/performance.png

bench-spark: setup ## Compare our Spark source and sink with Spark's own connector, for docs/performance-spark.md
	$(BIN)/python -m bench.spark --page docs/performance-spark.md --chart docs/images/performance-spark.png

messages: setup ## Generate wire/messages from kio's schemas
	$(BIN)/python tools/generate_messages.py

compatibility: setup ## Generate the tables of docs/compatibility.md from the code
	$(BIN)/python tools/generate_compatibility.py

reference: setup ## Generate the tables and the picture of docs/pipelines.md from the code
	$(BIN)/python tools/generate_pipeline_reference.py

kcat: # Debian's kcat is one of the clients in the tests
	@command -v kcat >/dev/null || tools/install_kcat

clean: ## Remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

.PHONY: help setup demo test interop soak bench bench-spark fuzz check format messages compatibility reference kcat clean

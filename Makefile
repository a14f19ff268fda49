# Every command that a person or CI runs. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/proxyunwrap
DENY := $(CACHE)/tools/cargo-deny-0.20.2
FUZZ := $(CACHE)/tools/cargo-fuzz-0.13.2
RELEASE := target/release/proxyunwrap-dataplane
DEBUG := target/debug/proxyunwrap-dataplane

FUZZ_TARGETS := parse round_trip segmentation
# Seconds for each fuzz target.
SECONDS ?= 20

.PHONY: help
help: ## List these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

.PHONY: demo
demo: images ## Show the main job on Kubernetes: nginx's log before and after one annotation
	e2e/demo/cluster.sh

.PHONY: demo-local
demo-local: packages build ## Show the dataplane alone: HAProxy and nginx in private networks
	e2e/demo/local.sh $(DEBUG)

.PHONY: test
test: check packages unit system fuzz budgets chart-check e2e ## Run everything (what .ci/run calls); needs root and Go
	$(CLUSTER_COMMAND) down

.PHONY: check
check: fmt-check lint docs deny crds-check ## Format, clippy, rustdoc, dependencies, generated files: no warning allowed

.PHONY: build
build: ## Build the programs for development
	cargo build --workspace --locked

.PHONY: release
release: ## Build the programs as they are shipped
	cargo build --locked --release -p proxyunwrap-dataplane

.PHONY: unit
unit: ## Tests that need nothing but Rust
	cargo test --workspace --locked --lib
	cargo test --workspace --locked --doc
	cargo test --locked -p proxyunwrap-header --tests
	cargo test --locked -p proxyunwrap-dataplane --test simulation
	cargo test --locked -p proxyunwrap-api -p proxyunwrap-operator --tests
	cargo test --locked -p proxyunwrap-e2e --test dockerfile

# One test at a time within a file: each has the two cores of a small machine to itself.
SYSTEM := $(filter-out simulation,$(basename $(notdir $(wildcard dataplane/tests/*.rs))))

SYSTEM_TESTS = cargo test --locked -p proxyunwrap-dataplane --no-fail-fast
# What depends on how connections are carried.
CARRYING := bytes collisions interop lifecycle limits refusals

.PHONY: system
system: packages ## Tests in network namespaces, with real balancers and apps, on both engines; needs root
	PROXYUNWRAP_ENGINE=epoll $(SYSTEM_TESTS) $(addprefix --test ,$(SYSTEM))
	PROXYUNWRAP_ENGINE=io_uring $(SYSTEM_TESTS) $(addprefix --test ,$(CARRYING))
	PROXYUNWRAP_ENGINE=io_uring PROXYUNWRAP_RELAY=shuffle $(SYSTEM_TESTS) --test bytes
	PROXYUNWRAP_ENGINE=epoll PROXYUNWRAP_RELAY=shuffle $(SYSTEM_TESTS) --test bytes

.PHONY: fuzz
fuzz: $(FUZZ)/bin/cargo-fuzz ## Fuzz each target for SECONDS=20 seconds
	cd dataplane && for target in $(FUZZ_TARGETS); do \
	  mkdir -p fuzz/corpus/$$target fuzz/seeds/$$target; \
	  $(FUZZ)/bin/cargo-fuzz run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target \
	    -- -max_total_time=$(SECONDS) -print_final_stats=1 2>&1 | grep -vE '^(#|"|NEW_FUNC|stat::(new|slow|peak))'; \
	done

.PHONY: fuzz-review
fuzz-review: $(FUZZ)/bin/cargo-fuzz ## The same for what the webhook is asked; builds for minutes
	mkdir -p operator/fuzz/corpus/review
	cd operator && $(FUZZ)/bin/cargo-fuzz run --sanitizer none review fuzz/corpus/review fuzz/seeds/review \
	  -- -max_total_time=$(SECONDS) -print_final_stats=1 2>&1 | grep -vE '^(#|"|NEW_FUNC|stat::(new|slow|peak))'

.PHONY: budgets
budgets: packages release ## Size of the dataplane, its dependencies, time to listening, instructions and system calls
	e2e/budgets.sh $(RELEASE)
	e2e/instructions.sh
	cargo build --locked --release -p proxyunwrap-bench
	e2e/calls.sh target/release/proxyunwrap-bench $(RELEASE)

# BENCH='--only pingpong --rounds 3 …' measures a part, which the documents do not get.
.PHONY: bench
bench: packages release ## Speed beside our peers, in one run; writes docs/benchmarks.md; needs root, 20 minutes
	cargo build --locked --release -p proxyunwrap-bench
	target/release/proxyunwrap-bench --docs $(if $(BENCH),target/bench,docs) $(BENCH)

# The tests' cluster: `embedded` is built from Go modules and needs no container engine, `kind` needs one.
CLUSTER ?= embedded
CLUSTER_COMMAND = e2e/$(if $(filter kind,$(CLUSTER)),kind,cluster)/cluster

.PHONY: cluster-up
cluster-up: ## Start the tests' Kubernetes (CLUSTER=embedded or kind); the first time builds it
	$(CLUSTER_COMMAND) up

.PHONY: cluster-down
cluster-down: ## End it; nothing is left behind
	$(CLUSTER_COMMAND) down

.PHONY: cluster-shell
cluster-shell: ## A shell with kubectl, ctr and helm in it
	$(CLUSTER_COMMAND) shell

.PHONY: images
images: packages ## Build the tests' images into target/images; no container engine needed
	e2e/images/build.sh

CRDS = cargo run --quiet --locked -p proxyunwrap-operator -- crds
CRD = crds/proxyunwraps.yaml charts/proxyunwrap/files/crds/proxyunwraps.yaml

.PHONY: crds
crds: ## Write the custom resource's definition, and the chart's copy, from the types
	crd=$$($(CRDS)) && for copy in $(CRD); do echo "$$crd" >$$copy; done

.PHONY: crds-check
crds-check: ## Are both as the types would have them?
	crd=$$($(CRDS)) && for copy in $(CRD); do \
	  diff -u $$copy - <<<"$$crd" || { echo "$$copy is stale: make crds install-yaml" >&2; exit 1; }; \
	done

# The cluster's helm, so that everybody renders alike. HELM_FOLDER=… for another that is helm 4.
HELM_FOLDER ?= $$(e2e/cluster/cluster build | sed -n 's/^built: //p')

.PHONY: install-yaml
install-yaml: ## Write charts/install.yaml from the chart
	PATH="$(HELM_FOLDER):$$PATH" charts/install.sh

.PHONY: chart-check
chart-check: packages ## The chart without a cluster: lint, schema, settings, alerts, dashboard, copies
	PATH="$(HELM_FOLDER):$$PATH" charts/check/chart.sh

# Compiled outside: there is no network inside.
E2E = cargo test --locked -p proxyunwrap-e2e --features cluster
INSIDE = $(CLUSTER_COMMAND) run env CARGO_NET_OFFLINE=true PROXYUNWRAP_CLUSTER=$(CURDIR)/$(CLUSTER_COMMAND)

.PHONY: e2e
e2e: images cluster-up ## What we promise, tried on a real Kubernetes (CLUSTER=embedded or kind)
	$(CLUSTER_COMMAND) load target/images/*.tar
	$(CLUSTER_COMMAND) run charts/check/server.sh
	$(MAKE) cluster-install
	$(CLUSTER_COMMAND) run charts/check/monitoring.sh
	$(E2E) --lib --bins
	$(E2E) --test promises --test outages --no-run
	$(INSIDE) $(E2E) --test promises -- --test-threads=2 --show-output
	$(INSIDE) $(E2E) --test outages -- --test-threads=1 --show-output

.PHONY: scale
scale: images cluster-up ## What 1,000 pods of 100 resources cost the operator, in figures
	$(CLUSTER_COMMAND) load target/images/*.tar
	$(MAKE) cluster-install
	cargo build --locked -p proxyunwrap-e2e --features cluster --bin scale
	$(INSIDE) target/debug/scale

.PHONY: cluster-install
cluster-install: ## Install the chart on the cluster as the tests do; needs images and cluster-up
	$(CLUSTER_COMMAND) run helm upgrade --install proxyunwrap charts/proxyunwrap \
	  --namespace proxyunwrap-system --create-namespace --values e2e/manifests/values.yaml --wait --timeout 60s

.PHONY: packages
packages: ## Install the Debian packages that tests and demo need
	e2e/packages.sh

.PHONY: fmt
fmt: ## Format the code
	cargo fmt --all

.PHONY: fmt-check
fmt-check: ## Is the code formatted?
	cargo fmt --all --check

.PHONY: lint
lint: ## clippy, warnings are errors
	cargo clippy --workspace --all-targets --all-features --locked -- -D warnings

.PHONY: docs
docs: ## Build the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --all-features --locked --document-private-items

.PHONY: deny
deny: $(DENY)/bin/cargo-deny ## Licences, bans and sources of the dependencies
	$(DENY)/bin/cargo-deny --locked check bans licenses sources

$(DENY)/bin/cargo-deny:
	cargo install cargo-deny --version 0.20.2 --locked --root $(DENY)

$(FUZZ)/bin/cargo-fuzz:
	cargo install cargo-fuzz --version 0.13.2 --locked --root $(FUZZ)

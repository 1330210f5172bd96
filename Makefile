# CONTRIBUTING.md says what each layer needs.

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

test: ## run the tests
	go test ./...

race: ## run the tests with the race detector (needs a C compiler)
	go test -race ./...

lint: ## run golangci-lint (format and vet too) in every module
	.ci/lint

chaos: ## the lock on redis-servers that are killed, stopped and cut off, for a minute
	go test -race -v -run Stress ./chaos/live -stress.for=60s -stress.pairs=100000

ci: ## everything, as before a merge (as root: installs what is missing)
	.ci/run

.PHONY: help test race lint chaos ci

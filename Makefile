# What CI runs is `make check clients stack`, in some twenty minutes on two cores.

# How tests are run. `make check` runs each test that fails twice more, alone, and notes those that pass then in flaky.txt
# (tests/retest): a busy machine refuses no change, and hides no flaky test either.
GOTEST = go test
RETEST = $(CURDIR)/bin/retest -flaky $(CURDIR)/flaky.txt --

LINT = go tool -modfile=tools/go.mod golangci-lint

# A module of its own, so that those who import Fanfold do not inherit what checks the files of its deployment.
STACK = tests/fanfold-stack

# Installs the Debian packages of commands that are not there, given as command:package. Those that are there stay: packages of
# others conflict with Debian's.
install = missing=; for c in $(1); do command -v $${c%%:*} >/dev/null || missing="$$missing $${c\#\#*:}"; done; \
	[ -z "$$missing" ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; }

# How long `make soak` takes.
BUDGET = 1h

.PHONY: check ci full build test lint versions race soak fuzz bench clients deploy stack
check: lint bin/retest
	$(MAKE) GOTEST='$(RETEST)' test deploy versions race

# What CI runs.
ci: check
	$(MAKE) GOTEST='$(RETEST)' clients stack

# Everything, and more of what could go on for ever than make test runs: 2,000 random histories instead of 480, 100 losses of
# power instead of 50, and so on (amount in tests/soak_test.go). Every test passes at its first run, and none is noted as flaky.
full: lint
	@test ! -s flaky.txt || { echo "these tests are flaky: mend them, then remove flaky.txt"; cat flaky.txt; exit 1; }
	go test -timeout=30m $$(go list ./... | grep -v '/tests$$')
	go test -timeout=30m ./tests -full
	$(MAKE) deploy versions race clients stack

.PHONY: bin/retest
bin/retest:
	go build -o bin/retest ./tests/retest

build:
	go build -o bin/fanfold ./cmd/fanfold

# Every test, without the race detector. Of what could go on for ever (random histories, crashes at random writes, kills
# of the process, linearizability) it runs a part; the seeds of the fuzz tests run with it.
test:
	$(GOTEST) -timeout=30m ./...

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./... && go vet -tags clients ./tests && go vet -tags nextfold ./...
	$(LINT) run --build-tags clients ./...
	cd $(STACK) && go vet ./... && go vet -tags stack ./... && go tool -modfile=../../tools/go.mod golangci-lint run --build-tags stack ./...

# The tests of a change from one version of the fold to the next, with a fold that has one version more.
versions:
	$(GOTEST) -tags=nextfold -short -timeout=10m -run='^(TestRandomHistories|TestTwoFolds|TestTwoFoldsOfFrozenCopies|TestGroupOverTwoFolds|TestCrashWhileUpgrading|TestUpgradesItself)$$' ./tests

# The tests again under the race detector, except those in which it has nothing to see and that it would make slow.
# These say so themselves (plainOnly in tests/helpers_test.go): they start the server as another process, which the
# detector does not watch, or send one request after the other. What is left is what runs many things at a time: feeds,
# guards and strict races, transactions, imports and exports, patches on one document, models in the background, replays,
# admission, 15 seconds of linearizability, a short share of the random histories and every seventh crash of a
# preparation; and all tests that are quick.
race:
	$(GOTEST) -race -timeout=30m ./...

# docker-compose.yml, the Dockerfile and deploy/ against the schemas and parsers of the tools that read them.
deploy:
	cd $(STACK) && $(GOTEST) ./...

# The services of docker-compose.yml as plain processes, through a balancer: written to, followed, scaled, and killed in part.
# It installs what is missing, on a Debian as root.
stack:
	@$(call install,haproxy:haproxy prometheus:prometheus promtool:prometheus wget:wget)
	cd $(STACK) && $(GOTEST) -tags=stack -timeout=10m -count=1 -run='^(TestStack|TestImage|TestAlertsFire|TestPrometheusConfiguration)$$' -v .

# The change feed with clients that others wrote: curl, npm's eventsource and ws, Chromium's EventSource and WebSocket.
# It installs what is missing, on a Debian as root.
clients:
	@$(call install,curl:curl node:nodejs npm:npm chromium:chromium)
	npm ci --prefix tests/clients --no-audit --no-fund
	$(GOTEST) -tags=clients -timeout=15m -run='^(TestClientsSurvive|TestCurlReadsEveryTransport)$$' -v ./tests

# The long form of what is never through, for as long as BUDGET says (make soak BUDGET=2h): random histories, crashes at
# random writes of the script in random orders, kills, losses of power, linearizability, damaged files, consumer groups under chaos, clusters under faults, and every fuzz test, each with a share of the
# time (tests/soak_test.go). It prints how much it did of each. A random history that fails prints
# how to run it again; of the others the seed is in the name of the subtest.
soak:
	cd tests && go test -timeout 0 -soak $(BUDGET) -run '^(TestRandomHistories|TestRandomFanouts|TestCrashAtRandomWrites|TestKill|TestPowerLoss|TestLinearizable|TestRandomDamages|TestGroupUnderChaos|TestClusterFaults|TestClusterFaultsOfProcesses|TestSoakFuzz)$$'

# A short run of each fuzz test (their seeds run with the other tests); longer: go test -fuzz FuzzToken -fuzztime 10m ./events
fuzz:
	go test -run '^$$' -fuzz '^FuzzToken$$' -fuzztime 5s -fuzzminimizetime 1s ./events
	go test -run '^$$' -fuzz '^FuzzEnvelope$$' -fuzztime 5s -fuzzminimizetime 1s ./events
	go test -run '^$$' -fuzz '^FuzzBlocks$$' -fuzztime 5s -fuzzminimizetime 1s ./events
	go test -run '^$$' -fuzz '^FuzzPatch$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/jsondoc
	go test -run '^$$' -fuzz '^FuzzTree$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/jsondoc
	go test -run '^$$' -fuzz '^FuzzETag$$' -fuzztime 5s -fuzzminimizetime 1s ./api
	go test -run '^$$' -fuzz '^FuzzCheckCollection$$' -fuzztime 5s -fuzzminimizetime 1s .
	go test -run '^$$' -fuzz '^FuzzModel$$' -fuzztime 5s -fuzzminimizetime 1s ./projector/fold
	go test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/decimal
	go test -run '^$$' -fuzz '^FuzzFromKey$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/decimal
	go test -run '^$$' -fuzz '^FuzzCompile$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/regex
	go test -run '^$$' -fuzz '^FuzzExpression$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/expr
	go test -run '^$$' -fuzz '^FuzzSchema$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/schema
	go test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/modelfile

bench:
	go run ./cmd/fanfold bench

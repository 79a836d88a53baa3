# What CI runs is `make ci`: the phases below, in some 20 minutes on two idle cores.

# How tests are run. `make check` and `make ci` run each test that fails twice more, alone, and note those that pass then in flaky.txt
# (tests/retest): a busy machine refuses no change, and hides no flaky test either. They note in bin/times how long each took.
# Lint has vetted the files by then.
GOTEST = go test
RETEST = $(CURDIR)/bin/retest -flaky $(CURDIR)/flaky.txt -times $(CURDIR)/bin/times -phase $$phase -- -vet=off

LINT = go tool -modfile=tools/go.mod golangci-lint

# A module of its own, so that those who import Fanfold do not inherit what checks the files of its deployment.
STACK = tests/fanfold-stack

# Installs the Debian packages of commands that are not there, given as command:package. Those that are there stay: packages of
# others conflict with Debian's.
install = missing=; for c in $(1); do command -v $${c%%:*} >/dev/null || missing="$$missing $${c\#\#*:}"; done; \
	[ -z "$$missing" ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; }

# How long `make soak` takes.
BUDGET = 1h

# The directories of the tests, as arguments of go test: of those whose name matches, and of those that -full has do more.
holding = $$(grep -rlE --include='*_test.go' '^func ($(1))\(' tests | xargs -n1 dirname | sort -u | sed 's|^|./|')
FULLER = $$(grep -rliE --include='*_test.go' '\b(amount|begin)\(' tests | xargs -n1 dirname | sort -u | sed 's|^|./|')

# Runs targets one after the other until one fails, and prints a table of how long phases, packages and tests took. Phases whose
# inputs are as they were when they passed are left out (.ci/unchanged).
phases = @rm -f bin/times; began=$${CI_BEGAN:-$$(date +%s)}; code=0; for phase in $(1); do \
	if .ci/unchanged $$phase; then echo "$$phase is left out: its inputs passed before (.ci/inputs, .ci/passed)"; continue; fi; \
	since=$$(date +%s); $(MAKE) --no-print-directory GOTEST="$(RETEST)" $$phase; code=$$?; \
	printf '%s\t\t\t%d\n' $$phase $$(($$(date +%s) - since)) >>bin/times; [ $$code = 0 ] || break; \
	.ci/unchanged -note $$phase || true; done; \
	bin/retest -times bin/times -table $$(($$(date +%s) - began))s; exit $$code

CHECK = lint test deploy race

.PHONY: check ci full build test js lint vuln versions race soak fuzz bench clients console vendor deploy stack short short-versions short-clients short-stack release test-release
check: bin/retest
	$(call phases,$(CHECK))

# What CI runs. The commands of docs/security.md need openssl.
ci: bin/retest
	@$(call install,openssl:openssl)
	$(call phases,$(CHECK) short-versions short-clients short-stack js console)

# Everything, and more of what could go on for ever than make test runs: 2,000 random histories on nodes instead of 24, 100 losses of
# power instead of 50, and so on (suite.Amount in tests/suite/soak.go). Every test passes at its first run, and none is noted as flaky.
full: lint
	@! grep -v '^#' flaky.txt || { echo "these tests are flaky: mend them, then remove their lines from flaky.txt"; exit 1; }
	fuller="$(FULLER)"; go test -timeout=30m $$(go list ./... | grep -vxF "$$(go list $$fuller)") && go test -timeout=60m $$fuller -full
	$(MAKE) deploy versions race clients js console stack test-release vuln

# Known vulnerabilities that the code reaches, of the modules and of the Go that builds it. Where the database cannot be reached
# nothing is checked, and the last line says so. VULNDB may be a copy: file:///path.
VULNDB = https://vuln.go.dev
VULNERABLE = ./...
vuln:
	@if curl -sSfLo /dev/null -m 30 $(VULNDB)/index/db.json; then go tool -modfile=tools/go.mod govulncheck -db $(VULNDB) $(VULNERABLE); \
	else echo "vuln: SKIPPED, and nothing was checked: the database $(VULNDB) cannot be reached (VULNDB=URL names a copy)"; fi

.PHONY: bin/retest
bin/retest:
	go build -o bin/retest ./tests/retest

build:
	go build -o bin/fanfold ./cmd/fanfold

# Every test, without the race detector. Of what could go on for ever (random histories, crashes at random writes, kills
# of the process, linearizability) it runs a part; the seeds of the fuzz tests run with it.
test:
	$(GOTEST) ./...

# gofmt, go vet and the other linters of .golangci.yml, each over a file once; and that no test was flaky for more than a week.
lint:
	go run ./tests/retest -flaky flaky.txt -check
	$(LINT) run --build-tags clients,console,nextfold ./...
	cd $(STACK) && go tool -modfile=../../tools/go.mod golangci-lint run --build-tags stack ./...
	cd deploy/release && go tool -modfile=../../tools/go.mod golangci-lint run ./...

# The tests of a change from one version of the fold to the next, with a fold that has one version more.
VERSIONS = TestTwoFolds|TestTwoFoldsOfFrozenCopies|TestGroupOverTwoFolds|TestUpgradesItself
versions:
	$(GOTEST) -tags=nextfold -short -timeout=10m -run='^(TestRandomHistories|TestFoldedHistories|TestCrashWhileUpgrading|$(VERSIONS))$$' $(call holding,TestRandomHistories|$(VERSIONS))

# The tests that prove something about concurrency, under the race detector. Each says so in its first statement (suite.Concurrent);
# all others run without it, in make test. tests/house/race_test.go looks that each package with goroutines has one.
CONCURRENT = $$(grep -rhA1 --include='*_test.go' '^func Test' . | grep -B1 'suite\.Concurrent(t' | grep -oE '\bTest\w+' | sort -u | paste -sd'|')
race:
	$(GOTEST) -race -run="^($(CONCURRENT))$$" $$(grep -rl --include='*_test.go' 'suite\.Concurrent(t' . | xargs -n1 dirname | sort -u)

# docker-compose.yml, the Dockerfile and deploy/ against the schemas and parsers of the tools that read them.
deploy:
	cd $(STACK) && $(GOTEST) ./...

# The services of docker-compose.yml as plain processes, through a balancer: written to, followed, scaled, and killed in part.
# It installs what is missing, on a Debian as root.
stack:
	@$(call install,haproxy:haproxy prometheus:prometheus promtool:prometheus wget:wget)
	cd $(STACK) && $(GOTEST) -tags=stack -timeout=10m -count=1 -run='^(TestStack|TestImage|TestAlertsFire|TestPrometheusConfiguration)$$' -v .

# What make full runs whole, and takes minutes there: the fold that has one version more without random histories and crashes;
# of the clients curl; of the stack a node that is killed, without a third one, the alert, a NATS server that is killed, and a
# node that leaves.
short: short-versions short-clients short-stack

short-versions:
	$(GOTEST) -tags=nextfold -short -timeout=5m -run='^($(VERSIONS))$$' $(call holding,$(VERSIONS))

short-clients:
	@$(call install,curl:curl)
	$(GOTEST) -tags=clients -timeout=5m -run='^($(CLIENTS))$$/^(curl)?$$' $(call holding,$(CLIENTS))

short-stack:
	@$(call install,haproxy:haproxy prometheus:prometheus promtool:prometheus wget:wget)
	cd $(STACK) && $(GOTEST) -tags=stack -short -timeout=5m -count=1 -run='^(TestStack|TestAlertsFire|TestPrometheusConfiguration)$$' .

# The change feed with clients that others wrote: curl, npm's eventsource and ws, Chromium's EventSource and WebSocket.
# It installs what is missing, on a Debian as root.
CLIENTS = TestClientsSurvive|TestCurlReadsEveryTransport
clients:
	@$(call install,curl:curl node:nodejs npm:npm chromium:chromium)
	npm ci --prefix tests/clients --no-audit --no-fund
	$(GOTEST) -tags=clients -timeout=15m -run='^($(CLIENTS))$$' -v $(call holding,$(CLIENTS))
	$(MAKE) generated

# The clients that openapi-typescript, hey-api and oapi-codegen make of openapi.json, and of it with the types of a model's documents: they compile, and lose
# nothing of a document against a server.
.PHONY: generated
generated: build
	@$(call install,node:nodejs npm:npm)
	npm ci --prefix tests/openapi --no-audit --no-fund
	npm run --prefix tests/openapi check
	npm run --prefix tests/openapi typed
	cd tests/openapi/goclient && go tool oapi-codegen -config oapi.yaml ../../../api/openapi.json
	cd tests/openapi/goclient/typed && go tool oapi-codegen -config oapi.yaml ../../made/typed.json
	cd tests/openapi/goclient && go test -count=1 ./...

# The client for JavaScript, against a real server: its types, its size, its samples and what breaks beneath it, under Node and in Chromium,
# and under Deno and Bun where they are installed. It installs what is missing, on a Debian as root. Where Node is older
# than 20, as Debian 12's is, it takes one from npm.
NODE = $(CURDIR)/bin/node/node_modules/.bin
js: build
	@$(call install,node:nodejs npm:npm chromium-headless-shell:chromium-headless-shell)
	@node -e 'process.exit(parseInt(process.versions.node) < 20)' || test -x $(NODE)/node || npm install --prefix bin/node --no-save --no-audit --no-fund node@22
	PATH="$(NODE):$$PATH" npm ci --prefix clients/js --no-audit --no-fund
	PATH="$(NODE):$$PATH" npm ci --prefix examples/react --no-audit --no-fund
	PATH="$(NODE):$$PATH" npm test --prefix clients/js

# The console in Chromium, against real nodes, and what it measures: its types, uses of the types that openapi.json gives, then the scenarios of tests/console. A proxy holds
# all that passes against /openapi.json. It installs what is missing, on a Debian as root. In CI a scenario that
# fails is run twice more, as any other test.
console:
	@$(call install,node:nodejs npm:npm chromium-headless-shell:chromium-headless-shell)
	npm ci --prefix tests/console --no-audit --no-fund
	cd tests/console && npx tsc -p . && npx tsc -p tsconfig.src.json && npm run formatted
	npm ci --prefix tests/openapi --no-audit --no-fund
	npm run --prefix tests/openapi check
	$(GOTEST:--=-subtests --) -tags=console -timeout=25m -count=1 -run='^TestConsole$$' -v ./tests/console

# Fetches what the console has of others, as console/vendor.json names it, and checks its integrity.
vendor:
	@$(call install,node:nodejs npm:npm)
	node tests/console/vendor.js

# The long form of what is never through, for as long as BUDGET says (make soak BUDGET=2h): random histories, crashes at
# random writes of the script in random orders, kills, losses of power, linearizability, damaged files, consumer groups under chaos, clusters under faults, and every fuzz test, each with a share of the
# time (tests/suite/soak.go). It prints how much it did of each. A random history that fails prints
# how to run it again; of the others the seed is in the name of the subtest.
SOAKED = TestRandomHistories|TestFoldedHistories|TestRandomFanouts|TestMatrix|TestLinearizable|TestRandomDamages|TestGroupUnderChaos|TestClusterFaults|TestClusterFaultsOfProcesses|TestSoakFuzz
soak:
	go test -p 1 -v -timeout 0 -run '^($(SOAKED))$$' $(call holding,$(SOAKED)) -soak $(BUDGET)

# A short run of each fuzz test (their seeds run with the other tests); longer: go test -fuzz FuzzToken -fuzztime 10m ./events
fuzz:
	go test -run '^$$' -fuzz '^FuzzToken$$' -fuzztime 5s -fuzzminimizetime 1s ./events
	go test -run '^$$' -fuzz '^FuzzEnvelope$$' -fuzztime 5s -fuzzminimizetime 1s ./events
	go test -run '^$$' -fuzz '^FuzzBlocks$$' -fuzztime 5s -fuzzminimizetime 1s ./events/embedded
	go test -run '^$$' -fuzz '^FuzzPatch$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/jsondoc
	go test -run '^$$' -fuzz '^FuzzTree$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/jsondoc
	go test -run '^$$' -fuzz '^FuzzParseKey$$' -fuzztime 5s -fuzzminimizetime 1s ./access
	go test -run '^$$' -fuzz '^FuzzPrincipal$$' -fuzztime 5s -fuzzminimizetime 1s ./access/tokens
	go test -run '^$$' -fuzz '^FuzzKeys$$' -fuzztime 5s -fuzzminimizetime 1s ./access/tokens
	go test -run '^$$' -fuzz '^FuzzETag$$' -fuzztime 5s -fuzzminimizetime 1s ./api
	go test -run '^$$' -fuzz '^FuzzCheckCollection$$' -fuzztime 5s -fuzzminimizetime 1s .
	go test -run '^$$' -fuzz '^FuzzModel$$' -fuzztime 5s -fuzzminimizetime 1s ./projector/fold
	go test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/decimal
	go test -run '^$$' -fuzz '^FuzzOrder$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/sortkey
	go test -run '^$$' -fuzz '^FuzzBytes$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/sortkey
	go test -run '^$$' -fuzz '^FuzzCompile$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/regex
	go test -run '^$$' -fuzz '^FuzzMeter$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/js/meter
	go test -run '^$$' -fuzz '^FuzzSource$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/js
	go test -run '^$$' -fuzz '^FuzzAnswer$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/js
	go test -run '^$$' -fuzz '^FuzzExpression$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/expr
	go test -run '^$$' -fuzz '^FuzzSchema$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/schema
	go test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime 5s -fuzzminimizetime 1s ./internal/modelfile

bench:
	go run ./cmd/fanfold-bench

# The files of a release under dist/ (deploy/release/build.sh): make release VERSION=v1.2.3, or SNAPSHOT=1 for what is there. Nothing is published.
# It installs the C compilers that are missing, on a Debian as root; go fetches its modules.
release:
	@$(call install,x86_64-linux-gnu-gcc:gcc aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc:libc6-dev-arm64-cross)
	deploy/release/build.sh $(if $(SNAPSHOT),--snapshot,$(VERSION))

# A snapshot's files: the deb in a fresh Debian, where the service's command runs as its user, and what the others have.
test-release:
	@$(call install,debootstrap:debootstrap rpm:rpm qemu-aarch64-static:qemu-user-static)
	$(MAKE) release SNAPSHOT=1
	cd $(STACK) && $(GOTEST) -tags=stack -timeout=15m -count=1 -v -run='^TestRelease$$' .

# What CI runs: formatting, vet, linters, every test, and every test under the race detector, where
# there are fewer random histories.
LINT = go tool -modfile=tools/go.mod golangci-lint

.PHONY: check build test lint race fuzz bench
check: lint test race

build:
	go build -o bin/fanfold ./cmd/fanfold

test:
	go test -timeout 30m ./...

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	$(LINT) run ./...

race:
	go test -race -timeout 40m ./...

# A short run of each fuzz test (their seeds run with the other tests); longer: go test -fuzz FuzzToken -fuzztime 10m ./events
fuzz:
	go test -run '^$$' -fuzz '^FuzzToken$$' -fuzztime 5s ./events
	go test -run '^$$' -fuzz '^FuzzEnvelope$$' -fuzztime 5s ./events
	go test -run '^$$' -fuzz '^FuzzPatch$$' -fuzztime 5s ./internal/jsondoc
	go test -run '^$$' -fuzz '^FuzzTree$$' -fuzztime 5s ./internal/jsondoc
	go test -run '^$$' -fuzz '^FuzzETag$$' -fuzztime 5s .
	go test -run '^$$' -fuzz '^FuzzModel$$' -fuzztime 5s ./projector/fold
	go test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime 5s ./internal/decimal
	go test -run '^$$' -fuzz '^FuzzFromKey$$' -fuzztime 5s ./internal/decimal

bench:
	go run ./cmd/fanfold bench

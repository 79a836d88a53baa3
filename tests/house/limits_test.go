package house_test

import (
	"os"
	"strings"
	"testing"
)

// limitTests has, for each row of docs/run/limits.md by its first cell, the tests that hold its bound.
var limitTests = map[string]string{
	"connections (`--max-connections`)":                    "TestConnectionsAreBounded",
	`request headers`:                                      "TestSlowHeaders",
	`headers and parameters`:                               "TestEmptyAndRepeated TestBadHeaders TestBadParameters TestSeveralOrigins",
	`requests on a connection after a chunked body`:        "TestLengthAndChunks",
	"names of a loopback node (`--host`)":                  "TestForeignPagesDoNotWrite TestAdvertisedHost TestBadOrigins",
	"origins of pages that write (`--cors-origin`)":        "TestForeignPagesDoNotWrite TestCrossSiteRequests TestCORS TestBadOrigins",
	"spans (`--trace-endpoint`)":                           "TestSpansAreBounded",
	"requests on a connection of HTTP/2":                   "TestStreamsAreBounded",
	"certificate and its key (`--tls-cert`, `--tls-key`)":  "TestTLS TestWrongCertificates TestCertificateIsReadAgain",
	"NKeys of clients of `--nats-listen` (`--nats-auth`)":  "TestWrongReaderFiles",
	"consumers of clients of `--nats-listen`":              "TestReadersConsumersAreBounded",
	"profiles (`--debug-listen`)":                          "TestProfiles",
	`speed of a body`:                                      "TestPace TestSilentBodyIsEnded TestCutBodyWritesNothing",
	`speed of a body while others wait for its room`:       "TestLateBodiesAreCutForOthers TestSlowBodiesYield",
	`bodies in memory`:                                     "TestManyLargeWrites TestSilentBodiesRefuseNobody TestLargeBodiesLeaveRoomForSmall",
	"body with `Content-Encoding: gzip`":                   "TestGzipBodies TestGzipBombs",
	"`Fanfold-Timeout`, `Fanfold-Min-Position`":            "TestMinPositionWaits TestBadHeaders",
	"`If-Match`, `If-None-Match`":                          "TestForeignTags TestBadHeaders",
	"`Fanfold-Dropped-Members`; `dropped` of an operation": "TestDroppedMembersAreTold",
	"`Idempotency-Key`":                                    "TestBadHeaders TestKeysAreKeptADay",
	"`maxLag`, `--max-lag`":                                "TestLagBounds TestConsistencyParameters TestBeyondMaxLag",
	"`fanfold status --ready`":                             "TestReadyCommand",
	`series of metrics`:                                    "TestHostileLabels",
	`requests for the metrics`:                             "TestScrapesAreBounded",
	"`X-Request-Id`":                                       "TestRequestIDs",
	`log lines of failed and slow requests (5 s)`:          "TestRequestLogIsBounded TestLongRequestsAreNotSlow",
	"SIGTERM: ending (`--shutdown-timeout`)":               "TestStopUnderLoad TestShutdownTimes",
	"SIGTERM: serving on before that (`--shutdown-delay`)": "TestShutdownTimes TestLeavingNode",
	`document`: "TestLimitsAreExact",
	"document as written, by `embedded.limit`": "TestAttackOnTheFold TestRandomHistories",
	`collections`: "TestClosedModel TestClosingUnderWrites",
	"names in a transaction (`as`); `refs` of an operation; a pointer": "TestBadNames",
	`nesting of documents, patches, transactions`:                      "TestLimitsAreExact",
	`id`:                                "TestRefusedIDs",
	`ids at one relation`:               "TestLimitsAreExact",
	`derived ids at one relation`:       "TestTooManyDerivedIDs",
	`unique value, or several together`: "TestUnique TestUniqueTogether",
	`strict references and unique values of one write`: "TestManyStrictReferences",
	`JSON Patch`: "TestBadPatches TestPatchWork",
	`work of a patch; of all in a transaction`: "TestPatchWork TestPatchesOfManyValues",
	`transaction`: "TestTransactionLimits",
	"derived changes of a write (`fanout.limit`, `allowFanout=true`)": "TestFanoutIsTold",
	`documents that a delete writes in one step`:                      "TestDeleteInSteps TestDeleteOfLongChains TestDeleteWalkIsBounded",
	`look ahead of a delete in steps`:                                 "TestDeleteWalkIsBounded TestStepsFindWhatRestricts",
	`dry run of a write`:                                              "TestDryRunBesideWrites",
	`import`:                                                          "TestImportOfLargeLines TestImportNeedsLittleMemory TestSilentImportsYield",
	`line of an import`:                                               "TestLongImportLinesTakeLittleMemory",
	`time to a whole line of an import`:                               "TestImportWithoutLinesIsEnded",
	`import, while others wait for its place`:                         "TestSilentImportsYield",
	"embedded document (`embedded.limit`)":                            "TestAttackOnTheFold TestRandomHistories",
	`value of an expression`:                                          "TestCostLimit",
	`evaluation of an expression`:                                     "TestEvaluationIsBounded TestCost TestExpressionsThatGrow",
	`number in a sum, minimum, maximum, mean`:                         "TestText",
	"`ids` (`limit`)":                                                 "TestRandomHistories",
	"text of `orderBy`":                                               "TestOrderByTellsAllValuesApart",
	"`recent` (`max`), `pages` (`size`)":                              "TestParseListsMistakes",
	`memory of folding an event`:                                      "TestAttackOnTheFold",
	`model`:                                                           "TestHostileModels",
	`YAML`:                                                            "TestHostileModels",
	`collections, rules; relations; unique members; released paths; fields of a rule`: "TestModelSizes",
	`unique together; such an entry`:                        "TestModelSizes",
	`chain of rules that read each other`:                   "TestLevels",
	`relation's name; path`:                                 "TestModelSizes",
	`differences in a preview; removals in an error`:        "TestManyDifferences",
	"rules without a value in `_status`; logged":            "TestManyRulesWithoutValue",
	"version of the fold (`_fold`)":                         "TestFoldVersionRequests TestUpgradeAsksAllNodes",
	`paths reserved by removed rules`:                       "TestReservedPathsAreBounded",
	"removed rules of an import (`retired`); a path of one": "TestRetiredRulesOfImports",
	`expression`:                                  "TestCheckBounds TestExpressionBounds",
	`all expressions of a model`:                  "TestExpressionBounds",
	`regular expression: RE2`:                     "TestCompile",
	`JSON Schema; all of a model`:                 "TestCheckNewBounds TestModelSizes",
	`patterns of a schema`:                        "TestCheckNewBounds",
	`check of a document against its schema`:      "TestWorkIsBounded TestOrdinaryDocumentsHaveRoom",
	`mistakes that are told`:                      "TestModelSizes TestWorkIsBounded",
	`models being checked; previews`:              "TestModelChecksEndWithTheirClients TestFewAtATime",
	`time of a preview while its client waits`:    "TestPreviewTakesLong",
	"`Prefer: wait`":                              "TestVerifyInBackground",
	`results of work in the background`:           "TestVerifyInBackground",
	"answers being sent (`--max-sending`)":        "TestSlowReaders TestLeases TestSmallBesideLarge",
	"the read model's file in memory (`--cache`)": "TestCacheIsBounded",
	`one answer`:                                  "TestExpandIsBounded",
	"page of a list (`limit`)":                    "TestListPages TestExpandIsBounded",
	"documents by their ids (`ids`, `id`)":        "TestSeveral TestSeveralIsBounded",
	"collections in a page of `GET /v1`":          "TestCollections",
	"`expand`":                                    "TestExpandIsBounded TestExpand",
	`cursor`:                                      "TestCursors",
	`lineage`:                                     "TestLineageIsBounded TestWorkOfLineage TestLineageLooksForSoManyIDs",
	`reading an answer`:                           "TestClientThatDoesNotRead",
	`exports`:                                     "TestFewAtATime TestExportLetsGoOfItsSnapshot",
	`feed: page`:                                  "TestSlowReaders",
	`feed: filter`:                                "TestFilter TestBadSelections TestHeartbeatsWhileFiltering TestLargeDocumentsLeave",
	`feed: partitions`:                            "TestBadSelections",
	`feed: pieces shared by consumers that have caught up`:   "TestFallsBehindAndCatchesUp TestConsumersComeAndGo",
	`feed: memory of a consumer`:                             "TestSlowReaders TestConsumersComeAndGo",
	`feed: a consumer that does not read`:                    "TestSlowAreEnded",
	`WebSocket: messages from a client`:                      "TestWebSocketTakesNothing",
	`WebSocket: answer to a ping`:                            "TestClientThatDoesNotAnswerPings",
	"`_verify`":                                              "TestFewAtATime TestLargeDocumentsInConstantMemory",
	"wrong values that `_verify` lists":                      "TestVerifyFindsPlantedValues",
	"`filter`; expressions in `sort`, `group` and `compute`": "TestBadQueries TestHostileQueries",
	"entries of `sort`; `group`; `compute`; `fields`":        "TestBadQueries TestFields TestHostileQueries",
	"`params`":          "TestBadQueries",
	`body of a query`:   "TestBadQueryBodies",
	`cursor of a query`: "TestQueryCursors TestCursorRefusals",
	"documents that a query looks at (`maxScan`)":                                 "TestQueryNeedsIndex TestSuggestions",
	`entries that a query looks at; its time`:                                     "TestQueryBounds TestWorkIsBounded",
	`work of a query's expressions`:                                               "TestQueryBounds TestWorkIsBounded",
	`memory of a sort or a grouping; groups`:                                      "TestQueryBounds TestWorkIsBounded",
	`queries that look at more than 1,000 documents, or work for more than 50 ms`: "TestFewAtATime TestFifthLargeQueryWaits TestLargeQueriesAgree TestFewSlowDocuments",
	`planning of a query`:                                                         "TestPlanningIsBounded",
	"shapes of queries in `_status`":                                              "TestShapesAreBounded",
	"ids of `GetSeveral`":                                                         "TestGetSeveral",
	"an answer; a change (`MaxAnswer`)":                                           "TestBounds TestBrokenFeeds",
	`a problem; a line of an import's answer`:                                     "TestWhatIsSentAgain TestImportAndExport",
	"time of an answer (`Attempt`)":                                               "TestBounds",
	"trying again (`RetryFor`)":                                                   "TestRestart",
	"a batch of a `Consumer`":                                                     "TestConsumerBatches",
	"handlers of a `Consumer` (`Concurrency`)":                                    "TestConsumers",
	"a handler once the consumer stops (`Grace`)":                                 "TestConsumerStops",
	`a silent connection of the feed`:                                             "TestSilentConnection",
	"`--server`":                                                                  "TestWrongUsage",
	"mapping of an import; model; `--config`":                                     "TestImportReportsMappingErrors TestFilesAreBounded",
	"body of `put` and `patch`":                                                   "TestBadWrites",
	"line of `changes` for people":                                                "TestChangeLine",
	"`export --collections`":                                                      "TestExportOfUnknownCollections",
	"`list --limit`":                                                              "TestListCommand",
	"refused lines that an import prints (`--refusals`); kinds":                   "TestImportPrintsFewRefusals",
	`an import's wait for the fold, before it goes on`:                            "TestImportWaitsForASlowFold",
	`an import's wait until it is shown`:                                          "TestImportThatIsNotFoldedInTime",
	`groups`:                                                                      "TestGroupCounts",
	`group's name; member's name`:                                                 "TestGroupRefusals",
	"partitions of a group (`partitions`)":                                        "TestGroupRefusals TestGroupCounts",
	`members of a group`:                                                          "TestGroupCounts",
	`collections in the settings; filter`:                                         "TestGroupRefusals",
	"lease (`lease`)":                                                             "TestGroupRefusals",
	"attempts (`maxAttempts`)":                                                    "TestGroupRefusals",
	"role (`role`)":                                                               "TestGroupsByRights",
	`body of a request about groups`:                                              "TestGroupRefusals",
	`error of a failed batch`:                                                     "TestErrorsAreCut",
	`back-off of such a batch`:                                                    "TestBackOff",
	`parked batches`:                                                              "TestParkingIsBounded",
	`position to acknowledge or begin at`:                                         "TestGroupRefusals",
	`counting a lag`:                                                              "TestLagIsBounded TestGroupSelects",
	`open answer after a lost lease`:                                              "TestGroupStream",
	"keys":                                                                        "TestManyKeys",
	"key's name; its roles; a role":                                               "TestBoundsOfKeys TestBadRequestsAboutKeys",
	"end of a key (`expires`)":                                                    "TestBoundsOfKeys TestBadRequestsAboutKeys",
	"`overlap` of a rotation":                                                     "TestBoundsOfKeys TestBadRequestsAboutKeys",
	"body of a request about keys":                                                "TestBadRequestsAboutKeys",
	"`Authorization`":                                                             "TestCredentials TestOpenAPIDescribesEveryAnswer",
	"indexes: of a model; of a collection; components; name":                      "TestIndexMistakes",
	"entries of a document in an index":                                           "TestIndexOverflow",
	"text in an index":                                                            "TestIndexKeys",
	"keys that a node has read (`--max-auth-age`)":                                "TestMaxAuthAge TestMaxAge TestRightsStale",
	"a change of a key, until other nodes know of it":                             "TestOtherNodesLearn TestKeysOnManyNodes",
	"file with a key (`--admin-key-file`, `--key-file`)":                          "TestAdminFile TestKeyFiles",
	"key of the Go client (`Options.Key`)":                                        "TestKeyIsNotPrinted",
	"URLs of NATS servers (`--nats`)":                                             "TestCredentialsThatCannotBe",
	`password, token and NKey files; credentials; certificates`:                   "TestCredentialsThatCannotBe",
	`connecting to NATS at the start; again later`:                                "TestServersThatWantCredentials TestReconnectDelay TestConnectionComesBack",
	`NATS servers without a leader`:                                               "TestServersWithoutALeader TestServerThatHasJustStarted",
	`events that an import stores at once`:                                        "TestLargeBatches TestSizesOfImportBatches TestGuardedBatchesStaySmall",
	`events of an import that are not folded yet`:                                 "TestImportWaitsForASlowFold",
	`silent NATS server`:                                                          "TestOtherServersOfTheList",
	"replicas of the log (`--replicas`, `PUT /v1/_replicas`)":                     "TestReplicasChange TestReplicasByThemselves TestOpenAPIDescribesEveryAnswer",
	"snapshots (`POST /v1/_snapshot`, `--snapshot-every`)":                        "TestSnapshots TestSnapshotsByThemselves",
	`sending or reading a snapshot`:                                               "TestSnapshots",
	`snapshot that a new node reads`:                                              "TestSnapshotsThatAreNotUsed TestUnreadableSnapshotIsSkipped",
	`event in the log`:                                                            "TestDecodeRefuses TestUnreadableEvent",
	`event`:                                                                       "TestLimitsAreExact",
	`cut of a broken end at the start`:                                            "TestCutTail TestCutTailLeavesDamage TestPowerLoss",
	`sequences in the log's files at the start`:                                   "TestFlippedRecordHeaders TestCheckBlocks TestLargeStreamsAreSampled",
	`reading the log at the start`:                                                "TestFlippedByte",
	`nodes`:                                                                       "TestTooManyNodes",
	`entry of a node`:                                                             "TestEntriesOfOthers",
	`entry that does not change`:                                                  "TestHoldRequestWithFrozenNode TestLeaving",
	`lease without a heartbeat`:                                                   "TestLease",
	`writes held for a model with new guards`:                                     "TestHoldRequestWithFrozenNode TestModelWaitsForFrozenNode",
	"file `node-id`; `--advertise`":                                               "TestNodeIDAndAddress",
}

// TestLimits: each row of docs/run/limits.md has tests that hold its bound, and these tests are there.
func TestLimits(t *testing.T) {
	text, err := os.ReadFile("../../docs/run/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, rows := testsOfTheHouse(t), map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[1]) == "Input" {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if rows[name] {
			t.Errorf("two rows are %q", name)
		}
		rows[name] = true
		if limitTests[name] == "" {
			t.Errorf("the row %q has no test in limitTests", name)
		}
	}
	for name, names := range limitTests {
		if !rows[name] {
			t.Errorf("limitTests has %q, and docs/run/limits.md does not", name)
		}
		for test := range strings.FieldsSeq(names) {
			if !tests[test] {
				t.Errorf("%q: there is no %s", name, test)
			}
		}
	}
}

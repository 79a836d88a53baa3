package house_test

import (
	"go/constant"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// limitTests has, for each row of limitFiles by its first cell, the tests that hold its bound.
var limitTests = map[string]string{
	"`/openapi.json?model=true`: at a time; types; text":             "TestOneDescriptionAtATime TestTypesAreBounded TestLargest",
	"`_suggest-model`: at a time; documents; text":                   "TestSuggestModel TestSuggestionsAreBounded TestSampleHasBounds TestGuessEnds",
	"`_import?from=`, `_drift`: a document; its levels":              "TestBoundsOfAnExport",
	"the same, compressed":                                           "TestBoundsOfAnExport",
	"the same: all below a document of Firestore's":                  "TestWorkOfAFewBytes",
	"`rename`, `drop`; a name in a parameter":                        "TestBoundsOfAnExport",
	"refused lines and ids that a report tells":                      "TestBoundsOfAnExport TestIDs",
	"`_drift`: a document as shown; shown at a time":                 "TestBoundsOfADrift",
	"drift report: examples of a rule; their values":                 "TestExamplesAreBounded",
	"`export --sqlite`":                                              "TestBounds TestNames TestMemory",
	"groups of a key without `admin`":                                "TestGroupsAreCountedByMaker",
	"`fanfold fn`: a file or arguments; tests of a file; their time": "TestFnTestRefuses TestFnCommands TestSuiteEnds",
	"connections (`--max-connections`)":                              "TestConnectionsAreBounded TestIdleStrangersMakeRoom",
	"request headers":                                                "TestSlowHeaders",
	"headers and parameters":                                         "TestEmptyAndRepeated TestBadHeaders TestBadParameters TestSeveralOrigins",
	"requests after a chunked body":                                  "TestLengthAndChunks",
	"names of a loopback node (`--host`)":                            "TestForeignPagesDoNotWrite TestAdvertisedHost TestBadOrigins",
	"origins of pages that write (`--cors-origin`)":                  "TestForeignPagesDoNotWrite TestCrossSiteRequests TestCORS TestBadOrigins",
	"path before the API (`--base-path`)":                            "TestBasePath TestBadBasePaths",
	"spans (`--trace-endpoint`)":                                     "TestSpansAreBounded",
	"requests on an HTTP/2 connection":                               "TestStreamsAreBounded",
	"certificate and key (`--tls-cert`, `--tls-key`)":                "TestTLS TestWrongCertificates TestCertificateIsReadAgain",
	"NKeys (`--nats-auth`)":                                          "TestWrongReaderFiles",
	"consumers of `--nats-listen`":                                   "TestReadersConsumersAreBounded",
	"profiles (`--debug-listen`)":                                    "TestProfiles",
	"speed of a body":                                                "TestPace TestSilentBodyIsEnded TestCutBodyWritesNothing",
	"time of a body or an import's line":                             "TestPace TestLinesHaveTheirTime",
	"the same while others wait":                                     "TestLateBodiesAreCutForOthers TestSlowBodiesYield",
	"bodies in memory":                                               "TestManyLargeWrites TestSilentBodiesRefuseNobody TestLargeBodiesLeaveRoomForSmall TestBoundsFollowTheMemory",
	"body with `Content-Encoding: gzip`":                             "TestGzipBodies TestGzipBombs",
	"one key's places while others wait":                             "TestSharesOfSlots TestWaitersAreServedByShares TestImportsShareTheirPlaces",
	"`Fanfold-Timeout`, `Fanfold-Min-Position`":                      "TestMinPositionWaits TestBadHeaders",
	"`If-Match`, `If-None-Match`":                                    "TestForeignTags TestBadHeaders",
	"update by query":                                                "TestFewUpdatesAtATime TestUpdateByQuery TestUpdateStepsByBytes",
	"dry run of an update by query":                                  "TestUpdateDryRun",
	"ids of an update by query":                                      "TestPassKeepsTheLeastIDs",
	"text of a problem; `Fanfold-Unknown-Collections`":               "TestProblemsAreShort",
	"`Fanfold-Dropped-Members`; `dropped`":                           "TestDroppedMembersAreTold",
	"`Idempotency-Key`":                                              "TestBadHeaders TestKeysAreKeptADay",
	"`maxLag`, `--max-lag`":                                          "TestLagBounds TestConsistencyParameters TestBeyondMaxLag",
	"`fanfold status --ready`":                                       "TestReadyCommand",
	"series of metrics":                                              "TestHostileLabels",
	"requests for metrics":                                           "TestScrapesAreBounded",
	"`X-Request-Id`":                                                 "TestRequestIDs",
	"logged failed and slow requests (5 s)":                          "TestRequestLogIsBounded TestLongRequestsAreNotSlow",
	"SIGTERM: `--shutdown-timeout`":                                  "TestStopUnderLoad TestShutdownTimes",
	"SIGTERM: `--shutdown-delay`":                                    "TestShutdownTimes TestLeavingNode",
	"document":                                                       "TestLimitsAreExact",
	"document as written (`embedded.limit`)":                         "TestAttackOnTheFold TestRandomHistories",
	"collections":                                                    "TestClosedModel TestClosingUnderWrites",
	"`as`; `refs`; pointer":                                          "TestBadNames",
	"number in a document":                                           "TestNumbersBeyondAreRefused",
	"nesting":                                                        "TestLimitsAreExact",
	"id":                                                             "TestRefusedIDs",
	"ids at a relation":                                              "TestLimitsAreExact",
	"derived ids at a relation":                                      "TestTooManyDerivedIDs",
	"`per` of a sequence; its number":                                "TestSequences TestLastNumber",
	"sequences of a collection; format; its digits":                  "TestSequenceBounds TestNoFormats",
	"unique value":                                                   "TestUnique TestUniqueTogether",
	"strict references and unique values of a write":                 "TestManyStrictReferences",
	"documents that checks look at and a write changes":              "TestChecksOfManyDocuments",
	"rehearsal of a write for checks":                                "TestLargeRehearsals",
	"rules on the documents that a request names":                    "TestRulesCostTogether",
	"page of a state before, under a rule":                           "TestLongPastUnderRules",
	"rehearsals of writes for rules":                                 "TestRehearsalsForRules TestFewAreForeseen",
	"gates that a node remembers":                                    "TestKnownGatesAreBounded",
	"checks of a collection; message":                                "TestCheckSizes",
	"functions; name; source; all sources":                           "TestFunctionSizes TestFunctionMistakes TestLargeFunctions",
	"JSON Patch":                                                     "TestBadPatches TestPatchWork",
	"work of a patch; of a transaction's":                            "TestPatchWork TestPatchesOfManyValues",
	"transaction":                                                    "TestTransactionLimits",
	"derived changes (`fanout.limit`, `allowFanout=true`)":           "TestFanoutIsTold",
	"delete in one step":                                             "TestDeleteInSteps TestDeleteOfLongChains TestDeleteWalkIsBounded",
	"delete in steps":                                                "TestDeleteWalkIsBounded TestStepsFindWhatRestricts",
	"`examples` of a dry run":                                        "TestBoundsOfExamples",
	"dry run":                                                        "TestDryRunBesideWrites",
	"import":                                                         "TestImportOfLargeLines TestImportNeedsLittleMemory TestSilentImportsYield",
	"line of an import":                                              "TestLongImportLinesTakeLittleMemory",
	"time to a whole line":                                           "TestImportWithoutLinesIsEnded",
	"import while others wait":                                       "TestSilentImportsYield",
	"embedded document (`embedded.limit`)":                           "TestAttackOnTheFold TestRandomHistories",
	"value of an expression":                                         "TestCostLimit",
	"work of an expression; over elements, for each":                 "TestBounds TestEvaluationIsBounded TestCost TestExpressionsThatGrow",
	"number in a sum, minimum, maximum, mean":                        "TestText",
	"number that an expression computes":                             "TestScaled TestArithmeticIsBounded",
	"`ids` (`limit`)":                                                "TestFoldedHistories TestRandomHistories",
	"text of `orderBy`":                                              "TestOrderByTellsAllValuesApart",
	"`recent` (`max`), `pages` (`size`)":                             "TestParseListsMistakes",
	"memory of an event":                                             "TestAttackOnTheFold",
	"model":                                                          "TestHostileModels TestLargeFunctions",
	"YAML":                                                           "TestHostileModels",
	"collections, rules; relations; unique; released paths; fields of a rule": "TestModelSizes",
	"`if` of a write; of a transaction; work of them":                         "TestIf TestIfInTransactions TestConditionsCost",
	"defaults of a collection; bytes of their values":                         "TestDefaults",
	"unique together; entry":                                                  "TestModelSizes",
	"rules over elements of arrays, of a collection":                          "TestModelSizes",
	"elements of a document that a rule goes through":                         "TestBounds",
	"chain of rules": "TestLevels",
	"flows between collections; told in a refusal":     "TestFlowsAreBounded TestProblemsAreBounded",
	"former models that stay compiled; text":           "TestFormerPlansAreBounded",
	"links that `_model/_targets` looks at":            "TestLargestTargetIsBounded",
	"relation's name; path":                            "TestModelSizes",
	"differences in a preview; removals in an error":   "TestManyDifferences",
	"fold version (`_fold`)":                           "TestFoldVersionRequests TestUpgradeAsksAllNodes",
	"paths reserved by removed rules":                  "TestReservedPathsAreBounded",
	"`retired` of an import; path":                     "TestRetiredRulesOfImports",
	"expression":                                       "TestCheckBounds TestExpressionBounds",
	"a model's expressions":                            "TestExpressionBounds",
	"regular expression (RE2)":                         "TestCompile",
	"JSON Schema; a model's":                           "TestCheckNewBounds TestModelSizes",
	"patterns of a schema":                             "TestCheckNewBounds",
	"checking a document":                              "TestWorkIsBounded TestOrdinaryDocumentsHaveRoom",
	"mistakes told":                                    "TestModelSizes TestWorkIsBounded",
	"models being checked; previews":                   "TestModelChecksEndWithTheirClients TestFewAtATime",
	"time of a preview":                                "TestPreviewTakesLong",
	"`Prefer: wait`":                                   "TestVerifyInBackground",
	"results of background work":                       "TestVerifyInBackground",
	"answers being sent (`--max-sending`)":             "TestSlowReaders TestLeases TestSmallBesideLarge",
	"read model in memory (`--cache`)":                 "TestCacheIsBounded",
	"answer":                                           "TestExpandIsBounded",
	"page of a list (`limit`)":                         "TestListPages TestExpandIsBounded",
	"`at`, `from`, `to`":                               "TestBadMoments TestMomentsOf255Bytes",
	"page of `_history`":                               "TestHistoryPagesAreBounded TestBadMoments",
	"patch of a version or difference":                 "TestDiffIsBounded",
	"the same, as sent":                                "TestVersionsOfLargeViews TestDifferenceOfLargeViews",
	"a document's two states (`_diff`)":                "TestDifferenceOfLargeViews",
	"changes of a `_diff`":                             "TestDifferencesAreBounded",
	"page of `_diff`":                                  "TestDiff TestPagesOfDifferences",
	"keys kept for `_diff`":                            "TestFoundKeys TestFewFounds TestPagesOfDifferencesLookOnce",
	"page of a list (`at`)":                            "TestPastPagesAreBounded TestPastChildrenAreBounded",
	"page of an export (`at`)":                         "TestPastExportIsBounded",
	"documents by ids (`ids`, `id`)":                   "TestSeveral TestSeveralIsBounded",
	"collections in a page":                            "TestCollections",
	"`expand`":                                         "TestExpandIsBounded TestExpand",
	"cursor":                                           "TestCursors",
	"lineage":                                          "TestLineageIsBounded TestWorkOfLineage TestLineageLooksForSoManyIDs",
	"reading an answer":                                "TestClientThatDoesNotRead",
	"backup: a segment":                                "TestSegmentsAreBounded",
	"backup: what is read":                             "TestReadersAreBounded",
	"restore: under way":                               "TestRestoreIsBounded",
	"restore: a message on servers":                    "TestRestoreOnSmallServers",
	"restore: `Fanfold-Time`":                          "TestTimes",
	"predecessors of a store":                          "TestOrigin",
	"backup: reading it":                               "TestBackupsEndWithTheirClients TestPace",
	"exports, `_diff` and `_backup` together":          "TestFewAtATime TestFewBackups TestDifferencesAreBounded TestExportLetsGoOfItsSnapshot",
	"feed: page":                                       "TestSlowReaders",
	"feed: pages for consumers 256 events late":        "TestPagesAreShared TestLanesHoldUpNoRead",
	"pages of differences, exports, histories at once": "TestLanesHoldUpNoRead",
	"feed: changes looked at without a row":            "TestWorkOfAnAnswer TestWorkOfAGroupsAnswer",
	"feed: filter":                                     "TestFilter TestBadSelections TestHeartbeatsWhileFiltering TestLargeDocumentsLeave",
	"feed: partitions":                                 "TestBadSelections",
	"feed: pieces shared":                              "TestFallsBehindAndCatchesUp TestConsumersComeAndGo",
	"feed: memory of a consumer":                       "TestSlowReaders TestConsumersComeAndGo",
	"feed: a consumer that reads nothing":              "TestSlowAreEnded",
	"WebSocket: a client's messages":                   "TestWebSocketTakesNothing",
	"WebSocket: answer to a ping":                      "TestClientThatDoesNotAnswerPings",
	"`_verify`":                                        "TestFewAtATime TestLargeDocumentsInConstantMemory",
	"wrong values listed":                              "TestVerifyFindsPlantedValues",
	"expressions of a query":                           "TestBadQueries TestHostileQueries",
	"`sort`; `group`; `compute`; `fields`":             "TestBadQueries TestFields TestHostileQueries",
	"`params`":                                         "TestBadQueries",
	"body of a query":                                  "TestBadQueryBodies",
	"cursor of a query":                                "TestQueryCursors TestCursorRefusals",
	"documents looked at (`maxScan`)":                  "TestQueryNeedsIndex TestSuggestions",
	"entries looked at; time":                          "TestQueryBounds TestWorkIsBounded",
	"work of expressions":                              "TestQueryBounds TestWorkIsBounded",
	"sort or grouping; groups":                         "TestQueryBounds TestWorkIsBounded",
	"queries of over 1,000 documents or 50 ms":         "TestFewAtATime TestFifthLargeQueryWaits TestLargeQueriesAgree TestFewSlowDocuments",
	"planning":                                         "TestPlanningIsBounded",
	"`needs` in `_status`":                             "TestNeeds",
	"shapes in `_status`":                              "TestShapesAreBounded",
	"ids of `GetSeveral`":                              "TestGetSeveral",
	"answer; change (`MaxAnswer`)":                     "TestBounds TestBrokenFeeds",
	"problem; line of an import's answer":              "TestWhatIsSentAgain TestImportAndExport",
	"time of an answer (`Attempt`)":                    "TestBounds",
	"`RetryFor`":                                       "TestRestart",
	"batch of a `Consumer`":                            "TestConsumerBatches",
	"handlers (`Concurrency`)":                         "TestConsumers",
	"a stopping handler (`Grace`)":                     "TestConsumerStops",
	"silent feed":                                      "TestSilentConnection",
	"`--server`":                                       "TestWrongUsage",
	"row of CSV":                                       "TestImportOfCSVForms",
	"document of an `import`; its levels; files of a directory": "TestBoundsOfADocument TestDirectory",
	"mapping; model; `--config`":                                "TestImportReportsMappingErrors TestFilesAreBounded",
	"body of `put`, `patch`":                                    "TestBadWrites",
	"line of `changes`":                                         "TestChangeLine",
	"`export --collections`":                                    "TestExportOfUnknownCollections",
	"`list --limit`":                                            "TestListCommand",
	"printed refusals (`--refusals`); kinds":                    "TestImportPrintsFewRefusals",
	"import's wait for the fold":                                "TestImportWaitsForASlowFold",
	"import's wait until shown":                                 "TestImportThatIsNotFoldedInTime",
	"groups":                                                    "TestGroupCounts",
	"group's name; member's":                                    "TestGroupRefusals",
	"`partitions`":                                              "TestGroupRefusals TestGroupCounts",
	"members":                                                   "TestGroupCounts",
	"collections of a group":                                    "TestGroupRefusals",
	"groups with `push`":                                        "TestPushIsBounded TestBadPush",
	"`url`; `secret`; `headers` of `push`":                      "TestBadPush",
	"a post's time; its answer":                                 "TestWebhookFails",
	"posts at a time: a node's; one group's":                    "TestPostsAreBounded",
	"a node's looks for what to post":                           "TestLooksAreBounded",
	"changes in a post":                                         "TestBatchesAreBounded",
	"networks of `--webhook-allow`":                             "TestFlagsWithWrongValues TestNetworks",
	"`lease`":                                                   "TestGroupRefusals",
	"`maxAttempts`":                                             "TestGroupRefusals",
	"`role`":                                                    "TestGroupsByRights",
	"body about groups":                                         "TestGroupRefusals",
	"error of a batch":                                          "TestErrorsAreCut",
	"its back-off":                                              "TestBackOff",
	"parked batches":                                            "TestParkingIsBounded",
	"position of a group":                                       "TestGroupRefusals",
	"counting a lag":                                            "TestLagIsBounded TestGroupSelects TestLagOfFilteredGroup",
	"answer after a lost lease":                                 "TestGroupStream",
	"keys":                                                      "TestManyKeys",
	"key's name; roles; a role":                                 "TestBoundsOfKeys TestBadRequestsAboutKeys",
	"`where` of an access":                                      "TestAccessMistakes",
	"key's `sub`; `claims`":                                     "TestBoundsOfSubjects TestBadRequestsAboutKeys TestSubjectsOverHTTP",
	"`expires`":                                                 "TestBoundsOfKeys TestBadRequestsAboutKeys",
	"a token; its `sub`; its claims; its life":                  "TestBadTokens",
	"roles of a token; names of roles in it":                    "TestManyRoles",
	"answer of an issuer; its keys; between two fetches":                         "TestIssuersThatLeadElsewhere TestBadTokens",
	"subjects whose tokens are revoked":                                          "TestManyRevocations",
	"names of actors that begin with the same digits":                            "TestManyActors",
	"a ticket's `path`; `ttl`, of one for a backup; the holder of a token in it": "TestTicketsAreRefused TestTickets TestTicketsForBackups",
	"`overlap`":       "TestBoundsOfKeys TestBadRequestsAboutKeys",
	"body about keys": "TestBadRequestsAboutKeys",
	"`Authorization`": "TestCredentials TestOpenAPIDescribesEveryAnswer",
	"`Authorization` headers whose holder a node remembers; bytes of one": "TestAdmittedIsBounded",
	"indexes; of a collection; components; name":                          "TestIndexMistakes",
	"entries of a document in an index":                                   "TestIndexOverflow",
	"text in an index":                                                    "TestIndexKeys",
	"age of keys (`--max-auth-age`)":                                      "TestMaxAuthAge TestMaxAge TestRightsStale",
	"changed key, on other nodes":                                         "TestOtherNodesLearn TestKeysOnManyNodes",
	"`--admin-key-file`, `--key-file`":                                    "TestAdminFile TestKeyFiles",
	"`Options.Key`":                                                       "TestKeyIsNotPrinted",
	"`--nats`":                                                            "TestCredentialsThatCannotBe",
	"passwords, tokens, NKeys; credentials; certificates":                 "TestCredentialsThatCannotBe",
	"connecting to NATS":                                                  "TestServersThatWantCredentials TestReconnectDelay TestConnectionComesBack",
	"NATS without a leader":                                               "TestServersWithoutALeader TestServerThatHasJustStarted",
	"events stored at once":                                               "TestLargeBatches TestSizesOfImportBatches TestGuardedBatches TestGuardedBatchesBesideOthers",
	"writes on the way to an embedded log":                                "TestBatchRoom",
	"`call` events: a result; a function's name":                          "TestEventAt",
	"`erase` events":                                                      "TestErasureBounds",
	"imported events not folded":                                          "TestImportWaitsForASlowFold",
	"silent NATS server":                                                  "TestOtherServersOfTheList",
	"`--replicas`, `PUT /v1/_replicas`":                                   "TestReplicasChange TestReplicasByThemselves TestOpenAPIDescribesEveryAnswer",
	"`POST /v1/_replay`":                                                  "TestReplayCheckByHTTP",
	"`POST /v1/_compact`":                                                 "TestOpenAPIDescribesEveryAnswer TestCompactRequests",
	"`POST /v1/_erase`":                                                   "TestEraseRequests TestOpenAPIDescribesEveryAnswer",
	"`members` of an erasure":                                             "TestEraseRequests",
	"erasures that wait":                                                  "TestEraseRequests",
	"`erased` events":                                                     "TestErasedEvents",
	"`GET /v1/_erasures`":                                                 "TestErasureLists",
	"`restore --erasures`":                                                "TestReadErasures",
	"`erase --file`":                                                      "TestEraseUsage",
	"`POST /v1/_find`":                                                    "TestFindRequests",
	"`--retain`":                                                          "TestRetainFlag",
	"`--to`; `readmodel.json`":                                            "TestReplayFlags TestReplayToRefusesOtherDirectories",
	"`POST /v1/_snapshot`, `--snapshot-every`":                            "TestSnapshots TestSnapshotsByThemselves",
	"sending a snapshot":                                                  "TestSnapshots",
	"base of a horizon":                                                   "TestBoundsOfFiles TestWideWindow TestDamagedFiles",
	"sending a base":                                                      "TestBases TestBasesAreDurable",
	"nodes that a purge waits for":                                        "TestPurgeWaitsForLiveNodes",
	"snapshot for a new node":                                             "TestSnapshotsThatAreNotUsed TestUnreadableSnapshotIsSkipped",
	"form of an event":                                                    "TestDecodeRefuses TestUnreadableEvent",
	"event":                                                               "TestLimitsAreExact",
	"cut of a broken end":                                                 "TestCutTail TestCutTailLeavesDamage TestMatrix",
	"sequences at the start":                                              "TestFlippedRecordHeaders TestCheckBlocks TestLargeStreamsAreSampled",
	"reading the log at the start":                                        "TestFlippedByte",
	"readings of a tab":                                                   "TestConsole",
	`rows of "Changes"`:                                                   "TestConsole",
	`rows of "Changes seen"`:                                              "TestConsole",
	"row of the feed":                                                     "TestConsole",
	`lines of "Arrival"`:                                                  "TestConsole",
	"feeds of a tab":                                                      "TestConsole",
	"silence of a feed":                                                   "TestConsole",
	"tree of a document; nesting":                                         "TestConsole",
	"rows of a document; cell":                                            "TestConsole",
	"document that is edited":                                             "TestConsole",
	"graph of the model; rules":                                           "TestConsole",
	"suggestion in a place":                                               "TestConsole",
	"columns of a table":                                                  "TestConsole",
	"rows of a list; pages held beside those seen":                        "TestConsole",
	"recent queries; saved; address; name":                                "TestConsole",
	"members that a filter completes; values of one":                      "TestConsole",
	"CSV in the console: file, unpacked; row; columns; path; ids that are compared": "TestConsole",
	"file of a list":             "TestConsole",
	"rows of a list on paper":    "TestConsole",
	"documents chosen in a list": "TestConsole",
	"documents that a delete of many makes step by step; refusals that it shows": "TestConsole",
	"collections of the sidebar": "TestConsole",
	"places of a kind by Ctrl+K; documents of a collection; collections looked in": "TestConsole",
	"texts of a first document that are looked up; collections":                    "TestConsole",
	"nodes":                            "TestTooManyNodes",
	"entry of a node":                  "TestEntriesOfOthers",
	"unchanged entry":                  "TestHoldRequestWithFrozenNode TestLeaving",
	"lease without a heartbeat":        "TestLease",
	"writes held for a model's guards": "TestHoldRequestWithFrozenNode TestModelWaitsForFrozenNode",
	"`node-id`; `--advertise`":         "TestNodeIDAndAddress",

	"bytes of a document's entries through arrays":        "TestIndexBytes",
	"components of a collection's indexes through arrays": "TestIndexMistakes",

	"result under an `Idempotency-Key`":                                        "TestCallUnderAKey",
	"documents that a run reads; bytes; queries":                               "TestReadsAreBounded",
	"attempts of a call":                                                       "TestAttemptsAreBounded",
	"writes and reads of a call, with their guards":                            "TestMessagesOfACall",
	"step of an import or update by query whose documents fire triggers":       "TestImportFires TestUpdatesFire",
	"snapshot and locks of an attempt of a call":                               "TestLongCallsHoldUpNobody",
	"functions with series of their own":                                       "TestFunctionSeries",
	"source of a function":                                                     "TestBounds TestSteps TestLoaded",
	"arguments, result and details of a function; a trigger has its documents": "TestBounds TestTriggersOfLargeDocuments",
	"all runs of an attempt; documents that they read and write":               "TestAttackByFunctions TestAttemptsHoldOnlySoMuch",
	"message of `ctx.fail`, of an exception":                                   "TestMessages",
	"loaded sources that a node holds":                                         "TestLoadedSources",
	"log of a run of a function":                                               "TestLog",
	"run of a function":                                                        "TestSteps TestTime TestBombs",
	"memory of an instance; held":                                              "TestBombs TestInstances TestRefusals TestMemoryIsGivenBack",
	"call of the host by a function; its answer":                               "TestBoundsOfHostCalls",
	"runs of functions":                                                        "TestPlaces",
}

// TestLimits: each row of limitFiles has tests that hold its bound, and these tests are there.
func TestLimits(t *testing.T) {
	tests, rows := testsOfTheHouse(t), limitRows(t)
	for name := range rows {
		if limitTests[name] == "" {
			t.Errorf("the row %q has no test in limitTests", name)
		}
	}
	for name, names := range limitTests {
		if _, ok := rows[name]; !ok {
			t.Errorf("limitTests has %q, and no row of limitFiles does", name)
		}
		for test := range strings.FieldsSeq(names) {
			if !tests[test] {
				t.Errorf("%q: there is no %s", name, test)
			}
		}
	}
}

// limitFiles are the bounds that a user may meet, and the others.
var limitFiles = []string{"../../docs/run/limits.md", "testdata/inner-limits.md"}

// limitRows returns the bounds of limitFiles by the first cells of their rows.
func limitRows(t *testing.T) map[string]string {
	t.Helper()
	var text []byte
	for _, path := range limitFiles {
		part, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[1]) == "Input" {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if _, ok := rows[name]; ok {
			t.Errorf("two rows are %q", name)
		}
		rows[name] = strings.TrimSpace(cells[2])
	}
	return rows
}

// unnamedLimits is how many numbers of limitFiles come from no constant that the test knows. It only falls.
const unnamedLimits = 47

// TestLimitNumbers: the numbers in limitFiles are the constants in the code that testdata/limits.txt names for them.
func TestLimitNumbers(t *testing.T) {
	code, named, unnamed := constantsOf(t), limitConstants(t), 0
	for row, bound := range limitRows(t) {
		numbers, names := limitNumber.FindAllStringSubmatch(bound, -1), named[row]
		if len(numbers) != len(names) {
			t.Errorf("%q has %d numbers, and testdata/limits.txt has %d constants for it", row, len(numbers), len(names))
			continue
		}
		for i, name := range names {
			if name == "-" {
				unnamed++
				continue
			}
			if root, ok := strings.CutPrefix(name, "fanfold."); ok {
				name = ".." + root
			}
			want, ok := code.number(name)
			if got := limitValue(numbers[i]); !ok || constant.ToFloat(got).ExactString() != constant.ToFloat(want).ExactString() {
				t.Errorf("%q says %s, and %s is %v", row, numbers[i][0], name, want)
			}
		}
		delete(named, row)
	}
	for row := range named {
		t.Errorf("testdata/limits.txt has %q, and no row of limitFiles does", row)
	}
	if unnamed != unnamedLimits {
		t.Errorf("%d numbers have no constant, and unnamedLimits is %d: name one in testdata/limits.txt, or lower it", unnamed, unnamedLimits)
	}
}

// limitConstants reads testdata/limits.txt: the names of constants by the row.
func limitConstants(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/limits.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if row, names, ok := strings.Cut(line, " | "); ok {
			out[row] = strings.Fields(names)
		}
	}
	return out
}

// limitNumber is a number of a bound, with its unit.
var limitNumber = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?)(?: (KiB|MiB|GiB|TiB|ms|s|min|h)\b)?`)

// limitUnits are the units of bounds, in bytes and nanoseconds.
var limitUnits = map[string]int64{
	"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"ms": int64(time.Millisecond), "s": int64(time.Second), "min": int64(time.Minute), "h": int64(time.Hour),
}

// limitValue returns what a match of limitNumber stands for.
func limitValue(match []string) constant.Value {
	digits := constant.MakeFromLiteral(strings.ReplaceAll(match[1], ",", ""), token.FLOAT, 0)
	return constant.BinaryOp(digits, token.MUL, constant.MakeInt64(limitUnits[match[2]]))
}

package described

// ofModel lists the operations with the tag model.
var ofModel = []Operation{
	{Route: "GET /v1/_model", ID: "getModel", Summary: "The model that applies",
		Text:  "YAML where Accept names it.",
		Takes: "consistency maxLag Fanfold-Min-Position Fanfold-Timeout If-None-Match",
		Answers: []Answer{
			{"200", "The model.", "ETag=ModelETag Fanfold-Revision", Content{"application/json": "Model", "application/yaml": "Model"}},
			{"304", "It is what If-None-Match names.", "ETag=ModelETag Fanfold-Revision", nil},
		},
		Problems: "Invalid Unauthenticated Forbidden PositionGone Internal Unavailable Timeout"},
	{Route: "PUT /v1/_model", ID: "putModel", Summary: "Apply a model, or tell what it would do",
		Takes: "dryRun-model If-Match Fanfold-Timeout allowMisfits allowRemoval background Prefer-work",
		Body:  &Body{Text: "The whole model, at most 2 MiB.", Content: Content{"application/yaml": "Model", "application/x-yaml": "Model", "text/yaml": "Model", "application/json": "Model"}},
		Answers: []Answer{
			{"200", "Applied; or, with dryRun and without the headers, what it would do.", "ETag=AppliedETag Fanfold-Revision=AppliedRevision Fanfold-Position=AppliedPosition Preference-Applied", is("Preview|ModelSummary")},
			{"202", "In the log, and not folded yet; or, with Location, being prepared, or looked at in the background (Prefer: respond-async).", "ETag=AppliedETag Fanfold-Revision=AppliedRevision Fanfold-Position=AnnouncedPosition Location=WorkLocation Preference-Applied", is("Preview|ModelSummary|Work")},
		},
		Problems: "Invalid Unauthenticated Forbidden TooSlow ModelPending ModelStale TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable"},
	{Route: "PATCH /v1/_model", ID: "patchModel", Summary: "Change a part of the model, by a JSON merge patch",
		Text:  "The patch is put into the model that applies. Without If-Match it is a 409 where another model is applied meanwhile.",
		Takes: "dryRun-model If-Match Fanfold-Timeout allowMisfits allowRemoval background Prefer-work",
		Body:  &Body{Content: Content{"application/merge-patch+json": "MergePatch"}},
		Answers: []Answer{
			{"200", "Applied; or, with dryRun and without the headers, what it would do.", "ETag=AppliedETag Fanfold-Revision=AppliedRevision Fanfold-Position=AppliedPosition Preference-Applied", is("Preview|ModelSummary")},
			{"202", "In the log, and not folded yet; or, with Location, being prepared, or looked at in the background (Prefer: respond-async).", "ETag=AppliedETag Fanfold-Revision=AppliedRevision Fanfold-Position=AnnouncedPosition Location=WorkLocation Preference-Applied", is("Preview|ModelSummary|Work")},
		},
		Problems: "Invalid Unauthenticated Forbidden TooSlow ModelPending ModelStale TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable"},
	{Route: "PUT /v1/_model/{collection}", ID: "putModelCollection", Summary: "Replace what the model says about one collection",
		Text:  "The declaration is put into the model that applies. Without If-Match it is a 409 where another model is applied meanwhile.",
		Takes: "collection dryRun-model If-Match Fanfold-Timeout allowMisfits allowRemoval background Prefer-work",
		Body:  &Body{Text: "The collection's declaration, at most 2 MiB.", Content: Content{"application/yaml": "ModelCollection", "application/x-yaml": "ModelCollection", "text/yaml": "ModelCollection", "application/json": "ModelCollection"}},
		Answers: []Answer{
			{"200", "Applied; or, with dryRun and without the headers, what it would do.", "ETag=AppliedETag Fanfold-Revision=AppliedRevision Fanfold-Position=AppliedPosition Preference-Applied", is("Preview|ModelSummary")},
			{"202", "In the log, and not folded yet; or, with Location, being prepared, or looked at in the background (Prefer: respond-async).", "ETag=AppliedETag Fanfold-Revision=AppliedRevision Fanfold-Position=AnnouncedPosition Location=WorkLocation Preference-Applied", is("Preview|ModelSummary|Work")},
		},
		Problems: "Invalid Unauthenticated Forbidden TooSlow ModelPending ModelStale TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable"},
	{Route: "GET /v1/_model/_pending", ID: "getPendingModel", Summary: "The model that is being prepared",
		Answers: []Answer{
			{"200", "It does not apply yet.", "Fanfold-Revision=AnnouncedRevision", is("Model")},
		},
		Problems: "Invalid Unauthenticated Forbidden NoModelPending Internal Unavailable"},
	{Route: "GET /v1/_model/_flows", ID: "getModelFlows", Summary: "What derived fields tell about other collections",
		Takes: "consistency maxLag Fanfold-Min-Position Fanfold-Timeout",
		Answers: []Answer{
			{"200", "Every derived field of the model that applies, with each collection that it tells about.", "Fanfold-Revision", is("ModelFlows")},
		},
		Problems: "Invalid Unauthenticated Forbidden PositionGone Internal Unavailable Timeout"},
	{Route: "GET /v1/_model/_targets", ID: "getModelTargets", Summary: "The target of each relation to which most documents refer",
		Text: "What was found is told again until events have been folded since, and ten seconds have gone by, or twenty times as long as the search took. Up to 1,000,000 links are looked at, those of each relation by the ids of the targets; a relation with more is told as partial.",
		Answers: []Answer{
			{"200", "As of Fanfold-Position, which may lie a while back.", "Fanfold-Position Fanfold-Revision", is("LargestTargets")},
		},
		Problems: "Invalid Unauthenticated Forbidden Internal Unavailable"},
	{Route: "GET /v1/_suggest-model", ID: "suggestModel", Summary: "A model that is proposed for the documents",
		Text:  "It looks at a sample of the documents, as they were written: up to 100,000 of 32 MiB in all, by the order of their ids, of each collection in turn. It proposes relations, copies, counts, sums, lists and unique members, each with its evidence in a comment, and applies nothing.",
		Takes: "consistency maxLag Fanfold-Min-Position Fanfold-Timeout",
		Answers: []Answer{
			{"200", "The model, as text with comments.", "Fanfold-Position", Content{"application/yaml": "Model"}},
		},
		Problems: "Invalid Unauthenticated Forbidden PositionGone Unprocessable TooMany Internal Unavailable Timeout"},
	{Route: "DELETE /v1/_model/_pending", ID: "withdrawModel", Summary: "Withdraw the model that is being prepared",
		Takes: "Fanfold-Timeout",
		Answers: []Answer{
			{"202", "In the log, and not folded yet.", "Fanfold-Position", nil},
			{"204", "It does not come.", "Fanfold-Position", nil},
		},
		Problems: "Invalid Unauthenticated Forbidden NoModelPending ModelPending Internal Unavailable"},
}

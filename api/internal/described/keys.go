package described

// ofKeys lists the operations with the tag keys.
var ofKeys = []Operation{
	{Route: "GET /v1/_me", ID: "me", Summary: "Whom the node takes the sender for", Takes: "relations",
		Answers: []Answer{
			{"200", "The principal.", "", is("Principal")},
		},
		Problems: "Invalid Unauthenticated Forbidden Internal Unavailable"},
	{Route: "POST /v1/_access/_explain", ID: "explainAccess", Summary: "What somebody may do with a document, and why",
		Text:  "The answer is about the document as it is, under the model that applies. In an open store it is as in a closed one.",
		Takes: "consistency maxLag Fanfold-Min-Position Fanfold-Timeout",
		Body:  &Body{Content: is("AccessExplainBody")},
		Answers: []Answer{
			{"200", "A verdict on each action.", "", is("AccessExplained")},
		},
		Problems: "Invalid Unauthenticated Forbidden NotFound TooSlow PositionGone TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable Timeout"},
	{Route: "POST /v1/_tokens/_revoke", ID: "revokeTokens", Summary: "Refuse the tokens of somebody",
		Text: "Tokens of the issuer for this subject that were made before work nowhere within a second. Later ones do. It holds for a day: no token works longer.",
		Body: &Body{Content: is("RevokeTokensBody")},
		Answers: []Answer{
			{"204", "Done.", "", nil},
		},
		Problems: "Invalid Unauthenticated Forbidden TooSlow TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable"},
	{Route: "GET /v1/_actors/{id}", ID: "getActor", Summary: "Whom an actor of events is",
		Takes: "actor",
		Answers: []Answer{
			{"200", "The holder of a token.", "", is("Actor")},
		},
		Problems: "Invalid Unauthenticated Forbidden NoActor Internal Unavailable"},
	{Route: "DELETE /v1/_actors/{id}", ID: "forgetActor", Summary: "Forget whom an actor of events is",
		Text:  "The events stay. The next write of the same person keeps it again, within an hour.",
		Takes: "actor",
		Answers: []Answer{
			{"204", "Done.", "", nil},
		},
		Problems: "Invalid Unauthenticated Forbidden NoActor TooMany Internal Unavailable"},
	{Route: "POST /v1/_tickets", ID: "makeTicket", Summary: "A ticket for a browser's EventSource, WebSocket or download of a backup",
		Text: "The ticket is a parameter, the last one. It lets GETs of this very path and query in as whoever asked for it, until it expires or the key ends. Nothing of it is stored, and it may be used again. One for a backup needs the role admin, and works for a minute at most, within which the download begins.",
		Body: &Body{Content: is("TicketBody")},
		Answers: []Answer{
			{"201", "Made.", "", is("Ticket")},
		},
		Problems: "Invalid Unauthenticated Forbidden TooSlow TooLarge UnsupportedMedia TooMany Internal Unavailable"},
	{Route: "GET /v1/_keys", ID: "listKeys", Summary: "All keys, revoked ones included, without their secrets",
		Answers: []Answer{
			{"200", "The oldest first.", "", is("KeyList")},
		},
		Problems: "Invalid Unauthenticated Forbidden Internal Unavailable"},
	{Route: "POST /v1/_keys", ID: "createKey", Summary: "Make a key",
		Text: "The first key closes the store, for good: from then on nobody enters without one. It must have the role admin. There are at most 1,000 keys, revoked ones included.",
		Body: &Body{Content: is("NewKeyBody")},
		Answers: []Answer{
			{"201", "Made. This answer alone has the key.", "Location", is("MadeKey")},
		},
		Problems: "Invalid Unauthenticated Forbidden TooSlow TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable"},
	{Route: "GET /v1/_keys/{id}", ID: "getKey", Summary: "A key, without its secrets",
		Takes: "key",
		Answers: []Answer{
			{"200", "The key.", "", is("Key")},
		},
		Problems: "Invalid Unauthenticated Forbidden NoKey Internal Unavailable"},
	{Route: "PATCH /v1/_keys/{id}", ID: "patchKey", Summary: "Change the name, the roles, the subject, the claims or the end of a key",
		Text:  "A merge patch (RFC 7396). It holds on this node before the answer, and on others within a second.",
		Takes: "key",
		Body:  &Body{Content: Content{"application/merge-patch+json": "KeyPatchBody", "application/json": "KeyPatchBody"}},
		Answers: []Answer{
			{"200", "The key as it is now.", "Accept-Patch", is("Key")},
		},
		Problems: "Invalid Unauthenticated Forbidden NoKey TooSlow KeyConflict TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable"},
	{Route: "DELETE /v1/_keys/{id}", ID: "deleteKey", Summary: "Revoke a key, or forget one that is revoked",
		Text:  "A revoked key works nowhere within a second, for good. Its name and roles stay for the record until it is deleted a second time.",
		Takes: "key",
		Answers: []Answer{
			{"204", "Done.", "", nil},
		},
		Problems: "Invalid Unauthenticated Forbidden NoKey KeyConflict TooMany Internal Unavailable"},
	{Route: "POST /v1/_keys/{id}/_rotate", ID: "rotateKey", Summary: "Give a key a new secret",
		Text:  "The secret before works for the overlap, and older ones end at once. With an overlap of 0s, all older ones do.",
		Takes: "key",
		Body:  &Body{Content: is("RotateBody")},
		Answers: []Answer{
			{"200", "The key. This answer alone has the new secret.", "", is("RotatedKey")},
		},
		Problems: "Invalid Unauthenticated Forbidden NoKey TooSlow KeyConflict TooLarge UnsupportedMedia Unprocessable TooMany Internal Unavailable"},
}

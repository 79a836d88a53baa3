package described

// ofFeed lists the operations with the tag feed.
var ofFeed = []Operation{
	{Route: "GET /v1/_changes", ID: "changes", Summary: "The change feed",
		Text:  "Every change of every document, direct or derived, in one order; the changes of one event stand together. Three transports are endless. feed=continuous, or Accept: application/x-ndjson: lines of JSON, each a Change or a Heartbeat. feed=eventsource, or Accept: text/event-stream: server-sent events, whose id is the position; event is change (data: a Change), heartbeat (data: a Heartbeat) or end (data: an End). feed=websocket, or the handshake alone: a WebSocket, on which each message is a Change or a Heartbeat as JSON text; it takes no messages, and pages of foreign origins may not open one unless --cors-origin names them or is *. They end behind the event that reaches limit, behind timeout without a change where that is given, or when the server stops: lines end with a Heartbeat, a WebSocket with a Heartbeat and a close frame whose reason has the position (1000, 1001 where the server stops). Rows of collections that one does not read are left out. A stream ends with an End within a second once the rights have changed with which it began: a line, an event, or a message before the close frame 1008; a long poll answers with what it has. A consumer that does not read for 30 seconds is cut off, and goes on from the last position it has.",
		Takes: "since feed mode limit-changes timeout heartbeat include_docs-changes collections view-changes derived cascades partition filter-changes params Last-Event-ID lastEventId ticket",
		Answers: []Answer{
			{"200", "The changes.", "Fanfold-Unknown-Collections", Content{"application/json": "Changes", "application/x-ndjson": `{"type": "string", "description": "A Change, a Heartbeat or an End a line."}`, "text/event-stream": `{"type": "string", "description": "Server-sent events."}`}},
			{"101", "The connection is a WebSocket.", "", nil},
		},
		Problems: "Invalid Unauthenticated Forbidden PositionGone Internal Unavailable"},
}

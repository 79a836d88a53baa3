// Follows the change feed with the package ws, prints what it gets, and goes on from the last position it has whenever the
// connection ends.
import WebSocket from "ws";

let since = "0";

function follow() {
  const feed = new WebSocket(process.argv[2] + "&since=" + since);
  feed.on("message", (data) => {
    const row = JSON.parse(data);
    since = row.seq ?? row.last_seq;
    console.log(String(data));
  });
  feed.on("error", (e) => console.error("error", e.message));
  feed.on("close", (code, reason) => {
    console.error("closed", code, String(reason));
    setTimeout(follow, 200);
  });
}

follow();

// Follows the change feed with the package eventsource, which resumes by itself, and prints what it gets.
import { EventSource } from "eventsource";

const feed = new EventSource(process.argv[2]);
feed.addEventListener("change", (e) => console.log(e.data));
feed.addEventListener("heartbeat", (e) => console.log(e.data));
feed.addEventListener("error", (e) => console.error("error", e.code, e.message));

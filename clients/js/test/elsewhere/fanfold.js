// The client, with the key of the server that it is for, unless the test gives one.
import { Fanfold as Keyless } from "../../dist/index.js";
import { keys } from "./server.js";

export * from "../../dist/index.js";

export class Fanfold extends Keyless {
  constructor(server, options) {
    super(server, { key: keys.get(server), ...options });
  }
}

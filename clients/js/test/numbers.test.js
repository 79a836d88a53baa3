import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, RawNumber, stringify } from "../dist/index.js";
import { seeded } from "./server.js";

/** exact returns a number's value as digits and an exponent, by whole numbers alone. */
function exact(text) {
  const [, sign, whole, part = "", e = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  let digits = BigInt(whole + part), power = BigInt(e) - BigInt(part.length);
  if (digits === 0n) return "0";
  while (digits % 10n === 0n) (digits /= 10n), power++;
  return `${sign}${digits}e${power}`;
}

test("numbers keep their value, whatever they look like", () => {
  const random = seeded(8), digit = () => String(Math.floor(random() * 10));
  const digits = (most) => Array.from({ length: 1 + Math.floor(random() * most) }, digit).join("");
  for (let i = 0; i < 20000; i++) {
    let text = (random() < 0.3 ? "-" : "") + (random() < 0.2 ? "0" : String(BigInt(digits(22))));
    if (random() < 0.5) text += "." + digits(22);
    if (random() < 0.3) text += (random() < 0.5 ? "e" : "E") + ["", "+", "-"][Math.floor(random() * 3)] + digits(3);
    const source = `{"a":[${text},"${text}"],"__proto__":1}`, value = parse(source), n = value.a[0];
    const back = typeof n === "number" ? String(n) : typeof n === "bigint" ? String(n) : n.raw;
    assert.equal(exact(back.replace("e+", "e")), exact(text), text);
    assert.equal(typeof n === "number", Number.isFinite(Number(text)) && exact(String(Number(text)).replace("e+", "e")) === exact(text), text);
    assert.equal(value.a[1], text);
    assert.deepEqual(Object.keys(value), ["a", "__proto__"]);
    const again = /^\{"a":\[([^,]*),/.exec(stringify(value))[1];
    assert.equal(exact(again.replace("e+", "e")), exact(text), text);
  }
});

test("what is no number is refused, and what is rounded is told", () => {
  for (const text of ["", "1.", "01", "NaN", "1e", "+1", "0x1", " 1"]) assert.throws(() => new RawNumber(text), SyntaxError);
  assert.throws(() => JSON.stringify({ n: new RawNumber("1e400") }), TypeError);
  assert.equal(stringify({ n: new RawNumber("1e400"), b: 2n ** 70n }), '{"n":1e400,"b":1180591620717411303424}');
  assert.equal(parse("9007199254740993", "double"), 9007199254740992);
  for (const bad of ["{", "[1,]", "12345678901234567890 1"]) assert.throws(() => parse(bad), SyntaxError);
});

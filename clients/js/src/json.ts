/** How numbers come out of an answer: see parse. */
export type Numbers = "exact" | "double"

/** A number that no double and no bigint holds, as it was written. It is written back digit for digit. */
export class RawNumber {
  /** The text of the number, as JSON has it. */
  readonly raw: string

  /** Throws a SyntaxError where the text is no number of JSON. */
  constructor(raw: string) {
    if (!match(raw)) throw new SyntaxError("this is no number of JSON: " + raw.slice(0, 80))
    this.raw = raw
  }

  toString(): string {
    return this.raw
  }

  /** Throws a TypeError, as a bigint does: JSON.stringify would round. Use stringify of this package. */
  toJSON(): unknown {
    if (writing) return mark + this.raw
    throw new TypeError("JSON.stringify rounds a RawNumber: use stringify of fanfold")
  }
}

// Marks a string that stands for a number. Nobody else knows it, so that no string of a document begins with it.
const mark = "\u0001" + crypto.getRandomValues(new Uint32Array(4)).join("-") + ":"
let writing = false

/**
 * Reads JSON. With "exact" a number is a `number` where the shortest text of its double has the same value. Other integers are a
 * bigint, and all others a RawNumber. With "double" it is JSON.parse. Throws a SyntaxError.
 */
export function parse(text: string, numbers: Numbers = "exact"): any {
  const value = JSON.parse(text)
  return numbers === "double" || !mayRound(text) ? value : parseExactly(text)
}

/** Writes JSON, as JSON.stringify does, and a bigint and a RawNumber digit for digit. */
export function stringify(value: unknown): string {
  if (!("toJSON" in BigInt.prototype)) {
    try {
      return JSON.stringify(value)
    } catch {
      // There is a bigint or a RawNumber, or the same error comes again below.
    }
  }
  let text
  writing = true
  try {
    text = JSON.stringify(value, function (this: any, name, v) {
      return typeof this[name] === "bigint" ? mark + this[name] : v
    })
  } finally {
    writing = false
  }
  return text && text.replace(new RegExp(`"\\\\u0001${mark.slice(1)}([^"]*)"`, "g"), "$1")
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

// Returns the number that the whole text is.
function match(text: string): boolean {
  number.lastIndex = 0
  return number.exec(text)?.[0].length === text.length
}

const threeDigits = /\d\d\d/g

// Tells whether a text of JSON has a number that a double rounds, or a string that looks like one. Such a number has 16 digits, or
// an exponent of three, so three digits stand together in it. A regular expression finds them twice as fast as a loop does.
function mayRound(text: string): boolean {
  threeDigits.lastIndex = 0
  while (threeDigits.test(text)) {
    let to = threeDigits.lastIndex
    let from = to - 3
    let c
    while (((c = text.charCodeAt(from - 1)) >= 48 && c <= 57) || c === 46) from--
    while (((c = text.charCodeAt(to)) >= 48 && c <= 57) || c === 46) to++
    threeDigits.lastIndex = to
    if (to - from < 16) {
      c = text.charCodeAt(from - 1)
      if (c === 43 || c === 45) c = text.charCodeAt(from - 2) // a sign
      if (c !== 69 && c !== 101) continue // no E before it
    }
    while (inNumber(text, from - 1)) from--
    while (inNumber(text, to)) to++
    threeDigits.lastIndex = to
    const token = text.slice(from, to)
    if (text.charCodeAt(from - 1) !== 34 && match(token) && !fits(token)) return true
  }
  return false
}

// Tells whether a number may have the character at a place.
function inNumber(text: string, at: number): boolean {
  const c = text.charCodeAt(at)
  return (c >= 48 && c <= 57) || c === 43 || c === 45 || c === 46 || c === 69 || c === 101
}

// Reads JSON that JSON.parse has read. Each number that a double rounds is a marked string for JSON.parse, and then takes its place.
function parseExactly(text: string): any {
  let marked = ""
  let done = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 34) i = endOfString(text, i)
    else if (c === 45 || (c >= 48 && c <= 57)) {
      number.lastIndex = i
      const token = number.exec(text)![0]
      if (!fits(token)) {
        marked += text.slice(done, i) + `"\\u0001${mark.slice(1)}${token}"`
        done = i + token.length
      }
      i += token.length - 1
    }
  }
  const root = { value: JSON.parse(marked + text.slice(done)) }
  const holders: any[] = [root]
  for (let holder; (holder = holders.pop()); ) {
    for (const name of Object.keys(holder)) {
      const v = holder[name]
      if (v && typeof v === "object") holders.push(v)
      else if (typeof v === "string" && v.startsWith(mark)) {
        const token = v.slice(mark.length)
        holder[name] = /[.eE]/.test(token) ? new RawNumber(token) : BigInt(token)
      }
    }
  }
  return root.value
}

// Returns where the string ends that begins at a place.
function endOfString(text: string, from: number): number {
  for (let end = from; ; ) {
    end = text.indexOf('"', end + 1)
    let slashes = end
    while (text.charCodeAt(slashes - 1) === 92) slashes--
    if ((end - slashes) % 2 === 0) return end
  }
}

// Tells whether the shortest text of a number's double has the number's value.
function fits(token: string): boolean {
  const short = String(Number(token))
  return short === token || normal(short) === normal(token)
}

// Returns a text that is the same for numbers of one value, and "" for one that is not finite.
function normal(token: string): string {
  const parts = /^(-?)(\d+)\.?(\d*)[eE]?(.*)$/.exec(token)
  if (!parts) return ""
  const digits = parts[2]! + parts[3]!
  let from = 0
  let to = digits.length
  while (digits.charCodeAt(from) === 48) from++
  while (to > from && digits.charCodeAt(to - 1) === 48) to--
  return from === to ? "0" : parts[1] + digits.slice(from, to) + "e" + (Number(parts[4]) + parts[2]!.length - from)
}

// Uses of the clients that openapi-typescript, with openapi-fetch, and hey-api make of openapi.json with the types of the documents of model.yaml. typed.js
// compiles them and runs them against a server. A line after @ts-expect-error must not compile.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import createClient from 'openapi-fetch'
import { parse, stringify } from 'lossless-json'
import type { components, paths } from './made/typed'
import { client as heyClient } from './made/hey/client.gen'
import { createDocumentOfInvoices, getDocument, getDocumentOfBooks, listChildrenOfAuthorsInBooks, putDocumentOfBooks, queryDocumentsOfBooks } from './made/hey/sdk.gen'

type Schemas = components['schemas']
const url = process.env.FANFOLD_URL as string
const client = createClient<paths>({ baseUrl: url })
heyClient.setConfig({ baseUrl: url })

// A document with members that the model does not name, nested arrays, and numbers that a double has.
const plain = {
  title: 'Emma', price: 2.5, grid: [[1, [2.5].length], []], subtitle: null, cover: { url: 'u', w: 7 },
  authors: [{ id: 'jane', role: 'editor' as const, share: 0.5 }], years: { 1815: [9007199254740991, null] }, none: null,
}
// The same with numbers that no double has, as text.
const exact = '{"id":"exact","title":"Emma","price":12345678901234567890.10,"grid":[[1e-400,2.50],[]],"years":{"1815":[9007199254740993,null]}}'

before(async () => {
  const author: Schemas['AuthorsDocumentIn'] = { name: 'Jane', born: 1775, style: 'terse', address: { city: 'Steventon' } }
  const { response } = await client.PUT('/v1/authors/{id}', { params: { path: { id: 'jane' } }, body: author })
  assert.equal(response.status, 201)
})

test('openapi-fetch: a document is read, changed and written without loss', async () => {
  const at = { params: { path: { id: 'fetch' } } }
  await client.PUT('/v1/books/{id}', { ...at, body: plain })
  const { data } = await client.GET('/v1/books/{id}', at)
  assert.ok(data)
  const names: (string | undefined)[] | undefined = data.authors?.map((author) => author.name)
  assert.deepEqual(names, ['Jane'])
  // @ts-expect-error the store derives it
  data.publisherName = 'nobody'
  const { response } = await client.PUT('/v1/books/{id}', { ...at, body: { ...data, title: 'Emma, a novel' } })
  assert.ok(response.ok)
  const { data: now } = await client.GET('/v1/books/{id}', { params: { path: at.params.path, query: { view: 'referenced' } } })
  assert.deepEqual(now, { ...plain, title: 'Emma, a novel', id: 'fetch' })
})

test('hey-api: a document is read, changed and written without loss', async () => {
  const path = { id: 'hey' }
  await putDocumentOfBooks({ path, body: plain })
  const { data } = await getDocumentOfBooks({ path })
  assert.ok(data)
  assert.equal(data.authors?.[0].city, 'Steventon')
  const { response } = await putDocumentOfBooks({ path, body: { ...data, title: 'Emma, a novel' } })
  assert.ok(response?.ok)
  const { data: now } = await getDocumentOfBooks({ path, query: { view: 'referenced' } })
  assert.deepEqual(now, { ...plain, title: 'Emma, a novel', id: 'hey' })
})

// JSON.parse rounds. A client that is told to leave the text alone keeps every digit with a parser that does.
test('exact numbers pass through openapi-fetch as text', async () => {
  const at = { params: { path: { id: 'exact' } } }
  const { response } = await client.PUT('/v1/books/{id}', { ...at, body: parse(exact) as Schemas['BooksDocumentIn'], bodySerializer: (body) => stringify(body) as string })
  assert.equal(response.status, 201)
  const { data } = await client.GET('/v1/books/{id}', { params: { path: at.params.path, query: { view: 'referenced' } }, parseAs: 'text' })
  assert.equal(data, exact)
})

test('exact numbers pass through hey-api as text', async () => {
  const read = async (): Promise<string> => (await getDocumentOfBooks({ path: { id: 'exact' }, query: { view: 'referenced' }, parseAs: 'text' })).data as unknown as string
  const doc = parse(await read()) as Schemas['BooksDocument']
  doc.title = 'Emma, a novel'
  const { response } = await putDocumentOfBooks({ path: { id: 'exact' }, body: doc, bodySerializer: (body: unknown) => stringify(body) as string })
  assert.ok(response?.ok)
  assert.equal(await read(), exact.replace('Emma', 'Emma, a novel'))
})

test('a patch of one member leaves the digits of the others', async () => {
  const at = { params: { path: { id: 'exact' } } }
  const { response } = await client.PATCH('/v1/books/{id}', { ...at, body: { subtitle: 'a novel' }, headers: { 'Content-Type': 'application/merge-patch+json' } })
  assert.ok(response.ok)
  const { data } = await client.GET('/v1/books/{id}', { ...at, parseAs: 'text' })
  assert.match(data as string, /12345678901234567890\.10.*1e-400.*9007199254740993/)
})

test('lists, queries, children, sequences and problems have types', async () => {
  const { data: page } = await client.GET('/v1/books', { params: { query: { limit: 2 } } })
  const times: string[] | undefined = page?.items.map((book) => book.title + book._meta.updatedAt)
  assert.equal(times?.length, 2)
  const { data: found } = await queryDocumentsOfBooks({ body: { filter: 'doc.price > 2.0', sort: ['title'] } })
  assert.ok(found && found.items.every((book) => typeof book.title === 'string'))
  const { data: children } = await listChildrenOfAuthorsInBooks({ path: { id: 'jane' } })
  assert.deepEqual(children?.items.map((book) => book.authors?.[0].name), ['Jane', 'Jane'])
  const { data: invoice } = await createDocumentOfInvoices({ body: { year: 2026 }, headers: { Prefer: 'return=representation' } })
  const number: number | undefined = invoice && 'number' in invoice ? (invoice.number as number) : undefined
  assert.equal(number, 1000)
  // @ts-expect-error the model takes no other members
  const other: Schemas['InvoicesDocumentIn'] = { total: 5 }
  const refused = await client.PUT('/v1/invoices/{id}', { params: { path: { id: 'i' } }, body: other })
  assert.equal(refused.error?.type, 'urn:fanfold:problem:unprocessable')
  const { error } = await getDocument({ path: { collection: 'books', id: 'none' } })
  assert.equal((error as Schemas['Problem']).status, 404)
})

/** titled tells how a document of any collection of the model is called. */
export function titled<C extends keyof Schemas['Documents']>(collection: C, doc: NonNullable<Schemas['Documents'][C]>): string {
  return collection + '/' + doc.id
}

// Fifteen ordinary uses of the types that openapi-typescript makes of openapi.json. They only compile. A line after @ts-expect-error
// must not compile.
import type { components, operations, paths } from '../src/wire.js'

type Schemas = components['schemas']
type Json<O extends keyof operations, S extends keyof operations[O]['responses']> =
  operations[O]['responses'][S] extends { content: { 'application/json': infer Body } } ? Body : never

// 1. A GET of a document: its path, its parameters, its answer.
type Get = paths['/v1/{collection}/{id}']['get']
export const get: Get['parameters'] = { path: { collection: 'books', id: 'b1' }, query: { view: 'embedded', fields: 'title,year' }, header: { 'Fanfold-Min-Position': '7-0-abcdefgh' } }
export function title(doc: Json<'getDocument', 200>): string {
  return `${String(doc.id)}: ${doc['title'] as string}`
}

// 2. A PUT stores members of any name, and needs no id.
export const put: operations['putDocument']['requestBody']['content']['application/json'] = { title: 'Emma', authors: [{ id: 'a1' }], year: 1815 }
// @ts-expect-error an id is a text or a number
export const noId: Schemas['DocumentIn'] = { id: ['b1'] }

// 3. A merge patch sets and removes members of any name.
export const patch: Schemas['MergePatch'] = { title: 'Emma, a novel', subtitle: null }

// 4. A JSON Patch increments, within bounds.
export const jsonPatch: Schemas['JSONPatch'] = [{ op: 'increment', path: '/stock', value: -1, min: 0 }, { op: 'test', path: '/draft', value: null }, { op: 'move', from: '/a', path: '/b' }]
// @ts-expect-error there is no such operation
export const noOperation: Schemas['PatchOperation'] = { op: 'decrement', path: '/stock' }

// 5. A transaction takes documents, patches of both kinds, ids that come of earlier operations, and conditions.
export const transaction: Schemas['Transaction'] = {
  operations: [
    { op: 'create', collection: 'authors', as: 'jane', body: { name: 'Jane' } },
    { op: 'patch', collection: 'books', id: 'b1', patch: { author: null }, refs: { '/author': 'jane' } },
    { op: 'patch', collection: 'books', id: 2, patch: [{ op: 'increment', path: '/stock', value: -1, min: 0 }], if: 'doc.price < params.p', params: { p: 3 } },
    { op: 'check', collection: 'authors', id: { ref: 'jane' }, ifMatch: '*' },
    { op: 'delete', collection: 'authors', id: 'a2', ifMatch: 7 },
  ],
}

// 6. A list has documents with their metadata, and where it goes on.
export function titles(list: Schemas['List']): string[] {
  return [...list.items.map((doc) => `${doc['title'] as string} of ${doc._meta.updatedAt}`), list.next ?? 'the end']
}

// 7. A page has its documents under the name of their collection.
export function books(page: Schemas['Page']): Schemas['Document'][] {
  return page.pages > 0 ? (page['books'] as Schemas['Document'][]) : []
}

// 8. A query says no more than it asks for, and its answer is told apart by its members.
export const query: Schemas['Query'] = { filter: 'doc.year > params.since', params: { since: 1800 }, sort: ['-year'] }
export function counted(answer: Json<'queryDocuments', 200>): number {
  if ('items' in answer) return answer.items.length
  if ('groups' in answer) return answer.groups.length
  return answer.explain.documents
}

// 9. A group is made, and its leases are taken and acknowledged.
export const group: Schemas['GroupSettings'] = { partitions: 8, collections: ['books'] }
export const lease: Schemas['LeaseBody'] = { member: 'm1', max: 4 }
export function acknowledge(list: Schemas['LeaseList'], position: string): Schemas['AckBody'][] {
  return list.leases.map((one) => ({ partition: one.partition, token: one.token, position }))
}

// 10. A line of the feed is a change, a heartbeat or an end.
export function follow(line: Schemas['Change'] | Schemas['Heartbeat'] | Schemas['End']): string {
  if ('end' in line) return `${line.end} ${line.oldest ?? ''}`
  if ('last_seq' in line) return line.last_seq
  return `${line.seq} ${line.op} ${line.collection}/${line.id} ${String(line.doc?.['title'] ?? line.previous?.['title'])} ${line.cause?.collection ?? ''}`
}

// 11. Lines of an import are a model and documents, and an export writes them.
export const lines: Schemas['ImportLine'][] = [{ model: { collections: { books: {} } } }, { collection: 'books', doc: { id: 'b1', title: 'Emma' } }]
export function exported(line: Schemas['ImportLine']): unknown {
  if ('model' in line) return line.model.collections
  if ('doc' in line) return line.doc.id
  return 'text' in line ? (JSON.parse(line.text) as unknown) : line.last
}

// 12. An import tells of refused lines, of how far it is, and of its end.
export function imported(line: Schemas['ImportRefusal'] | Schemas['ImportState'] | Schemas['ImportSummary']): string {
  if ('done' in line) return `${line.done} ${line.written} ${line.position}`
  return 'progress' in line ? `${line.progress.line}` : `${line.line}: ${line.detail}`
}

// 13. A problem has its code at the end of its type, and where and what is wrong.
export function problem(p: Schemas['Problem']): string {
  const where = p.problems?.map((one) => `${one.path ?? ''}: ${one.detail}`).join() ?? ''
  return p.type === 'urn:fanfold:problem:position-gone' ? (p.oldest ?? '0') : `${p.title} ${p.status} ${where} ${p.revision ?? ''} ${p.operation ?? ''}`
}
// @ts-expect-error there is no such problem
export const noProblem: Schemas['Problem']['type'] = 'urn:fanfold:problem:nowhere'

// 14. A model has collections by their names, with schema, rules of each kind, access, and no more than it says.
export const model: Schemas['Model'] = {
  collections: {
    authors: { derive: { countOfBooks: { count: 'books.authors' }, pages: { sum: 'books.authors', of: 'pages' } } },
    books: {
      relations: { authors: { path: 'authors[].id', to: 'authors', onDelete: 'restrict' } },
      derive: { 'authors[].name': { copy: 'authors', value: 'doc.name' }, total: { value: 'doc.price * doc.quantity' } },
      schema: { type: 'object', required: ['title'] },
      access: { read: ['everyone'], update: { where: 'old.owner == auth.sub' } },
    },
    tags: null,
  },
}
// @ts-expect-error a sum says of what
export const sumOfNothing: Schemas['ModelRule'] = { sum: 'books.authors' }

// 15. A key is made and told once, and changed.
export const newKey: Schemas['NewKeyBody'] = { name: 'shop', roles: ['read', 'write'], expires: '2027-01-01T00:00:00Z', claims: { tenant: 't1' } }
export const changed: Schemas['KeyPatchBody'] = { expires: null, roles: ['read'] }
export function told(key: Json<'createKey', 201>): string {
  return key.key
}
// @ts-expect-error a list of keys tells no key
export const untold = (list: Schemas['KeyList']): string => list.keys[0]!.key

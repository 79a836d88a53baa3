// Fifteen ordinary uses of the types that openapi-typescript makes of openapi.json. They only compile: make console does it. A line
// after @ts-expect-error must not compile.
import type { components, paths } from './node_modules/fanfold'

type Schemas = components['schemas']

// 1. A document is stored with members of any name, and without an id.
export const book: Schemas['DocumentIn'] = { title: 'Emma', authors: [{ id: 'a1' }], year: 1815 }

// 2. A document that was read has them, too, and its metadata in a list.
export function titles(list: Schemas['List']): string[] {
  return list.items.map((doc) => `${doc.title as string} of ${doc._meta.updatedAt}`)
}

// 3. A merge patch sets and removes members of any name.
export const patch: Schemas['MergePatch'] = { title: 'Emma, a novel', subtitle: null }

// 4. A page has its documents under the name of their collection.
export function books(page: Schemas['Page']): Schemas['Document'][] {
  return page.pages > 0 ? (page.books as Schemas['Document'][]) : []
}

// 5. A query says no more than it asks for.
export const query: Schemas['Query'] = { filter: 'doc.year > params.since', params: { since: 1800 }, sort: ['-year'] }

// 6. An answer that may be one of several is told apart by its members.
type Queried = paths['/v1/{collection}/_query']['post']['responses'][200]['content']['application/json']
export function counted(answer: Queried): number {
  if ('items' in answer) return answer.items.length
  if ('groups' in answer) return answer.groups.length
  return answer.explain.documents
}

// 7. A rule of a model is one of several kinds, each with what goes with it.
export const copy: Schemas['ModelRule'] = { copy: 'author', value: 'doc.name' }
export const sum: Schemas['ModelRule'] = { sum: 'books.authors', of: 'pages' }
// @ts-expect-error a sum says of what
export const sumOfNothing: Schemas['ModelRule'] = { sum: 'books.authors' }

// 8. A model declares collections by their names, and relations without what has a default.
export const model: Schemas['Model'] = {
  collections: { authors: null, books: { relations: { author: { path: 'authors[].id', to: 'authors' } }, derive: { 'authors[].name': copy }, schema: { type: 'object', required: ['title'] } } },
}

// 9. A transaction takes documents and patches of both kinds, and ids that come of earlier operations.
export const transaction: Schemas['Transaction'] = {
  operations: [
    { op: 'create', collection: 'authors', as: 'jane', body: { name: 'Jane' } },
    { op: 'patch', collection: 'books', id: 'b1', patch: { author: null }, refs: { '/author': 'jane' } },
    { op: 'patch', collection: 'books', id: 2, patch: [{ op: 'remove', path: '/draft' }], ifMatch: '*' },
    { op: 'delete', collection: 'authors', id: { ref: 'jane' } },
  ],
}

// 10. A row of the feed has the document and what was before, and a problem its type.
export function follow(answer: Schemas['Changes'] | Schemas['Problem']): string {
  if ('results' in answer) return answer.results.map((row) => `${row.op} ${row.doc?.title ?? row.previous?.title}`).join() + answer.last_seq
  return answer.type === 'urn:fanfold:problem:position-gone' ? (answer.oldest ?? '0') : answer.title
}

// Each status has problems of its own.
type Missing = paths['/v1/{collection}/{id}']['get']['responses'][404]['content']['application/problem+json']
export function unknown(missing: Missing): boolean {
  // @ts-expect-error it is no 404
  if (missing.type === 'urn:fanfold:problem:stale') return false
  return missing.type === 'urn:fanfold:problem:unknown-collection'
}

// 11. An id is text or a number, and so is the id of a document that was read.
export function label(id: Schemas['ID'], doc: Schemas['Document']): string {
  return `${typeof id === 'number' ? id.toFixed() : id} ${doc.id}`
}

// 12. A right is a list of roles, or says more.
export const rights: Schemas['Right'][] = [['support'], { roles: ['support'], where: 'auth.sub in doc.members' }]

// 13. A JSON Patch is a list of operations.
export const operations: Schemas['JSONPatch'] = [{ op: 'add', path: '/tags/-', value: { any: ['kind'] } }, { op: 'test', path: '/n', value: 1 }]

// 14. A line of an import is a model or a document.
export const lines: Schemas['ImportLine'][] = [{ model }, { collection: 'books', doc: book }]

// 15. Parameters of a list are named and typed, and another one is refused.
export const asked: NonNullable<paths['/v1/{collection}']['get']['parameters']['query']> = { filter: 'doc.year > 1800', limit: 20, sort: '-year' }
// @ts-expect-error there is no such parameter
export const askedOther: typeof asked = { offset: 20 }

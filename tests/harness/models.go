package harness

// APIModel has authors, books and what a book has of its authors.
const APIModel = `
collections:
  authors:
    derive:
      countOfBooks: {count: books.authors}
  publishers:
    relations: {city: {path: city, to: cities}}
  cities: {}
  books:
    relations:
      authors: {path: "authors[].id", to: authors}
      publisher: {path: pub, to: publishers}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      publisherName: {copy: publisher, value: doc.name}
`

// LeaveModel has tickets with a copy of their project's name.
const LeaveModel = `collections: {projects: {derive: {n: {count: tickets.project}}}, tickets: {relations: {project: {path: project, to: projects}}, derive: {projectName: {copy: project, value: doc.name}}}}`

// Bookshop is the model of the article's book shop.
const Bookshop = `
collections:
  authors:
    derive:
      countOfBooks: {count: books.authors}
      books: {ids: books.authors, limit: 1000}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive:
      "authors[].name": {copy: authors, value: "doc.firstName + ' ' + doc.lastName"}
      "authors[].thumbnailUrl": {copy: authors, value: "doc.images.filter(i, has(i.thumbnail))[0].thumbnail"}
`

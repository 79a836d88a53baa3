-- +goose Up
-- The indexes that the model in force declares. Their numbers are given in order of collection and name, when the model comes.
CREATE TABLE declared_index (
  id         INTEGER PRIMARY KEY,
  collection TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  components TEXT    NOT NULL,  -- as the model declares them, as JSON
  entries    INTEGER NOT NULL,
  UNIQUE (collection, name)
) STRICT;

-- What documents are ordered by, in order. A document with more elements than an index takes has one entry with the empty key.
CREATE TABLE index_entry (
  idx INTEGER NOT NULL,  -- declared_index.id
  key BLOB    NOT NULL,
  tie INTEGER NOT NULL,  -- the document's number, with all bits inverted where the last component descends
  PRIMARY KEY (idx, key, tie)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE index_entry;
DROP TABLE declared_index;

-- +goose Up
-- Changes name their document by its number, and derived ones have their values as bytes. The fingerprint is another, so that the
-- read model is built anew.
DROP TRIGGER change_erased;
DROP TABLE change;

-- Every change of every document, in order.
CREATE TABLE change (
  position        INTEGER PRIMARY KEY,
  ordinal         INTEGER NOT NULL,  -- 1, 2, 3, ...
  prior           INTEGER,           -- the document's change before it; none for a create
  number          INTEGER,           -- the document's; none for a create, whose event's sequence it is
  collection      TEXT,              -- of a create
  id              TEXT,              -- of a create
  op              INTEGER,           -- 1 create, 2 replace, 3 patch, 4 delete; none for a derived change
  revision        INTEGER,           -- derived: the document's; otherwise it is the event's sequence
  time            INTEGER,           -- of the event; in its first change only
  tx              TEXT,              -- the transaction's id; in the event's first change only
  actor           TEXT,              -- who sent the request; in the event's first change only
  form            INTEGER,           -- derived: what it has in common with others; otherwise of a write that a delete brought with it
  delta           BLOB,              -- derived: the values of its JSON Patch, as form says, or their edits of those of changes before
  previous        TEXT,              -- the embedded view before a direct change, and before derived ones that are key frames
  previous_source ANY,               -- the referenced view before it, where it differed, as in document.source
  omitted         TEXT               -- what the document's embedded view had no room for after it
) STRICT;
-- By it the next image of a document after a change is found.
CREATE INDEX change_image ON change (number, position) WHERE previous IS NOT NULL;

-- The keys of documents whose first change was erased from table change: other changes still need them.
CREATE TABLE erased_document (
  number     INTEGER PRIMARY KEY,
  collection TEXT NOT NULL,
  id         TEXT NOT NULL
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER change_erased AFTER DELETE ON change WHEN OLD.time IS NOT NULL BEGIN
  INSERT INTO erased_event (seq, time, tx, actor) VALUES (OLD.position >> 20, OLD.time, OLD.tx, OLD.actor);
  INSERT INTO erased_document (number, collection, id) SELECT OLD.position >> 20, OLD.collection, OLD.id WHERE OLD.id IS NOT NULL;
END;
-- +goose StatementEnd

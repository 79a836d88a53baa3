-- +goose Up
-- What documents ever held may be erased. The fingerprint is another, so that the read model is built anew.

-- The last erase event with whose substitutes the rows were made; 0 for none.
ALTER TABLE checkpoint ADD COLUMN erasure INTEGER NOT NULL DEFAULT 0;

-- The erase events.
CREATE TABLE erasure (
  seq       INTEGER PRIMARY KEY,
  of        INTEGER NOT NULL,  -- the first erase event of the same erasure
  documents INTEGER NOT NULL,  -- how many it names
  events    INTEGER NOT NULL,  -- how many messages it lists
  time      INTEGER NOT NULL,
  actor     TEXT,              -- who asked for it
  position  INTEGER            -- where it came into force; none before that
) STRICT;

-- The documents that erase events name.
CREATE TABLE erased_document (
  erasure    INTEGER NOT NULL,  -- erasure.seq
  collection TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  members    TEXT,              -- JSON Pointers of what goes, as JSON; none for all but the id and the ids at relations
  position   INTEGER,           -- of the change that says so of a deleted document
  PRIMARY KEY (erasure, collection, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX erased_key ON erased_document (collection, id, position);

-- In table change, op 5 is erase. Its row has the key, and no number: a document that was deleted before the horizon has none.

-- +goose Down
DROP TABLE erased_document;
DROP TABLE erasure;
ALTER TABLE checkpoint DROP COLUMN erasure;

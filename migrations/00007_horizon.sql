-- +goose Up
-- A store may begin at a horizon. A file that is built on the base of one has no changes up to it, and what the later ones need of them.
-- The fingerprint is another, so that the read model is built anew.
DROP TRIGGER change_erased;
DROP TABLE erased_document;
DROP TABLE erased_event;

-- Where the store begins, as the last compact event says.
CREATE TABLE horizon (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  seq      INTEGER NOT NULL,  -- the last event that goes
  event    BLOB    NOT NULL,  -- its digest
  digest   BLOB    NOT NULL,  -- digest of all events up to it, a chain
  position INTEGER NOT NULL,  -- the last change at or before it
  changes  INTEGER NOT NULL,  -- how many changes there were up to it
  time     INTEGER NOT NULL,  -- running maximum of the log's timestamps up to it
  base     INTEGER NOT NULL   -- seq of the horizon on whose base this file was built; 0 where it was built from the first event
) STRICT;

-- The documents that were there at the horizon on whose base this file was built, as they were then.
CREATE TABLE horizon_version (
  number   INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created  INTEGER NOT NULL,
  updated  INTEGER NOT NULL
) STRICT;

-- How many documents had come into a target's pages by then.
CREATE TABLE horizon_paged (
  relation TEXT    NOT NULL,
  target   TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  PRIMARY KEY (relation, target)
) STRICT, WITHOUT ROWID;

-- How far each import has come, as its last event says: the log may have lost that.
CREATE TABLE import_progress (
  id   BLOB    PRIMARY KEY,  -- of the import; no text, as it may name a principal, too
  seq  INTEGER NOT NULL,
  body BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE import_progress;
DROP TABLE horizon_paged;
DROP TABLE horizon_version;
DROP TABLE horizon;

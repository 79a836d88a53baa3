-- +goose Up
-- The read model. Everything in it can be rebuilt from the log; the same log prefix gives the
-- same rows. Times are nanoseconds since 1970 in UTC, positions are sequence<<20 | n.

CREATE TABLE checkpoint (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  seq      INTEGER NOT NULL,  -- the last event folded
  position INTEGER NOT NULL,  -- the last change at or before it
  time     INTEGER NOT NULL,  -- running maximum of the log's timestamps
  changes  INTEGER NOT NULL,  -- how many changes there are
  fold     TEXT    NOT NULL,  -- fingerprint of the program that made these rows
  event    BLOB    NOT NULL,  -- digest of the last event folded
  digest   BLOB    NOT NULL   -- digest of all events folded, a chain
) STRICT;

-- The chain's digest at every 256th event, by which a log that differs is told from where on it does.
CREATE TABLE log_digest (
  seq    INTEGER PRIMARY KEY,
  digest BLOB NOT NULL
) STRICT;

CREATE TABLE model (
  seq      INTEGER PRIMARY KEY,  -- the event that applied it
  source   TEXT NOT NULL,        -- the model as JSON
  fold     INTEGER NOT NULL,     -- the version of the fold from this event on
  reserved TEXT NOT NULL,        -- paths of removed rules not yet released, by collection, as JSON
  retired  TEXT NOT NULL         -- those of the rules whose kept values are still stored, as JSON
) STRICT;

-- The last event about models, and the model that it announces, where that is yet to come.
CREATE TABLE proposal (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  seq    INTEGER NOT NULL,
  source TEXT,              -- as JSON
  fold   INTEGER NOT NULL,  -- the version of the fold that it announces; 0 for the one in force
  actor  TEXT               -- who announces it
) STRICT;

CREATE TABLE document (
  number     INTEGER PRIMARY KEY,  -- order of creation: the sequence of the event that created it
  collection TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  revision   INTEGER NOT NULL,     -- sequence of its last event
  position   INTEGER NOT NULL,     -- of its last change, derived ones included
  created    INTEGER NOT NULL,
  updated    INTEGER NOT NULL,     -- of its last write
  body       TEXT    NOT NULL,     -- the embedded view, ready to send
  source     ANY,                  -- the referenced view, where it is another: a text, or the places where derived members stand in body
  omitted    TEXT                  -- how many derived values it has no room for, by rule, as JSON
) STRICT;
CREATE UNIQUE INDEX document_key ON document (collection, id);

CREATE TABLE tombstone (
  collection TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  revision   INTEGER NOT NULL,  -- sequence of the delete
  position   INTEGER NOT NULL,
  PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

-- How many documents a collection holds. One that ever held a document keeps its row.
CREATE TABLE collection (
  name      TEXT    PRIMARY KEY,
  documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who refers to whom, whether or not the target exists. What a document refers to stands in
-- the document itself.
CREATE TABLE link (
  relation TEXT    NOT NULL,  -- <collection>.<relation>
  target   TEXT    NOT NULL,  -- the id's text
  holder   INTEGER NOT NULL,  -- the referring document's number
  ordinal  INTEGER,           -- its place in the target's pages, where the relation has pages
  PRIMARY KEY (relation, target, holder)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX link_ordinal ON link (relation, target, ordinal) WHERE ordinal IS NOT NULL;

-- How many documents ever came into a target's pages.
CREATE TABLE paged (
  relation TEXT    NOT NULL,
  target   TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  PRIMARY KEY (relation, target)
) STRICT, WITHOUT ROWID;

-- What the documents that refer to a target enter into its min, max and recent, in order.
CREATE TABLE entry (
  rule   TEXT    NOT NULL,
  target TEXT    NOT NULL,
  sort   BLOB    NOT NULL,
  holder INTEGER NOT NULL,  -- the referring document's number
  PRIMARY KEY (rule, target, sort, holder)
) STRICT, WITHOUT ROWID;

-- What they add up to in its sum and avg, and how many they are in a count that looks at derived members. None: no row.
CREATE TABLE total (
  rule   TEXT    NOT NULL,
  target TEXT    NOT NULL,
  count  INTEGER NOT NULL,
  sum    TEXT    NOT NULL,  -- exact
  PRIMARY KEY (rule, target)
) STRICT, WITHOUT ROWID;

-- Who has the values of unique members. A value that was freed keeps its row, for the sequence.
CREATE TABLE claim (
  collection TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  value      TEXT    NOT NULL,
  holder     TEXT,              -- the document's id; none where it is free
  seq        INTEGER NOT NULL,  -- of the last claim event about it; 0 where there was none
  PRIMARY KEY (collection, path, value)
) STRICT, WITHOUT ROWID;

-- Values that stay on their holder: after the target's delete (onDelete: keep), or for good
-- (frozen). Those of a removed rule stay until its path is released.
CREATE TABLE kept (
  rule   TEXT    NOT NULL,
  target TEXT    NOT NULL,
  holder INTEGER NOT NULL,
  value  TEXT    NOT NULL,
  PRIMARY KEY (rule, target, holder)
) STRICT, WITHOUT ROWID;

-- What derived changes have in common, and the writes that a delete brought with it by its policies.
CREATE TABLE form (
  id    INTEGER PRIMARY KEY,
  rules TEXT NOT NULL,  -- the rules' names, separated by commas; of such writes the relations'
  patch TEXT NOT NULL,  -- the JSON Patch with old values, and a line feed in place of each value; of such writes the delete, as JSON
  UNIQUE (rules, patch)
) STRICT;

-- Every change of every document, in order.
CREATE TABLE change (
  position        INTEGER PRIMARY KEY,
  ordinal         INTEGER NOT NULL,  -- 1, 2, 3, ...
  prior           INTEGER,           -- the document's change before it; none for a create
  collection      TEXT    NOT NULL,
  id              TEXT    NOT NULL,
  op              TEXT,              -- create, replace, patch, delete; none for a derived change
  revision        INTEGER,           -- derived: the document's; otherwise it is the event's sequence
  time            INTEGER,           -- of the event; in its first change only
  tx              TEXT,              -- the transaction's id; in the event's first change only
  actor           TEXT,              -- who sent the request; in the event's first change only
  form            INTEGER,           -- derived: what it has in common with others; otherwise of a write that a delete brought with it
  delta           TEXT,              -- derived: the values of its JSON Patch, as form says
  previous        TEXT,              -- the embedded view before a direct change, and before derived ones that are key frames
  previous_source ANY,               -- the referenced view before it, where it differed, as in document.source
  omitted         TEXT,              -- what the document's embedded view had no room for after it
  number          INTEGER            -- the document's, where previous is there
) STRICT;
-- By it the next image of a document behind a change is found.
CREATE INDEX change_image ON change (collection, id, position) WHERE previous IS NOT NULL;

-- How many documents have no room for values of a rule, and for how many values. None: no row.
CREATE TABLE omission (
  rule      TEXT    PRIMARY KEY,
  documents INTEGER NOT NULL,
  fields    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Requests made under an Idempotency-Key in the last 24 hours of the log's time.
CREATE TABLE once (
  key    TEXT    PRIMARY KEY,  -- hash of the Idempotency-Key
  digest TEXT    NOT NULL,     -- of what the request asked for
  seq    INTEGER NOT NULL,     -- its first event
  time   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX once_time ON once (time);

-- +goose Down
DROP TABLE once;
DROP TABLE omission;
DROP TABLE change;
DROP TABLE form;
DROP TABLE kept;
DROP TABLE claim;
DROP TABLE total;
DROP TABLE entry;
DROP TABLE paged;
DROP TABLE link;
DROP TABLE collection;
DROP TABLE tombstone;
DROP TABLE document;
DROP TABLE proposal;
DROP TABLE model;
DROP TABLE log_digest;
DROP TABLE checkpoint;

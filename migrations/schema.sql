-- The read model. Everything in it can be rebuilt from the log; the same log prefix gives the
-- same rows. Times are nanoseconds since 1970 in UTC, positions are sequence<<20 | n.

-- Which prefix of the log the rows show.
CREATE TABLE checkpoint (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  seq      INTEGER NOT NULL,  -- the last event folded
  position INTEGER NOT NULL,  -- the last change at or before it
  time     INTEGER NOT NULL,  -- running maximum of the log's timestamps
  changes  INTEGER NOT NULL,  -- how many changes there are
  fold     TEXT    NOT NULL,  -- fingerprint of the program that made these rows
  event    BLOB    NOT NULL,  -- digest of the last event folded
  digest   BLOB    NOT NULL,  -- digest of all events folded, a chain
  erasure  INTEGER NOT NULL DEFAULT 0 -- the last erase event with whose substitutes the rows were made; 0 for none
) STRICT;

-- The chain's digest at every 256th event, by which a log that differs is told from where on it does.
CREATE TABLE log_digest (
  seq    INTEGER PRIMARY KEY,
  digest BLOB NOT NULL
) STRICT;

-- The models that were applied, in order.
CREATE TABLE model (
  seq      INTEGER PRIMARY KEY,  -- the event that applied it
  source   TEXT NOT NULL,        -- the model as JSON
  fold     INTEGER NOT NULL,     -- the version of the fold from this event on
  reserved TEXT NOT NULL,        -- paths of removed rules not yet released, by collection, as JSON
  retired  TEXT NOT NULL,        -- those of the rules whose kept values are still stored, as JSON
  time     INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The last event about models, and the model that it announces, where that is yet to come.
CREATE TABLE proposal (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  seq    INTEGER NOT NULL,
  source TEXT,              -- as JSON
  fold   INTEGER NOT NULL,  -- the version of the fold that it announces; 0 for the one in force
  actor  TEXT               -- who announces it
) STRICT;

-- The documents that are there.
CREATE TABLE document (
  number     INTEGER PRIMARY KEY,  -- order of creation: the sequence of the event that created it
  collection TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  revision   INTEGER NOT NULL,     -- sequence of its last event
  position   INTEGER NOT NULL,     -- of its last change, derived ones included
  created    INTEGER NOT NULL,
  updated    INTEGER NOT NULL,     -- of its last write
  body       TEXT    NOT NULL,     -- the embedded view, ready to send
  source     ANY,                  -- the referenced view, where it is another: a text, or how it is spaced and the places where derived members stand in body
  omitted    TEXT,                 -- how many derived values it has no room for, by rule, as JSON
  created_by TEXT,                 -- who sent the request that created it; none where nobody in particular did, or an older base did not tell
  updated_by TEXT                  -- who sent that of its last write, alike
) STRICT;
CREATE UNIQUE INDEX document_key ON document (collection, id);

-- The last delete of each key that has no document now.
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

-- Relations and rules have numbers, because many rows name them. An event that applies a model gives the new ones theirs, in order.
CREATE TABLE name (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE  -- <collection>.<relation> or <collection>.<path>
) STRICT;

-- Who refers to whom, whether or not the target exists. What a document refers to stands in
-- the document itself.
CREATE TABLE link (
  relation INTEGER NOT NULL,  -- name.id
  target   TEXT    NOT NULL,  -- the id's text
  holder   INTEGER NOT NULL,  -- the referring document's number
  ordinal  INTEGER,           -- its place in the target's pages, where the relation has pages
  since    INTEGER,           -- the event that made it; none where that is the one that created the holder
  PRIMARY KEY (relation, target, holder)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX link_ordinal ON link (relation, target, ordinal) WHERE ordinal IS NOT NULL;

-- How many documents ever came into a target's pages.
CREATE TABLE paged (
  relation INTEGER NOT NULL,  -- name.id
  target   TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  PRIMARY KEY (relation, target)
) STRICT, WITHOUT ROWID;

-- What the documents that refer to a target enter into its min, max and recent, in order.
CREATE TABLE entry (
  rule   INTEGER NOT NULL,  -- name.id
  target TEXT    NOT NULL,
  sort   BLOB    NOT NULL,
  holder INTEGER NOT NULL,  -- the referring document's number
  PRIMARY KEY (rule, target, sort, holder)
) STRICT, WITHOUT ROWID;

-- What they add up to in its sum and avg, and how many they are in a count that looks at derived members. None: no row.
CREATE TABLE total (
  rule   INTEGER NOT NULL,  -- name.id
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

-- The last number that documents of a collection got at a path.
CREATE TABLE sequence (
  collection TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  key        TEXT    NOT NULL,  -- of the path and the value of per, which it does not tell
  last       INTEGER NOT NULL,
  seq        INTEGER NOT NULL,  -- of the last sequence event
  per        TEXT,              -- the value; none where no document tells it
  PRIMARY KEY (collection, path, key),
  UNIQUE (collection, key)      -- as the log has them; an import may name another path
) STRICT, WITHOUT ROWID;

-- Values that stay on their holder: after the target's delete (onDelete: keep), or for good
-- (frozen). Those of a removed rule stay until its path is released.
CREATE TABLE kept (
  rule   INTEGER NOT NULL,  -- name.id
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
  ordinal         INTEGER,           -- 1, 2, 3, ...; none for a derived change that is not its event's first: it follows that
  prior           INTEGER,           -- the document's change before it; none for a create
  number          INTEGER,           -- the document's; none for a create, whose event's sequence it is, and none for an erase
  collection      TEXT,              -- of a create, and of an erase
  id              TEXT,              -- of a create, and of an erase
  op              INTEGER,           -- 1 create, 2 replace, 3 patch, 4 delete, 5 erase; none for a derived change
  revision        INTEGER,           -- derived: the document's, none where that is its number; otherwise it is the event's sequence
  time            INTEGER,           -- of the event; in its first change only
  tx              TEXT,              -- the transaction's id, and after a line feed the function that was called in it; in the event's first change only
  actor           TEXT,              -- who sent the request; in the event's first change only
  form            INTEGER,           -- derived: what it has in common with others; otherwise of a write that a delete brought with it
  delta           BLOB,              -- derived: the values of its JSON Patch, as form says, or their edits of those of changes before
  previous        TEXT,              -- the embedded view before a direct change, and before derived ones that are key frames
  previous_source ANY,               -- the referenced view before it, where it differed, as in document.source
  omitted         TEXT               -- what the document's embedded view had no room for after it
) STRICT;
-- By it the next image of a document after a change is found.
CREATE INDEX change_image ON change (number, position) WHERE previous IS NOT NULL;

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

-- Documents that were deleted. A key may have had several, one after the other.
CREATE TABLE past_document (
  collection TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  deleted    INTEGER NOT NULL,  -- position of the delete
  PRIMARY KEY (collection, id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX past_document_number ON past_document (number);

-- Links that ended.
CREATE TABLE past_link (
  relation INTEGER NOT NULL,  -- name.id
  target   TEXT    NOT NULL,
  until    INTEGER NOT NULL,  -- the event that ended it
  holder   INTEGER NOT NULL,
  ordinal  INTEGER,           -- its place in the target's pages
  since    INTEGER NOT NULL,  -- the event that made it
  PRIMARY KEY (relation, target, until, holder)
) STRICT, WITHOUT ROWID;
CREATE INDEX past_link_holder ON past_link (relation, target, holder);
CREATE INDEX past_link_ordinal ON past_link (relation, target, ordinal) WHERE ordinal IS NOT NULL;

-- The events of models that made the links of a relation anew, or removed it. Places in its pages count from 0 on again.
CREATE TABLE relinked (
  relation TEXT    NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (relation, seq)
) STRICT, WITHOUT ROWID;

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
  relation INTEGER NOT NULL,  -- name.id
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

-- +goose Up
-- Who referred to whom is read as it was. The fingerprint is another, so that the read model is built anew.

-- The event that made it; none where that is the one that created the holder.
ALTER TABLE link ADD COLUMN since INTEGER;

-- Links that ended.
CREATE TABLE past_link (
  relation TEXT    NOT NULL,
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

CREATE INDEX past_document_number ON past_document (number);

-- +goose Down
DROP INDEX past_document_number;
DROP TABLE relinked;
DROP TABLE past_link;
ALTER TABLE link DROP COLUMN since;

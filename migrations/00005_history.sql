-- +goose Up
-- A document is read as it was, also where it was deleted since. The fingerprint is another, so that the read model is built anew.

-- Documents that were deleted. A key may have had several, one after the other.
CREATE TABLE past_document (
  collection TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  deleted    INTEGER NOT NULL,  -- position of the delete
  PRIMARY KEY (collection, id, number)
) STRICT, WITHOUT ROWID;

-- Nanoseconds since 1970 in UTC, as in table change.
ALTER TABLE model ADD COLUMN time INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE model DROP COLUMN time;
DROP TABLE past_document;

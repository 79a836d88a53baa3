-- +goose Up
-- The times, transactions and actors of events whose first change was erased from table change: other changes, and documents, still
-- need them.
CREATE TABLE erased_event (
  seq   INTEGER PRIMARY KEY,
  time  INTEGER NOT NULL,
  tx    TEXT,
  actor TEXT
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER change_erased AFTER DELETE ON change WHEN OLD.time IS NOT NULL BEGIN
  INSERT INTO erased_event (seq, time, tx, actor) VALUES (OLD.position >> 20, OLD.time, OLD.tx, OLD.actor);
END;
-- +goose StatementEnd

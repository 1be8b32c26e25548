-- names.id: the assumption of the protocol that the run had broken by then; NULL: none.
ALTER TABLE violations ADD COLUMN outside INTEGER;

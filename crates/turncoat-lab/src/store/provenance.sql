-- When the work ended, in seconds since 1970, and the command that did it; NULL: an older turncoat did not note it.
ALTER TABLE spells ADD COLUMN ended INTEGER;
ALTER TABLE spells ADD COLUMN command TEXT;

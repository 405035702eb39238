-- Version 8: checksums also cover the rows of chunk, tally and file, and distinguish null, numbers, texts and bytes.

alter table file add column digest integer; -- how rows are added up: 2; null: as up to version 7
alter table file add column books integer;  -- sum over the rows of chunk, tally and this one; null: not known

-- reading older files:
create temp view file as select *, null as digest, null as books from main.file;

-- Version 20: when the samples of instructions were read from the GPU, so that those of a step can be told.
alter table stall_sample add column start integer; -- of the time in which they were read; null: not known
alter table stall_sample add column end integer;
-- reading older files:
create temp view if not exists stall_sample as
select *, null as start, null as end from main.stall_sample;

-- Version 18: the steps in which ops were called, so that comparisons need not read ops.
alter table op_total add column first_step integer; -- of those in which they were called; null: not in traced steps
alter table op_total add column steps blob;         -- a bit for each step, as in activity_total; null: not known
-- reading older files:
create temp view if not exists op_total as
select *, null as first_step, null as steps from main.op_total;

-- Version 13: every chunk has a checksum of its rows and of what it says of them, by one rule for all tables, and `file`
-- and `next_id` are in chunks as well. A writer computes the checksums of an older file when it upgrades it.

-- The id of the next row of each table: ids are never given twice.
create table next_id (
    id integer primary key,
    source text not null unique, -- table
    next integer not null
);
insert into next_id (source, next) select source, next from tally where source <> 'level';
drop table tally;
alter table file drop column digest;
alter table file drop column books;

-- Time that a profiler took is no call of CUDA.
drop view CUPTI_ACTIVITY_KIND_RUNTIME;
create view CUPTI_ACTIVITY_KIND_RUNTIME as
select a.start, a.start + a.duration as end, 0 as eventClass,
       coalesce(p.pid, r.pid) * 16777216 + coalesce(t.native, a.thread) as globalTid,
       a.correlation - coalesce(p.first_correlation, 0) as correlationId, a.name as nameId, 0 as returnValue,
       null as callchainId, a.run
from api_call a
left join run r on r.id = a.run
left join thread t on t.run = a.run and t.thread = a.thread
left join process p on p.run = a.run and p.process = t.process
where a.kind is not (select id from string where text = 'overhead');

create view PROFILER_OVERHEAD as
select a.start, a.start + a.duration as end,
       coalesce(p.pid, r.pid) * 16777216 + coalesce(t.native, a.thread) as globalTid, a.name as nameId, a.run
from api_call a
left join run r on r.id = a.run
left join thread t on t.run = a.run and t.thread = a.thread
left join process p on p.run = a.run and p.process = t.process
where a.kind = (select id from string where text = 'overhead');

-- reading older files:
create temp view chunk as
select id, run, source, first, last, rows, start, end, null as checksum from main.chunk where source <> 'level';

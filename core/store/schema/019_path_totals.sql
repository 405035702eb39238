-- Version 19: what the critical path of each step spends its time on, so that the paths of all steps are known without reading
-- events. Made when a recording of 50,000 events or more was recorded or imported.
create table path_total (
    id integer primary key,
    run integer not null,
    rules integer not null,    -- number of the rules by which the path was found; others may find another one
    step integer,              -- null: the whole recording, which has no steps
    process integer,           -- of a run with several; null: the only one
    start integer not null,    -- of the step
    end integer not null,
    host integer not null,     -- ns, as the others
    launch integer not null,
    compute integer not null,
    memory integer not null,
    communication integer not null,
    data_loading integer not null,
    synchronization integer not null,
    unexplained integer not null
);

create view path_totals as
select run, step, process, start, end, end - start as wall, host, launch, compute, memory, communication, data_loading,
       synchronization, unexplained
from path_total;

-- reading older files:
create temp view path_total as
select null as id, null as run, null as rules, null as step, null as process, null as start, null as end, null as host,
       null as launch, null as compute, null as memory, null as communication, null as data_loading,
       null as synchronization, null as unexplained where 0;

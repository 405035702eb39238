-- Version 5: sums over a run's traced steps, so that summaries read no events. Computed from the events when a run
-- ends; omitted for small runs, like tracks.

-- Kernels, copies and memsets with the same name and path.
create table kernel_total (
    id integer primary key,
    run integer not null,
    kind text not null,         -- kernel, memcpy, memset
    name integer,
    path integer,
    instances integer not null,
    total integer not null,     -- ns
    shortest integer not null,
    longest integer not null,
    squares real not null       -- sum of the squared durations, ns^2: with the rest it gives the spread
);

-- Sums for each path, from step down, in tree order.
create table range_total (
    id integer primary key,
    run integer not null,
    path integer not null,
    instances integer not null,
    wall integer,               -- ns; null where no host range or op tells it
    gpu integer                 -- ns in which the GPU was busy with it; null without a GPU
);

-- The parts of the wall time of a step. They do not overlap and add up to it; all 0 if no GPU was traced.
create table step_total (
    id integer primary key,
    run integer not null,
    step integer not null,
    start integer not null,
    end integer not null,
    gpu_busy integer not null,  -- ns
    launching integer not null,
    synchronizing integer not null,
    tracing integer not null,
    unexplained integer not null
);

create view kernel_totals as
select t.run, t.kind, n.text as name, sn.text as short_name, p.text as path, t.instances, t.total,
       t.total * 1.0 / t.instances as mean, t.shortest, t.longest
from kernel_total t
left join string n on n.id = t.name
left join kernel_name kn on kn.id = t.name
left join string sn on sn.id = kn.short
left join string p on p.id = t.path;

create view range_totals as
select t.run, p.text as path, t.instances, t.wall, t.gpu
from range_total t
left join string p on p.id = t.path;

create view step_totals as
select run, step, start, end, end - start as wall, gpu_busy, launching, synchronizing, tracing, unexplained
from step_total;

-- reading older files:
create temp view kernel_total as
select null as id, null as run, null as kind, null as name, null as path, null as instances, null as total,
       null as shortest, null as longest, null as squares where 0;
create temp view range_total as
select null as id, null as run, null as path, null as instances, null as wall, null as gpu where 0;
create temp view step_total as
select null as id, null as run, null as step, null as start, null as end, null as gpu_busy, null as launching,
       null as synchronizing, null as tracing, null as unexplained, null as process where 0;

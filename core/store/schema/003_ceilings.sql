-- Version 3: ceilings of devices, hardware counters, and the offset between the clocks of host and device.

-- The measured maximum performance of a device, to which achieved rates are compared. Shared by all runs of
-- the file.
create table ceiling (
    id integer primary key,
    device text not null,      -- UUID
    device_name text not null,
    kind text not null,        -- matmul_bf16, matmul_tf32, matmul_fp32, copy, …
    value real not null,
    unit text not null,
    n integer not null,        -- measurements behind it
    spread real not null,      -- their standard deviation, in the same unit
    measured integer not null, -- unix ns
    program text not null
);

-- Hardware counters of a range, summed over its instances.
create table counter (
    id integer primary key,
    run integer not null,
    path text not null,
    metric text not null,
    value real not null,
    unit text not null,
    instances integer not null, -- of the range
    passes integer not null     -- of the step that it took to read the metric
);

-- The shortest time from a launch to its start, ns, in the first and the last traced step. Its change is the drift.
alter table run add column clock_offset_start integer;
alter table run add column clock_offset_end integer;

create view ceilings as
select device, device_name, kind, value, unit, n, spread, measured,
       datetime(measured / 1000000000, 'unixepoch') as measured_utc, program
from ceiling;

create view counters as
select run, path, metric, value, unit, instances, passes from counter;

-- reading older files:
create temp view ceiling as
select null as id, null as device, null as device_name, null as kind, null as value, null as unit, null as n,
       null as spread, null as measured, null as program where 0;
create temp view counter as
select null as id, null as run, null as path, null as metric, null as value, null as unit, null as instances,
       null as passes where 0;
create temp view run as select *, null as clock_offset_start, null as clock_offset_end from main.run;

-- Version 11: counters over time: clocks, power, temperature, utilisation and traffic, read while a run is traced.

-- Up to several thousand consecutive readings of one counter.
create table counter_track (
    id integer primary key,
    run integer not null,
    process integer,          -- null: of a device, or of the run's only process
    device integer,           -- null: of the host
    name integer not null,    -- string.id: SM clock
    unit integer not null,    -- string.id: Hz, W, °C, %, B, B/s
    samples integer not null, -- readings
    failed integer not null,  -- readings that failed
    start integer not null,   -- of the first reading
    end integer not null,     -- until when the last value holds
    minimum real not null,    -- in the unit
    mean real not null,       -- each value weighs as long as it holds
    maximum real not null,
    data blob not null        -- times and values
);

create view counter_tracks as
select c.run, c.process, c.device, n.text as name, u.text as unit, c.samples, c.failed, c.start, c.end, c.minimum,
       c.mean, c.maximum
from counter_track c
left join string n on n.id = c.name
left join string u on u.id = c.unit;

-- reading older files:
create temp view counter_track as
select null as id, null as run, null as process, null as device, null as name, null as unit, null as samples,
       null as failed, null as start, null as end, null as minimum, null as mean, null as maximum, null as data
where 0;

-- Version 2: precomputed data for viewers: the packed boxes of each lane by row, and their sums at several levels of
-- detail. Computed from the events when a run ends; omitted for small runs.

-- A row of non-overlapping boxes in one lane, or the memory curve of a device.
create table track (
    id integer primary key,
    run integer not null,
    kind text not null,      -- range, thread, stream, busy, memory
    device integer,
    stream integer,
    thread integer,
    row integer not null,    -- within the lane, from 0 at the top
    events integer not null,
    start integer not null,
    end integer not null
);

-- The sum over several neighbouring boxes of a track.
create table level (
    id integer primary key,
    run integer not null,
    track integer not null,
    level integer not null,  -- from 0, the finest
    first integer not null,  -- index of the first box in its track
    events integer not null,
    start integer not null,
    end integer not null,
    covered integer,         -- ns within boxes
    name integer,            -- string.id of the name with the most of it
    lowest integer,          -- of a memory track: bytes allocated
    highest integer
);
create index level_track on level (track, level, first);

-- The boxes, several thousand per value.
create table track_data (
    id integer primary key,
    run integer not null,
    track integer not null,
    first integer not null,
    events integer not null,
    start integer not null,
    end integer not null,
    data blob not null
);
create index track_data_track on track_data (track, first);

-- reading older files:
create temp view track as
select null as id, null as run, null as kind, null as device, null as stream, null as thread, null as row,
       null as events, null as start, null as end where 0;
create temp view track_data as
select null as id, null as run, null as track, null as first, null as events, null as start, null as end,
       null as data where 0;

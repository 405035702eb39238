-- Version 7: the source locations of a run's ranges: the C++ frames of its memory snapshots.

create table code_place (
    id integer primary key,
    run integer not null,
    path integer not null,     -- string.id; step/forward/layers.3/ffn
    file integer not null,     -- string.id; within the source tree
    line integer not null,
    function integer not null  -- string.id
);

create view code_places as
select c.run, p.text as path, f.text as file, c.line, n.text as function
from code_place c
left join string p on p.id = c.path
left join string f on f.id = c.file
left join string n on n.id = c.function;

-- reading older files:
create temp view code_place as
select null as id, null as run, null as path, null as file, null as line, null as function where 0;

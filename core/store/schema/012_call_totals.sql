-- Version 12: sums over a whole recording by what called, so that trees and tables of work read no events. Made with the
-- totals of version 5; omitted also if the calls have too little in common.

-- Calls of ops with the same name, arguments, place, process and caller.
create table op_total (
    id integer primary key,
    run integer not null,
    number integer not null,   -- in the run, from 0
    caller integer,            -- number of the op that called it, less than its own; null: none
    name integer,
    shapes integer,
    path integer,
    process integer,           -- of a run with several; null: the only one
    traced integer not null,   -- 1: in traced steps
    first integer,             -- number of the first op in the run that launched; null: none did
    calls integer not null,
    launching integer,         -- calls within which a kernel, copy or memset was launched; null: not determined
    total integer not null,    -- ns
    self integer not null      -- ns that no op inside it took
);

-- Kernels, copies and memsets of one name that such calls launched.
create table activity_total (
    id integer primary key,
    run integer not null,
    kind text not null,        -- kernel, memcpy, memset
    name integer,
    path integer,
    process integer,
    op integer,                -- op_total.number; null: unknown
    traced integer not null,
    launched integer not null, -- 1: the launch was recorded
    replayed integer not null, -- 1: of a CUDA graph
    instances integer not null,
    total integer not null,    -- ns
    shortest integer not null,
    longest integer not null,
    squares real not null,     -- sum of the squared durations, ns^2
    first_step integer,        -- of those in which they ran; null: not in traced steps
    steps blob                 -- a bit for each step from the first on, the lowest of a byte first; null: not known
);

-- Blocks of memory that such calls allocated.
create table allocation_total (
    id integer primary key,
    run integer not null,
    path integer,
    category integer,
    process integer,
    op integer,                -- op_total.number; null: unknown
    traced integer not null,
    gpu integer not null,      -- 1: memory of a GPU
    blocks integer not null,
    bytes integer not null
);

create view op_totals as
select t.run, t.number, t.caller, n.text as name, s.text as shapes, p.text as path, t.process, t.traced, t.first,
       t.calls, t.launching, t.total, t.self
from op_total t
left join string n on n.id = t.name
left join string s on s.id = t.shapes
left join string p on p.id = t.path;

create view activity_totals as
select t.run, t.kind, n.text as name, sn.text as short_name, p.text as path, t.process, t.op, t.traced, t.launched,
       t.replayed, t.instances, t.total, t.total * 1.0 / t.instances as mean, t.shortest, t.longest, t.first_step
from activity_total t
left join string n on n.id = t.name
left join kernel_name kn on kn.id = t.name
left join string sn on sn.id = kn.short
left join string p on p.id = t.path;

create view allocation_totals as
select t.run, p.text as path, c.text as category, t.process, t.op, t.traced, t.gpu, t.blocks, t.bytes
from allocation_total t
left join string p on p.id = t.path
left join string c on c.id = t.category;

-- reading older files:
create temp view op_total as
select null as id, null as run, null as number, null as caller, null as name, null as shapes, null as path,
       null as process, null as traced, null as first, null as calls, null as launching, null as total, null as self,
       null as first_step, null as steps where 0;
create temp view activity_total as
select null as id, null as run, null as kind, null as name, null as path, null as process, null as op, null as traced,
       null as launched, null as replayed, null as instances, null as total, null as shortest, null as longest,
       null as squares, null as first_step, null as steps where 0;
create temp view allocation_total as
select null as id, null as run, null as path, null as category, null as process, null as op, null as traced,
       null as gpu, null as blocks, null as bytes where 0;

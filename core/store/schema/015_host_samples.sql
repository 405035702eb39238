-- Version 15: the Python stacks of threads, at each launch and at instants between.

-- A stack: its last call, and the stack of the caller.
create table host_stack (
    id integer primary key,
    run integer not null,
    process integer,          -- null: the run's only process
    number integer not null,  -- in the process, from 0; callers come first
    caller integer,           -- number of the caller's stack; null: outermost
    function integer not null, -- string.id: train.py(12): step
    line integer              -- that runs; null: unknown
);

-- Up to several thousand consecutive instants at which a thread had a stack.
create table host_sample (
    id integer primary key,
    run integer not null,
    process integer,
    thread integer not null,
    samples integer not null,  -- at instants between launches
    launches integer not null, -- at launches
    start integer not null,    -- of the first
    end integer not null,      -- of the last
    data blob not null         -- times, numbers of stacks, states
);

create view host_stacks as
select h.run, h.process, h.number, h.caller, f.text as function, h.line
from host_stack h
left join string f on f.id = h.function;

create view host_samples as
select run, process, thread, samples, launches, start, end from host_sample;

-- reading older files:
create temp view host_stack as
select null as id, null as run, null as process, null as number, null as caller, null as function, null as line where 0;
create temp view host_sample as
select null as id, null as run, null as process, null as thread, null as samples, null as launches, null as start,
       null as end, null as data where 0;

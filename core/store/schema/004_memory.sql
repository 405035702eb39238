-- Version 4: the purpose of a run's memory, in addition to its allocation events.

-- Blocks that were allocated when the trace began, and free blocks between them. Times count from clock_origin.
create table memory_block (
    id integer primary key,
    run integer not null,
    start integer not null,   -- when they were looked at
    device integer,           -- null: the CPU
    address integer not null,
    bytes integer not null,   -- that were asked for
    size integer not null,    -- that it takes in its segment
    free integer not null,    -- 1: nobody has it
    category text not null,
    name text not null,       -- layers.3/ffn/down, tokens, cuBLAS; empty where it is not known
    shape text not null,
    dtype text not null
);

-- Segments that the caching allocator had reserved when the trace began.
create table memory_segment (
    id integer primary key,
    run integer not null,
    start integer not null,
    device integer,
    address integer not null,
    bytes integer not null,
    stream integer,
    pool integer not null,
    large integer not null
);

-- Memory figures of the allocator, the driver and NVML.
create table memory_reading (
    id integer primary key,
    run integer not null,
    start integer not null,
    device integer,
    moment text not null,      -- trace begins, trace ends
    requested integer not null,
    allocated integer not null,
    reserved integer not null,
    device_used integer,       -- by all processes
    device_total integer,
    process integer            -- by this one
);

-- Tensors that autograd nodes saved for backward.
create table saved_tensor (
    id integer primary key,
    run integer not null,
    number integer not null,  -- within the run, from 0
    start integer not null,   -- when the graph was looked at, before the trace
    path text not null,       -- range in which the node was made
    op text not null,
    tensor text not null,
    shape text not null,
    dtype text not null,
    bytes integer not null,
    address integer not null,
    storage_bytes integer not null,
    shared_with integer,      -- number of the tensor that counts the storage; null: this one
    category text not null,
    made integer,             -- in the first traced step; null where it is older
    freed integer             -- null where it outlives the trace
);

create view saved_tensors as
select run, number, path, op, tensor, shape, dtype, bytes, storage_bytes, shared_with, category, made, freed
from saved_tensor;

create view memory_blocks as
select run, start, device, address, bytes, size, free, category, name, shape, dtype from memory_block;

-- reading older files:
create temp view memory_block as
select null as id, null as run, null as start, null as device, null as address, null as bytes, null as size,
       null as free, null as category, null as name, null as shape, null as dtype where 0;
create temp view memory_segment as
select null as id, null as run, null as start, null as device, null as address, null as bytes, null as stream,
       null as pool, null as large, null as expandable where 0;
create temp view memory_reading as
select null as id, null as run, null as start, null as device, null as moment, null as requested, null as allocated,
       null as reserved, null as device_used, null as device_total, null as process where 0;
create temp view saved_tensor as
select null as id, null as run, null as number, null as start, null as path, null as op, null as tensor,
       null as shape, null as dtype, null as bytes, null as address, null as storage_bytes, null as shared_with,
       null as category, null as made, null as freed where 0;

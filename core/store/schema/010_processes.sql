-- Version 10: runs of several processes, devices and clocks, as recorded by Tilescope or imported from other tools.

-- A clock that time stamps were taken from. Times in the file are on the axis of clock 0 of their run.
create table clock (
    id integer primary key,
    run integer not null,
    clock integer not null,   -- number in the run, from 0
    name text not null,       -- host or file whose clock it is
    offset integer not null,  -- ns, added to its time stamps to place them on the axis
    uncertainty integer,      -- ns, half width of the interval of the offset; null: unknown
    method text not null      -- same clock, wall clock, ends of collectives
);

-- A run of one process that Tilescope ran itself has no rows here: its process is that of the run.
create table process (
    id integer primary key,
    run integer not null,
    process integer not null,  -- number in the run, from 0
    pid integer,               -- null: unknown
    host text not null,
    name text not null,
    command_line text not null, -- secrets masked
    rank integer,              -- null: not part of a group
    world_size integer,
    started integer,           -- unix ns
    clock integer not null,
    first_correlation integer not null -- correlation ids of the run count from here; CUDA's count from 0
);

create table device (
    id integer primary key,
    run integer not null,
    device integer not null,   -- number in the run: columns `device` of events
    ordinal integer not null,  -- CUDA's number in the process that used it
    uuid text not null,
    name text not null,
    host text not null,
    memory integer,            -- bytes
    multiprocessors integer,
    capability text not null   -- 9.0
);

create table stream (
    id integer primary key,
    run integer not null,
    device integer not null,
    stream integer not null,   -- number in the run: columns `stream` of events
    process integer not null,
    native integer not null,   -- CUPTI's number in the process
    context integer,
    name text not null
);

alter table thread add column process integer; -- null: the process of the run
alter table thread add column native integer;  -- the operating system's number; null: `thread` is

-- Calls of functions, from the stacks of an interpreter (Python).
create table frame (
    id integer primary key,
    run integer not null,
    step integer,
    start integer not null,
    duration integer not null,
    name integer,
    thread integer
);

-- Collective and point-to-point operations between processes.
create table collective (
    id integer primary key,
    run integer not null,
    process integer,
    step integer,
    start integer not null,
    duration integer not null,
    op integer not null,       -- string.id: all_reduce
    grp integer,               -- string.id of the process group's name
    ranks integer,             -- string.id of "0,1,2,3"; null: unknown
    dtype integer,             -- string.id
    sequence integer,          -- number within the group, the same on every rank
    bytes integer,             -- message of one rank; null: unknown
    group_size integer,
    peer integer,              -- rank, of point-to-point operations
    device integer,            -- null: on the host
    stream integer,
    thread integer,
    correlation integer,       -- of its kernel
    range integer,
    path integer
);

-- Waits that order streams, or host and device.
create table wait (
    id integer primary key,
    run integer not null,
    process integer,
    step integer,
    start integer not null,
    duration integer not null,
    kind text not null,        -- event, stream_wait, stream, context
    device integer,
    stream integer,            -- that waits, or that the host waits for
    waited_for integer,        -- stream_wait: the stream that recorded the event
    correlation integer,       -- of the call that waits
    record_correlation integer -- of the call that recorded the event
);

alter table step_total add column process integer; -- of a run with several; null: the only one

drop view step_totals;
create view step_totals as
select run, step, process, start, end, end - start as wall, gpu_busy, launching, synchronizing, tracing, unexplained
from step_total;

create view clocks as
select run, clock, name, offset, uncertainty, method from clock;

create view traced_processes as
select run, process, pid, host, name, command_line, rank, world_size, started, clock, first_correlation from process;

create view devices as
select run, device, ordinal, uuid, name, host, memory, multiprocessors, capability from device;

create view streams as
select run, device, stream, process, native, context, name from stream;

create view frames as
select f.id, f.run, f.step, f.start, f.start + f.duration as end, f.duration, n.text as name, f.thread
from frame f
left join string n on n.id = f.name;

create view collectives as
select c.id, c.run, c.process, c.step, c.start, c.start + c.duration as end, c.duration, o.text as op, g.text as grp,
       r.text as ranks, d.text as dtype, c.sequence, c.bytes, c.group_size, c.peer, c.device, c.stream, c.thread,
       c.correlation, c.range, p.text as path
from collective c
left join string o on o.id = c.op
left join string g on g.id = c.grp
left join string r on r.id = c.ranks
left join string d on d.id = c.dtype
left join string p on p.id = c.path;

create view waits as
select id, run, process, step, start, start + duration as end, duration, kind, device, stream, waited_for, correlation,
       record_correlation
from wait;

drop view threads;
create view threads as
select t.run, t.thread, n.text as name, t.process, coalesce(t.native, t.thread) as native
from thread t
left join string n on n.id = t.name;

-- Nsight Systems' names: processes, threads, streams and correlation ids as the profiled programs had them.
drop view CUPTI_ACTIVITY_KIND_KERNEL;
create view CUPTI_ACTIVITY_KIND_KERNEL as
select k.start, k.start + k.duration as end, k.device as deviceId, coalesce(s.context, 1) as contextId,
       null as greenContextId, coalesce(s.native, k.stream) as streamId,
       k.correlation - coalesce(p.first_correlation, 0) as correlationId,
       coalesce(p.pid, r.pid) * 16777216 as globalPid, k.name as demangledName,
       coalesce(kn.short, k.name) as shortName, k.name as mangledName, null as launchType, null as cacheConfig,
       l.registers as registersPerThread, l.grid_x as gridX, l.grid_y as gridY, l.grid_z as gridZ,
       l.block_x as blockX, l.block_y as blockY, l.block_z as blockZ, l.static_shared as staticSharedMemory,
       l.dynamic_shared as dynamicSharedMemory, l.local as localMemoryPerThread, null as localMemoryTotal,
       null as gridId, null as sharedMemoryExecuted, k.graph_node as graphNodeId, null as sharedMemoryLimitConfig,
       l.cluster_x as clusterX, l.cluster_y as clusterY, l.cluster_z as clusterZ, k.run
from kernel k
left join run r on r.id = k.run
left join stream s on s.run = k.run and s.device = k.device and s.stream = k.stream
left join process p on p.run = k.run and p.process = s.process
left join kernel_name kn on kn.id = k.name
left join launch l on l.id = k.launch;

drop view CUPTI_ACTIVITY_KIND_MEMCPY;
create view CUPTI_ACTIVITY_KIND_MEMCPY as
select c.start, c.start + c.duration as end, c.device as deviceId, coalesce(s.context, 1) as contextId,
       null as greenContextId, coalesce(s.native, c.stream) as streamId,
       c.correlation - coalesce(p.first_correlation, 0) as correlationId,
       coalesce(p.pid, r.pid) * 16777216 as globalPid, c.bytes,
       case d.text when 'host_to_device' then 1 when 'device_to_host' then 2 when 'device_to_device' then 8
                   when 'host_to_host' then 9 when 'peer_to_peer' then 10 else 0 end as copyKind,
       null as deprecatedSrcId, null as srcKind, null as dstKind, null as srcDeviceId, null as srcContextId,
       null as dstDeviceId, null as dstContextId, null as migrationCause, c.graph_node as graphNodeId,
       null as virtualAddress, null as copyCount, c.run
from copy c
join string k on k.id = c.kind and k.text = 'memcpy'
left join string d on d.id = c.direction
left join run r on r.id = c.run
left join stream s on s.run = c.run and s.device = c.device and s.stream = c.stream
left join process p on p.run = c.run and p.process = s.process;

drop view CUPTI_ACTIVITY_KIND_MEMSET;
create view CUPTI_ACTIVITY_KIND_MEMSET as
select c.start, c.start + c.duration as end, c.device as deviceId, coalesce(s.context, 1) as contextId,
       null as greenContextId, coalesce(s.native, c.stream) as streamId,
       c.correlation - coalesce(p.first_correlation, 0) as correlationId,
       coalesce(p.pid, r.pid) * 16777216 as globalPid, null as value, c.bytes,
       c.graph_node as graphNodeId, null as memKind, c.run
from copy c
join string k on k.id = c.kind and k.text = 'memset'
left join run r on r.id = c.run
left join stream s on s.run = c.run and s.device = c.device and s.stream = c.stream
left join process p on p.run = c.run and p.process = s.process;

drop view CUPTI_ACTIVITY_KIND_RUNTIME;
create view CUPTI_ACTIVITY_KIND_RUNTIME as
select a.start, a.start + a.duration as end, 0 as eventClass,
       coalesce(p.pid, r.pid) * 16777216 + coalesce(t.native, a.thread) as globalTid,
       a.correlation - coalesce(p.first_correlation, 0) as correlationId, a.name as nameId, 0 as returnValue,
       null as callchainId, a.run
from api_call a
left join run r on r.id = a.run
left join thread t on t.run = a.run and t.thread = a.thread
left join process p on p.run = a.run and p.process = t.process;

drop view NVTX_EVENTS;
create view NVTX_EVENTS as
select n.start, n.start + n.duration as end, 59 as eventType, null as rangeId, null as category, null as color,
       s.text, coalesce(p.pid, r.pid) * 16777216 + coalesce(t.native, n.thread) as globalTid, null as endGlobalTid,
       n.name as textId, 0 as domainId,
       null as uint64Value, null as int64Value, null as doubleValue, null as uint32Value, null as int32Value,
       null as floatValue, null as jsonTextId, null as jsonText, null as binaryData, n.run
from range n
left join string s on s.id = n.name
left join run r on r.id = n.run
left join thread t on t.run = n.run and t.thread = n.thread
left join process p on p.run = n.run and p.process = t.process;

drop view ThreadNames;
create view ThreadNames as
select t.name as nameId, null as priority,
       coalesce(p.pid, r.pid) * 16777216 + coalesce(t.native, t.thread) as globalTid, t.run
from thread t
left join run r on r.id = t.run
left join process p on p.run = t.run and p.process = t.process;

drop view PROCESSES;
create view PROCESSES as
select pid * 16777216 as globalPid, pid, program as name, id as run from run
where not exists (select 1 from process where process.run = run.id)
union all
select pid * 16777216, pid, name, run from process;

drop view TARGET_INFO_GPU;
create view TARGET_INFO_GPU as
select 0 as id, n.value as name, m.value as totalMemory, u.value as uuid, 0 as cuDevice, n.run
from environment n
left join environment m on m.run = n.run and m.key = 'gpu.memory'
left join environment u on u.run = n.run and u.key = 'gpu.uuid'
where n.key = 'gpu.name' and not exists (select 1 from device where device.run = n.run)
union all
select device, name, memory, uuid, ordinal, run from device;

-- reading older files:
create temp view clock as
select null as id, null as run, null as clock, null as name, null as offset, null as uncertainty, null as method
where 0;
create temp view process as
select null as id, null as run, null as process, null as pid, null as host, null as name, null as command_line,
       null as rank, null as world_size, null as started, null as clock, null as first_correlation where 0;
create temp view device as
select null as id, null as run, null as device, null as ordinal, null as uuid, null as name, null as host,
       null as memory, null as multiprocessors, null as capability where 0;
create temp view stream as
select null as id, null as run, null as device, null as stream, null as process, null as native, null as context,
       null as name where 0;
create temp view thread as
select *, null as process, null as native from main.thread;
create temp view if not exists step_total as
select *, null as process from main.step_total;
create temp view frame as
select null as id, null as run, null as step, null as start, null as duration, null as name, null as thread where 0;
create temp view collective as
select null as id, null as run, null as process, null as step, null as start, null as duration, null as op,
       null as grp, null as ranks, null as dtype, null as sequence, null as bytes, null as group_size, null as peer,
       null as device, null as stream, null as thread, null as correlation, null as range, null as path where 0;
create temp view wait as
select null as id, null as run, null as process, null as step, null as start, null as duration, null as kind,
       null as device, null as stream, null as waited_for, null as correlation, null as record_correlation where 0;

-- Version 1 of a .tscope file. resources/help/store.md describes every table, column and view.
--
-- Tables have singular names and contain the records, with ids for repeated texts. Views have plural names and show the
-- same rows with texts and times. Rows are appended in start order and never moved, so `chunk`, with one small row per
-- several hundred events, replaces indexes of event tables.
--
-- A file stores the text of each statement, comments within it included, and readers compare it: never change a
-- published statement or a comment within one.

create table file (
    id integer primary key,  -- always 1
    created integer not null, -- unix ns
    program text not null,    -- that made it
    sealed integer not null,  -- 1: the last writer ended in order
    edition integer not null  -- grows when rows are removed: what a reader remembers of them is void
);

-- Number of rows per table, and the id of its next row (ids are never reused).
create table tally (
    source text primary key,
    rows integer not null,
    next integer not null
) without rowid;

-- Several hundred rows that were written together: their ids, time range and sums.
create table chunk (
    id integer primary key,
    run integer,            -- null: shared by all runs
    source text not null,   -- table
    first integer not null, -- lowest and highest id
    last integer not null,
    rows integer not null,
    start integer,          -- earliest start and latest end of its events
    end integer,
    checksum integer not null
);
create index chunk_run on chunk (run, source);

-- Every text that rows refer to by id; texts are unique.
create table string (
    id integer primary key,
    text text not null unique
);

create table run (
    id integer primary key,
    uid text not null unique,
    name text not null,
    workload text not null,
    spec text not null,      -- JSON
    spec_hash text not null,
    point integer,           -- position in its sweep, from 0
    program text not null,
    host text not null,
    pid integer not null,
    status text not null,
    reason text not null default '',
    device text not null default '',
    parameters integer,
    before_backward integer,
    peak_allocated integer,
    peak_reserved integer,
    trace_overhead real,
    loss real,
    oom_requested integer,
    oom_allocated integer,
    oom_reserved integer,
    oom_phase text,
    flags text not null default '[]', -- JSON
    started integer not null,      -- unix ns
    duration integer,              -- ns
    clock_origin integer not null, -- the trace clock at `started`, ns; times of events count from it
    records_checked integer not null default 0,
    first_range integer not null,  -- ids of this run's ranges and ops count from these
    first_op integer not null,
    note text not null default '',
    tag text not null default ''
);

create table environment (
    id integer primary key,
    run integer not null,
    key text not null,
    value text not null,
    unit text not null
);

create table sample (
    id integer primary key,
    run integer not null,
    step integer not null,
    kind text not null,
    phase text not null,
    wall_ns integer not null,
    gpu_ns integer
);

create table loss (
    id integer primary key,
    run integer not null,
    kind text not null,
    severity text not null,
    count integer not null,
    detail text not null
);

create table thread (
    id integer primary key,
    run integer not null,
    thread integer not null,
    name integer
);

-- The launch configurations of kernels. Many launches share one.
create table launch (
    id integer primary key,
    grid_x integer not null,
    grid_y integer not null,
    grid_z integer not null,
    block_x integer not null,
    block_y integer not null,
    block_z integer not null,
    cluster_x integer not null,
    cluster_y integer not null,
    cluster_z integer not null,
    registers integer not null,
    static_shared integer not null,
    dynamic_shared integer not null,
    local integer not null
);

-- The function name of a kernel, without namespaces, template arguments and parameters.
create table kernel_name (
    id integer primary key, -- string.id of the full name
    short integer not null  -- string.id
);

create table range (
    id integer primary key,
    run integer not null,
    step integer,
    start integer not null,
    duration integer not null,
    name integer,
    path integer,
    parent integer,
    thread integer
);

create table op (
    id integer primary key,
    run integer not null,
    step integer,
    start integer not null,
    duration integer not null,
    name integer,
    path integer,
    shapes integer,
    scope integer not null,
    range integer,
    parent integer,
    thread integer,
    sequence integer
);

create table api_call (
    id integer primary key,
    run integer not null,
    step integer,
    start integer not null,
    duration integer not null,
    name integer,
    kind integer not null,
    correlation integer,
    range integer,
    op integer,
    thread integer
);

create table kernel (
    id integer primary key,
    run integer not null,
    step integer,
    start integer not null,
    duration integer not null,
    name integer,
    path integer,
    launch integer not null,
    device integer,
    stream integer,
    correlation integer,
    range integer,
    op integer,
    thread integer,
    queued integer,
    graph_node integer
);

-- Copies and memsets.
create table copy (
    id integer primary key,
    run integer not null,
    step integer,
    start integer not null,
    duration integer not null,
    name integer,
    path integer,
    kind integer not null,
    direction integer,
    bytes integer not null,
    device integer,
    stream integer,
    correlation integer,
    range integer,
    op integer,
    thread integer,
    queued integer,
    graph_node integer
);

create table allocation (
    id integer primary key,
    run integer not null,
    step integer,
    start integer not null,
    action integer not null,
    device integer,
    address integer not null,
    bytes integer not null,
    allocated integer not null,
    reserved integer not null,
    stream integer,
    pool integer not null,
    category integer,
    path integer,
    op integer
);

-- Views for people -------------------------------------------------------------------------------------------------

create view runs as
select id as run, uid, name, workload, point, status, reason, device, parameters, before_backward, peak_allocated,
       peak_reserved, trace_overhead, loss, flags, started, duration / 1e9 as seconds, note, tag,
       datetime(started / 1000000000, 'unixepoch') as started_utc
from run;

create view samples as
select run, step, kind, phase, wall_ns, gpu_ns from sample;

create view losses as
select run, kind, severity, sum(count) as count, detail from loss group by run, kind, severity, detail;

create view threads as
select t.run, t.thread, n.text as name from thread t left join string n on n.id = t.name;

create view ranges as
select r.id, r.run, r.step, r.start, r.start + r.duration as end, r.duration, n.text as name, p.text as path, r.parent,
       r.thread
from range r
left join string n on n.id = r.name
left join string p on p.id = r.path;

create view ops as
select o.id, o.run, o.step, o.start, o.start + o.duration as end, o.duration, n.text as name, p.text as path,
       h.text as shapes, s.text as scope, o.range, o.parent, o.thread, o.sequence
from op o
left join string n on n.id = o.name
left join string p on p.id = o.path
left join string h on h.id = o.shapes
left join string s on s.id = o.scope;

create view api_calls as
select a.id, a.run, a.step, a.start, a.start + a.duration as end, a.duration, n.text as name, k.text as kind,
       a.correlation, a.range, a.op, a.thread
from api_call a
left join string n on n.id = a.name
left join string k on k.id = a.kind;

create view kernels as
select k.id, k.run, k.step, k.start, k.start + k.duration as end, k.duration, n.text as name, sn.text as short_name,
       p.text as path, k.device, k.stream, k.start - k.queued as launched, l.grid_x, l.grid_y, l.grid_z, l.block_x,
       l.block_y, l.block_z, l.cluster_x, l.cluster_y, l.cluster_z, l.registers, l.static_shared, l.dynamic_shared,
       l.local, k.correlation, k.range, k.op, k.thread, k.graph_node
from kernel k
left join string n on n.id = k.name
left join kernel_name kn on kn.id = k.name
left join string sn on sn.id = kn.short
left join string p on p.id = k.path
left join launch l on l.id = k.launch;

create view copies as
select c.id, c.run, c.step, c.start, c.start + c.duration as end, c.duration, n.text as name, p.text as path,
       k.text as kind, d.text as direction, c.bytes, c.device, c.stream, c.start - c.queued as launched, c.correlation,
       c.range, c.op, c.thread, c.graph_node
from copy c
left join string n on n.id = c.name
left join string p on p.id = c.path
left join string k on k.id = c.kind
left join string d on d.id = c.direction;

create view allocations as
select a.id, a.run, a.step, a.start, x.text as action, a.device, a.address, a.bytes, a.allocated, a.reserved, a.stream,
       a.pool, c.text as category, p.text as path, a.op
from allocation a
left join string x on x.id = a.action
left join string c on c.id = a.category
left join string p on p.id = a.path;

-- Views for queries written for Nsight Systems' SQLite export ------------------------------------------------------
-- Times count from the start of the run, and globalTid and globalPid combine process and thread numbers, as in the
-- export.

create view StringIds as
select id, text as value from string;

create view CUPTI_ACTIVITY_KIND_KERNEL as
select k.start, k.start + k.duration as end, k.device as deviceId, 1 as contextId, null as greenContextId,
       k.stream as streamId, k.correlation as correlationId, r.pid * 16777216 as globalPid, k.name as demangledName,
       coalesce(kn.short, k.name) as shortName, k.name as mangledName, null as launchType, null as cacheConfig,
       l.registers as registersPerThread, l.grid_x as gridX, l.grid_y as gridY, l.grid_z as gridZ,
       l.block_x as blockX, l.block_y as blockY, l.block_z as blockZ, l.static_shared as staticSharedMemory,
       l.dynamic_shared as dynamicSharedMemory, l.local as localMemoryPerThread, null as localMemoryTotal,
       null as gridId, null as sharedMemoryExecuted, k.graph_node as graphNodeId, null as sharedMemoryLimitConfig,
       l.cluster_x as clusterX, l.cluster_y as clusterY, l.cluster_z as clusterZ, k.run
from kernel k
left join run r on r.id = k.run
left join kernel_name kn on kn.id = k.name
left join launch l on l.id = k.launch;

create view CUPTI_ACTIVITY_KIND_MEMCPY as
select c.start, c.start + c.duration as end, c.device as deviceId, 1 as contextId, null as greenContextId,
       c.stream as streamId, c.correlation as correlationId, r.pid * 16777216 as globalPid, c.bytes,
       case d.text when 'host_to_device' then 1 when 'device_to_host' then 2 when 'device_to_device' then 8
                   when 'host_to_host' then 9 when 'peer_to_peer' then 10 else 0 end as copyKind,
       null as deprecatedSrcId, null as srcKind, null as dstKind, null as srcDeviceId, null as srcContextId,
       null as dstDeviceId, null as dstContextId, null as migrationCause, c.graph_node as graphNodeId,
       null as virtualAddress, null as copyCount, c.run
from copy c
join string k on k.id = c.kind and k.text = 'memcpy'
left join string d on d.id = c.direction
left join run r on r.id = c.run;

create view CUPTI_ACTIVITY_KIND_MEMSET as
select c.start, c.start + c.duration as end, c.device as deviceId, 1 as contextId, null as greenContextId,
       c.stream as streamId, c.correlation as correlationId, r.pid * 16777216 as globalPid, null as value, c.bytes,
       c.graph_node as graphNodeId, null as memKind, c.run
from copy c
join string k on k.id = c.kind and k.text = 'memset'
left join run r on r.id = c.run;

create view CUPTI_ACTIVITY_KIND_RUNTIME as
select a.start, a.start + a.duration as end, 0 as eventClass, r.pid * 16777216 + a.thread as globalTid,
       a.correlation as correlationId, a.name as nameId, 0 as returnValue, null as callchainId, a.run
from api_call a
left join run r on r.id = a.run;

create view NVTX_EVENTS as
select n.start, n.start + n.duration as end, 59 as eventType, null as rangeId, null as category, null as color,
       s.text, r.pid * 16777216 + n.thread as globalTid, null as endGlobalTid, n.name as textId, 0 as domainId,
       null as uint64Value, null as int64Value, null as doubleValue, null as uint32Value, null as int32Value,
       null as floatValue, null as jsonTextId, null as jsonText, null as binaryData, n.run
from range n
left join string s on s.id = n.name
left join run r on r.id = n.run;

create view ThreadNames as
select t.name as nameId, null as priority, r.pid * 16777216 + t.thread as globalTid, t.run
from thread t
left join run r on r.id = t.run;

create view PROCESSES as
select pid * 16777216 as globalPid, pid, program as name, id as run from run;

create view ENUM_CUDA_MEMCPY_OPER as
select 0 as id, 'CUDA_MEMCPY_KIND_UNKNOWN' as name, 'Unknown' as label
union all select 1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'
union all select 2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'
union all select 8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'
union all select 9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'
union all select 10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer';

create view TARGET_INFO_GPU as
select 0 as id, n.value as name, m.value as totalMemory, u.value as uuid, 0 as cuDevice, n.run
from environment n
left join environment m on m.run = n.run and m.key = 'gpu.memory'
left join environment u on u.run = n.run and u.key = 'gpu.uuid'
where n.key = 'gpu.name';

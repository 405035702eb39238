-- Version 14: in the views with Nsight Systems' names, processes of a run without a number, or with the same one on two hosts,
-- are not one process.

-- A number of each process that no other process of its run has, below 2^24 as in Nsight Systems' ids: its own, or one
-- above all numbers that Linux gives.
create view process_number as
select run, process, first_correlation,
       case when pid is not null and row_number() over (partition by run, pid order by process) = 1 then pid
            else 8388608 + process end as number
from process;

drop view CUPTI_ACTIVITY_KIND_KERNEL;
create view CUPTI_ACTIVITY_KIND_KERNEL as
select k.start, k.start + k.duration as end, k.device as deviceId, coalesce(s.context, 1) as contextId,
       null as greenContextId, coalesce(s.native, k.stream) as streamId,
       k.correlation - coalesce(p.first_correlation, 0) as correlationId,
       coalesce(p.number, r.pid) * 16777216 as globalPid, k.name as demangledName,
       coalesce(kn.short, k.name) as shortName, k.name as mangledName, null as launchType, null as cacheConfig,
       l.registers as registersPerThread, l.grid_x as gridX, l.grid_y as gridY, l.grid_z as gridZ,
       l.block_x as blockX, l.block_y as blockY, l.block_z as blockZ, l.static_shared as staticSharedMemory,
       l.dynamic_shared as dynamicSharedMemory, l.local as localMemoryPerThread, null as localMemoryTotal,
       null as gridId, null as sharedMemoryExecuted, k.graph_node as graphNodeId, null as sharedMemoryLimitConfig,
       l.cluster_x as clusterX, l.cluster_y as clusterY, l.cluster_z as clusterZ, k.run
from kernel k
left join run r on r.id = k.run
left join stream s on s.run = k.run and s.device = k.device and s.stream = k.stream
left join process_number p on p.run = k.run and p.process = s.process
left join kernel_name kn on kn.id = k.name
left join launch l on l.id = k.launch;

drop view CUPTI_ACTIVITY_KIND_MEMCPY;
create view CUPTI_ACTIVITY_KIND_MEMCPY as
select c.start, c.start + c.duration as end, c.device as deviceId, coalesce(s.context, 1) as contextId,
       null as greenContextId, coalesce(s.native, c.stream) as streamId,
       c.correlation - coalesce(p.first_correlation, 0) as correlationId,
       coalesce(p.number, r.pid) * 16777216 as globalPid, c.bytes,
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
left join process_number p on p.run = c.run and p.process = s.process;

drop view CUPTI_ACTIVITY_KIND_MEMSET;
create view CUPTI_ACTIVITY_KIND_MEMSET as
select c.start, c.start + c.duration as end, c.device as deviceId, coalesce(s.context, 1) as contextId,
       null as greenContextId, coalesce(s.native, c.stream) as streamId,
       c.correlation - coalesce(p.first_correlation, 0) as correlationId,
       coalesce(p.number, r.pid) * 16777216 as globalPid, null as value, c.bytes,
       c.graph_node as graphNodeId, null as memKind, c.run
from copy c
join string k on k.id = c.kind and k.text = 'memset'
left join run r on r.id = c.run
left join stream s on s.run = c.run and s.device = c.device and s.stream = c.stream
left join process_number p on p.run = c.run and p.process = s.process;

drop view NVTX_EVENTS;
create view NVTX_EVENTS as
select n.start, n.start + n.duration as end, 59 as eventType, null as rangeId, null as category, null as color,
       s.text, coalesce(p.number, r.pid) * 16777216 + coalesce(t.native, n.thread) as globalTid, null as endGlobalTid,
       n.name as textId, 0 as domainId,
       null as uint64Value, null as int64Value, null as doubleValue, null as uint32Value, null as int32Value,
       null as floatValue, null as jsonTextId, null as jsonText, null as binaryData, n.run
from range n
left join string s on s.id = n.name
left join run r on r.id = n.run
left join thread t on t.run = n.run and t.thread = n.thread
left join process_number p on p.run = n.run and p.process = t.process;

drop view ThreadNames;
create view ThreadNames as
select t.name as nameId, null as priority,
       coalesce(p.number, r.pid) * 16777216 + coalesce(t.native, t.thread) as globalTid, t.run
from thread t
left join run r on r.id = t.run
left join process_number p on p.run = t.run and p.process = t.process;

drop view CUPTI_ACTIVITY_KIND_RUNTIME;
create view CUPTI_ACTIVITY_KIND_RUNTIME as
select a.start, a.start + a.duration as end, 0 as eventClass,
       coalesce(p.number, r.pid) * 16777216 + coalesce(t.native, a.thread) as globalTid,
       a.correlation - coalesce(p.first_correlation, 0) as correlationId, a.name as nameId, 0 as returnValue,
       null as callchainId, a.run
from api_call a
left join run r on r.id = a.run
left join thread t on t.run = a.run and t.thread = a.thread
left join process_number p on p.run = a.run and p.process = t.process
where a.kind is not (select id from string where text = 'overhead');

drop view PROFILER_OVERHEAD;
create view PROFILER_OVERHEAD as
select a.start, a.start + a.duration as end,
       coalesce(p.number, r.pid) * 16777216 + coalesce(t.native, a.thread) as globalTid, a.name as nameId, a.run
from api_call a
left join run r on r.id = a.run
left join thread t on t.run = a.run and t.thread = a.thread
left join process_number p on p.run = a.run and p.process = t.process
where a.kind = (select id from string where text = 'overhead');

drop view PROCESSES;
create view PROCESSES as
select pid * 16777216 as globalPid, pid, program as name, id as run from run
where not exists (select 1 from process where process.run = run.id)
union all
select n.number * 16777216, p.pid, p.name, p.run
from process p
join process_number n on n.run = p.run and n.process = p.process;

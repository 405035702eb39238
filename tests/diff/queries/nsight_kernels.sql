select k.start, k.end, d.value as demangled, s.value as short, k.deviceId, k.streamId, k.correlationId, k.gridX, k.gridY,
       k.blockX, k.registersPerThread, k.staticSharedMemory, k.dynamicSharedMemory
from CUPTI_ACTIVITY_KIND_KERNEL k
join StringIds s on s.id = k.shortName
join StringIds d on d.id = k.demangledName
order by k.start;

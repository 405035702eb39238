select s.value as api, k.start - r.start as delay, r.globalTid % 0x1000000 as tid, t.value as thread
from CUPTI_ACTIVITY_KIND_RUNTIME r
join CUPTI_ACTIVITY_KIND_KERNEL k on k.correlationId = r.correlationId
join StringIds s on s.id = r.nameId
join ThreadNames n on n.globalTid = r.globalTid
join StringIds t on t.id = n.nameId
order by r.start;

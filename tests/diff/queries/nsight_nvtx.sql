select n.text, s.value, n.end - n.start as duration, n.eventType from NVTX_EVENTS n
join StringIds s on s.id = n.textId order by n.start;

-- Version 6: segments that grow and shrink by pages (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True).

alter table memory_segment add column expandable integer; -- 1: what is mapped of a range of addresses; else null

-- reading older files:
create temp view if not exists memory_segment as select *, null as expandable from main.memory_segment;

select 'copy' as what, start, end, bytes, label from CUPTI_ACTIVITY_KIND_MEMCPY
join ENUM_CUDA_MEMCPY_OPER o on o.id = copyKind
union all select 'set', start, end, bytes, null from CUPTI_ACTIVITY_KIND_MEMSET order by 2;

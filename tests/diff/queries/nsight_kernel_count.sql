select count(*) from CUPTI_ACTIVITY_KIND_KERNEL;

select * from allocations order by 1, 4;

select * from ranges order by 1, 4;

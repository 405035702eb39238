select * from copies order by 1, 4;

select * from ops order by 1, 4;

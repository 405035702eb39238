select * from losses;

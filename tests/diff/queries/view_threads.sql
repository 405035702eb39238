select * from threads;

select * from kernels order by 1, 4;

-- Version 9: tracks without sums at several levels of detail, which nothing read.

drop table level;

-- Version 9: drops the unused sums of tracks at several levels of detail.

drop table level;

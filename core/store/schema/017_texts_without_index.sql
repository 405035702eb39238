-- Version 17: texts have no index, which held each of them a second time and made SQLite read long ones whole to compare
-- them. A writer finds them by hashes that it keeps in memory.

create temp table kept_string as select id, text from main.string;
drop table string;

-- Every text that rows refer to by id. A writer adds each once.
create table string (
    id integer primary key,
    text text not null
);
insert into main.string (id, text) select id, text from kept_string order by rowid;
drop table kept_string;

select * from api_calls order by 1, 4;

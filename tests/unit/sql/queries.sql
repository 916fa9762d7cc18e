-- One query per line. `{user.id:bigint}` is a path, `{e|user.id:bigint}` one of e's document. Queries that
-- only DuckDB's dialect has start with an exclamation mark.

-- Projections and expressions
select key, {kind:string} from events
select {id:bigint} + {n:bigint} as total from events where {n:bigint} is not null
select upper({kind:string}) k, length({user.name:string}) l from events
select case when {ok:boolean} then {n:bigint} else -1 end from events
select coalesce({n:bigint}, {user.id:bigint}, 0) from events
select {tags[0]:string}, {tags[1]:string} from events
! select cast({score:double} as bigint) c from events
select {nested.deep.value:bigint} from events
! select key, key, {id:bigint} as key2 from events
select distinct {kind:string}, {ok:boolean} from events
! select distinct on ({kind:string}) {kind:string} from events order by {kind:string}
select {n:string} from events
select {id:double}, {id:int}, {id:string} from events
select {score:decimal(10,3)} from events where {score:decimal(10,3)} > 1.5
! select {day:date} + interval 1 day from events
select {kind:string} || '-' || {user.name:string} from events
select {n:bigint} is distinct from 3 from events
select key from events where {kind:string} is null and {n:bigint} is not null
! select {tags:string[]} from events

-- Order and limits
select {id:bigint} from events order by {id:bigint} desc limit 7
select {id:bigint} from events order by {n:bigint} nulls last, {id:bigint} limit 9
select {id:bigint} from events order by {score:double}, {id:bigint} limit 5 offset 11
select {id:bigint} i from events order by i limit 3

-- Stars
! select * exclude (v) from events where {n:bigint} > 20
select e.key, u.key from events e join users u on {e|user.id:bigint} = {u|user.id:bigint}
select count(*) from (select * from events)
select x.key from (select * from events where {n:bigint} > 3) x where {x|kind:string} = 'like'
select x.key, {x|n:bigint} from (select e.* from events e) x where {x|ok:boolean}

-- Joins
select e.key from events e left join users u on {e|user.id:bigint} = {u|user.id:bigint} and {u|n:bigint} > 5 where u.key is null
select e.key, {u|kind:string} from events e left join users u on e.key = u.key where {e|n:bigint} < 0
select e.key, {u|kind:string} from events e left join users u on e.key = u.key where {u|n:bigint} < 0
select e.key, u.key from events e right join users u on {e|id:bigint} = {u|id:bigint} and {e|n:bigint} > 0
select e.key, u.key from events e full join users u on {e|id:bigint} = {u|id:bigint} + 5 and {e|ok:boolean}
select count(*) from events e cross join users u where {e|n:bigint} = {u|n:bigint}
! select e.key from events e semi join users u on {e|user.id:bigint} = {u|user.id:bigint}
! select e.key from events e anti join users u on {e|user.id:bigint} = {u|user.id:bigint}
select a.key, b.key from events a join events b on {a|user.id:bigint} = {b|user.id:bigint} and a.key < b.key where {a|kind:string} = 'like' and {b|kind:string} = 'post'
select {e|kind:string}, count(*), sum({u|n:bigint}) from events e join users u on {e|user.id:bigint} = {u|user.id:bigint} group by 1
select m.key, {e|kind:string} from memory m join events e on {m|id:bigint} = {e|id:bigint}
select e.key from events e, users u where {e|id:bigint} = {u|id:bigint} and {u|ok:boolean}
select key, {e|n:bigint} from events e join (select key from users where {n:bigint} > 0) u using (key)

-- Subqueries
select key from events where {user.id:bigint} in (select {user.id:bigint} from users where {ok:boolean})
select key from events where {user.id:bigint} not in (select {user.id:bigint} from users where {user.id:bigint} < 5)
select key from events e where exists (select 1 from users u where {u|user.id:bigint} = {e|user.id:bigint} and {u|n:bigint} > 10)
select key from events e where not exists (select 1 from users u where {u|user.id:bigint} = {e|user.id:bigint})
select key from events where {n:bigint} > (select avg({n:bigint}) from events)
! select key, (select max({u|n:bigint}) from users u where {u|user.id:bigint} = {e|user.id:bigint}) m from events e
select (select count(*) from users) c, count(*) n from events
select k, n from (select {kind:string} k, count(*) n from events group by 1) where n > 10
select max(n) from (select {kind:string} k, count(*) n from events group by k)

-- Common table expressions and set operations
with e as (select * from events where {n:bigint} > 0) select {kind:string}, count(*) from e group by 1
with e as (select v, key from events) select {e|kind:string} from e where {e|n:bigint} = 3
with a as (select {kind:string} k from events), b as (select {kind:string} k from users) select k, count(*) from (select * from a union all select * from b) group by k
with e as (select key, v from events where key > 100), f as (select * from e where {kind:string} = 'post') select count(*), min({n:bigint}) from f
select {kind:string} from events union select {kind:string} from users
select {kind:string} from events except select {kind:string} from users where {n:bigint} > 0
select {user.id:bigint} from events intersect select {user.id:bigint} from users
select {kind:string} k from (select v from events union all select v from users) where {n:bigint} > 0
! with recursive r as (select 1 as i union all select i + 1 from r where i < 5) select i, count(*) from r join events on {user.id:bigint} = i group by i

-- Windows
select key, row_number() over (partition by {kind:string} order by {id:bigint}) from events
select key, sum({n:bigint}) over (partition by {user.id:bigint} order by {id:bigint}) from events
select key, lag({n:bigint}) over (order by {id:bigint}) from events
! select key from events qualify row_number() over (partition by {kind:string} order by {id:bigint}) = 1
select k, rank() over (order by n desc, k) from (select {kind:string} k, count(*) n from events group by 1)
select key, count(*) over () from events where {n:bigint} > 10

-- Arrays
! select key, t from events, unnest({tags:string[]}) as u(t)
! select t, count(*) from events, unnest({tags:string[]}) as u(t) group by t
! select unnest({tags:string[]}) t from events where {kind:string} = 'post'
! select len({tags:string[]}) from events
! select key from events where list_contains({tags:string[]}, 'beta')

-- Grouping
select {kind:string}, {ok:boolean}, count(*) from events group by rollup ({kind:string}, {ok:boolean})
! select {kind:string}, count(*) from events group by all
select count(*) filter (where {n:bigint} > 0), count(*) from events
select {kind:string}, count(*) n from events group by 1 having count(*) > 20 order by n desc, 1
! select {kind:string}, list(key order by key) from events group by 1
! select {kind:string}, string_agg({user.name:string}, ',' order by key) from events group by 1
select {n:bigint} % 3, count(*) from events group by 1
select month({day:date}) m, count(*), count(distinct {day:date}) from events group by m
select count(*) from events where 1 = 0
select min({n:bigint}) from events where {kind:string} = 'nothing'
select count(*), count({n:bigint}), min({id:bigint}), max({id:bigint}) from events
select max(key), min(part) from events
select count(distinct part), count(part) from events
select part, min({id:bigint}), max({id:bigint}), count(*) from events group by part
select count(*) from users
select min({id:bigint}), max({n:bigint}), count(*) from users where {ok:boolean}
select {kind:string}, count(*) from memory group by 1
select {kind:string}, min({n:bigint}) from memory where {n:bigint} > -20 group by 1
select bool_and({ok:boolean}), bool_or({ok:boolean}) from events
! select stddev({score:double}) from events
! select arg_max(key, {id:bigint}) from events
! select 'v:kind::string' as text, {kind:string} /* v:n::int */ from events -- v:x::int

-- Names, aliases, quotes and clauses in unusual places
! select key as kind, {kind:string} as k2 from events order by kind limit 5
! select {kind:string} as key, key as k from events where key < 10
! select {kind:string} as key, count(*) from events group by 1 order by key nulls first
! select {kind:string} part, max(key) from events group by all
! select key from events order by {n:bigint} desc nulls last, key limit 12
! select {kind:string}, count(*) from events group by {kind:string} having max({n:bigint}) > 48 and count({n:bigint}) > 3
! select {kind:string} from events group by {kind:string} order by max({id:bigint})
! select key, {n:bigint} from events qualify rank() over (partition by {kind:string} order by {n:bigint} desc nulls last) <= 2
! select sum({n:bigint}) filter (where {kind:string} = 'like'), count(*) filter ({ok:boolean}), min({id:bigint}) filter (where {n:bigint} > 10) from events
! select 'v:a::b', 'it''s v:kind::string', {kind:string} from events where {kind:string} <> 'v:a::b'
! select $$v:kind::string$$ as d, {kind:string} from events
! select $x$v:n::int ' "$x$, {n:bigint} from events
! select E'v:\'n::int', {kind:string} from events
! select "key", e."part", {e|kind:string} as "K ind" from events as e
! select EVENTS.key, {EVENTS|kind:string} from Events
! select E.KEY, {e|n:bigint} from events E
! select e1.key, e2.key from events e1, events e2 where {e1|id:bigint} = {e2|id:bigint} + 1 and {e2|kind:string} = {e1|kind:string}
! select count(*) from events, users where {events|user.id:bigint} = {users|user.id:bigint}
! with v as (select * from events) select {kind:string} from v
! with v as (select * from events) select {v|kind:string} from v
! with a as (select v as doc, key from events), b as (select doc, key from a where key > 5) select key, {b|kind:string} from (select doc as v, key from b) b
! with a as (select * from events), b as (select * from a), c as (select * from b) select {kind:string}, count(*) from c group by 1
! with events as (select * from users) select {kind:string}, count(*) from events group by 1
! with e as materialized (select * from events) select {kind:string}, count(*) from e group by 1
! with e as not materialized (select * from events) select a.key from e a join e b on {a|id:bigint} = {b|n:bigint}
! with e(a, b, c) as (select key, part, v from events) select {c|kind:string} from (select c as v, c from e)c
! select key from events e where {n:bigint} = (select max({u|n:bigint}) from users u where {u|kind:string} = {e|kind:string})
! select key, (select count(*) from users u where {u|user.id:bigint} = {e|user.id:bigint} and {u|n:bigint} < {e|n:bigint}) from events e
! select key from events e where {user.id:bigint} > all (select {u|user.id:bigint} from users u where {u|user.id:bigint} < 4)
! select key from events e where {user.id:bigint} = any (select {u|user.id:bigint} from users u)
! select e.key, x.m from events e, lateral (select max({u|n:bigint}) m from users u where {u|kind:string} = {e|kind:string}) x
! select e.key, x.k from events e left join lateral (select {u|kind:string} k from users u where u.key = e.key) x on true
! select e.key, x.a from events e, (select {e|n:bigint} + 1 as a) x
! select e.key, t from events e, unnest({e|tags:string[]}) x(t) where t <> 'alpha'
! select key, unnest({tags:string[]}) as t, {n:bigint} from events where {n:bigint} is not null
! select key, t.i from events, lateral (select unnest({tags:string[]}) as i) t
! select [x || '!' for x in {tags:string[]} if length(x) > 2] from events
! select list_transform({tags:string[]}, lambda x: upper(x)) from events
! select {'a': {n:bigint}, 'b': {kind:string}}.b from events
! select struct_pack(a := {n:bigint}).a from events
! select map([{kind:string}], [{n:bigint}]) is null from events where {kind:string} is not null
! select row({kind:string}, {n:bigint}) is null from events
! select case {kind:string} when 'like' then {n:bigint} when 'post' then {user.id:bigint} end from events
! select {n:bigint}::varchar || 'x' from events
! select ({n:bigint})::double / 3 from events
! select -{n:bigint}, + {n:bigint}, not {ok:boolean}, ~{id:bigint} from events
! select {n:bigint} between {user.id:bigint} and {id:bigint} from events
! select {kind:string} similar to '(l|p).*', regexp_matches({user.name:string}, '^[a-b]'), {user.name:string} ilike 'A%', {user.name:string} not like '%a' from events
! select key from events where {user.name:string} like '_e%' escape '\'
! select key from events where {user.name:string} ~ 'a'
! select key from events where {user.name:string} glob 'a*'
! select key from events where {user.name:string} like 'it''s'
! select key from events where {user.name:string} = ''
! select key from events where {user.name:string} >= 'd' and {user.name:string} < 'ü'
! select key from events where {kind:string} in ('like', null, 'post')
! select key from events where {kind:string} not in ('like', 'post')
! select key from events where {kind:string} not in ('like', null)
! select key from events where ({kind:string}, {ok:boolean}) in (('like', true), ('post', false))
! select key from events where ({kind:string}, {n:bigint}) = ('like', 5)
! select key from events where {n:bigint} is not distinct from null
! select key from events where {ok:boolean} is true
! select key from events where {ok:boolean} is not true and {n:bigint} isnull
! select key from events where {n:bigint} notnull
! select key from events where ({n:bigint} > 5) is null
! select key from events where {n:bigint} + 1 > 5 and abs({n:bigint}) < 20
! select key from events where {score:double} = 0 or {score:double} = -0.0 or {score:double} = 'nan'::double
! select key from events where {id:double} > 9007199254740993
! select key from events where {id:bigint} > 100.5
! select key from events where {id:bigint} < 1e300
! select key from events where {id:bigint} > 9223372036854775808
! select key from events where {day:date} > timestamp '2024-01-05 12:00:00'
! select key from events where {day:timestamp} > timestamp '2024-01-05 12:00:00'
! select key from events where {day:date} - date '2024-01-01' > 20
! select date_trunc('week', {day:date}) w, count(*) from events group by w
! select strftime({day:date}, '%Y-%m'), count(*) from events group by 1
! select extract(dow from {day:date}), epoch({day:date}) from events
! select {day:string} from events where {day:string} > '2024-01-30'
! select count(*) from (select {kind:string} from events union all select {user.name:string} from users)
! select * from (select {kind:string} k from events intersect select {kind:string} from users) order by k
! select {kind:string} k from events union by name select {n:bigint} n, {kind:string} k from users
! select k, sum(c) from (select {kind:string} k, 1 c from events union all (select {kind:string}, 2 from users limit 3)) group by k
! (select {kind:string} from events) union all (select {kind:string} from users)
! select {kind:string} from (select * from events union all by name select * from users) where {n:bigint} > 40
! select {kind:string} from (select distinct * from events) where {n:bigint} > 40
! select count(distinct ({kind:string}, {ok:boolean})) from events
! from events select {kind:string}, key
! from events select key where {n:bigint} > 10
! select key from events where {n:bigint} > 10 limit 10%
! select key from events using sample 100%
! select count(*) from events tablesample 100%
! select * from (select {kind:string} k, {n:bigint} n from events) pivot (count(*) for k in ('like', 'post')) where n > 40
! select columns('key|part') from events where {n:bigint} > 10
! select min(columns(['key', 'part'])) from events where {n:bigint} > 10
! select * replace (upper(part) as part) from (select key, part, {n:bigint} m from events) where m > 5
! select e.* exclude (v), {kind:string} from events e
! select * rename (key as id) from (select key, {kind:string} from events)
! select a.*, b.* from (select key, {kind:string} from events) a join (select key as k2, {n:bigint} from users) b on key = k2
! select * from (select key, {kind:string} from events) natural join (select key, {n:bigint} nn from users)
! select key, {events|kind:string}, {u|n:bigint} from events join users u using (key)
! select key, {e|kind:string} from events e positional join (select 1 as one) p
! select e.key, u.key from events e asof join users u on e.part = u.part and {e|id:bigint} >= {u|id:bigint}
! values (1), (2)
! select (select {kind:string} from events where key = 3), (select count(*) from users)
! select exists(select * from events where {n:bigint} > 49)
! select key in (select {user.id:bigint} from users) from events
! select ntile(4) over w, first_value({kind:string}) over w, sum({n:bigint}) over (w rows between 1 preceding and current row) from events window w as (order by key)
! select key, max({n:bigint}) over (partition by {kind:string}, {ok:boolean}) - {n:bigint} from events
! select grouping({kind:string}), {kind:string}, part, count(*) from events group by grouping sets (({kind:string}, part), (part), ())
! select {kind:string}, part, count(*) from events group by cube ({kind:string}, part)
! select histogram({kind:string}) is not null from events
! select count({kind:string}) + count(*) - min({n:bigint}) as x from events
! select max({n:bigint}) - min({n:bigint}) from events having count(*) > 1
! select count(*) from events having min(key) > 5
! select max(key) from events where {n:bigint} > 100000
! select distinct {kind:string} from events order by {kind:string} desc limit 2
! select {kind:string} from events group by {kind:string}, {ok:boolean}
! select {user.id:bigint} u, u + 1 as u1 from events where u > 3
! select {n:bigint} as n, n * 2 as m from events where m > 10 order by m, key
! select {n:int} n, count(*) c from events group by n having c > 2 order by c desc, n
! select {n:smallint}, {n:tinyint}, {n:float}, {id:tinyint} from events
! select {score:int}, {score:bigint} from events where {score:double} = floor({score:double})
! select {n:boolean} from events where false
! select {tags[0]:string} as t0, count(*) from events group by t0 having count(*) > 1
! select {tags[10]:string} from events
! select {missing.path:string}, {kind.no:bigint} from events
! select count({missing:bigint}), max({missing:bigint}), min({missing:string}) from events
! select {missing:bigint} m, count(*) from events group by m
! select key from events where {missing:bigint} is null and key < 5
! select key from events where {missing:bigint} > 3 or key < 5
! select * from (select key, {kind:string} k from events order by key limit 5) where k = 'like'
! select * from (select key, {kind:string} k, row_number() over (order by key) r from events) where k = 'like' and r < 30
! select k, count(*) from (select {kind:string} k from events limit 1000) group by k
! select e.key from events e left join users u on e.key = u.key where {u|n:bigint} is null
! select e.key from events e left join users u on e.key = u.key and {u|n:bigint} is null where {e|n:bigint} > 0 or {u|kind:string} = 'like'
! select count(*), count({u|kind:string}) from events e left join users u on {e|id:bigint} = {u|id:bigint}
! select count(*) from events e full join users u on {e|id:bigint} = {u|id:bigint} where {e|kind:string} is null
! select {kind:string} k, count(*), max({n:bigint}) from (select * from events union all select * from users) group by 1
! with e as (select key, v from events union all select key + 1000, v from users) select a.key, {a|n:bigint} from e a join e b on a.key = b.key + 1 where {b|kind:string} = 'like'
! with e as (select v, key from events where {ok:boolean} union all select v, key from users where {n:bigint} > 3 union all (select v, key from memory order by key limit 5)) select {kind:string}, count(*) from e group by all
! select * from (select * from events union all select * from users) where {n:bigint} > 45 and key < 0
! select key, {kind:string} from (select v, key from events union all by name select key, v from users) where {n:bigint} > 20
! select {kind:string} from (select v, v as w from events union all select v as w, v from users) where {n:bigint} > 20
! select {kind:string} from (select v from events union select v from users where false) where {n:bigint} > 40
! select {kind:string} from (select distinct v from events) where {n:bigint} > 40
! select {kind:string} from (select v from (select * from events union all select * from users) where {n:bigint} > 10) where {user.id:bigint} > 3
! select {kind:string} from (select v from events union all select v from (select v, key from users group by all)) where {n:bigint} > 10
! select {x|kind:string}, {y|kind:string} from (select v from events union all select v from users) x, (select v from users union all select v from memory) y where {x|id:bigint} = {y|id:bigint} + 3
! select {kind:string} from (select key, v from events where key < 5 union all select key, v from users where key < 3 order by key limit 6)
! select {kind:string}, key from ((select key, v from events where key < 5) union all (select key, v from users where key < 3))
! select {kind:string} from (select v from events except all select v from events where {n:bigint} > 0)
! select {kind:string} from (select e.* from events e union all select u.* from users u)
! select {kind:string} from (select e.v, e.key from events e join users u using (key) union all select v, key from users)
! select {n:bigint} from (select v, 1 from events union all select v, {n:bigint} from users)

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

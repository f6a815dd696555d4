-- Storage per response: 200,000 responses in batches of 500, then bytes per row on disk and in the WAL.
--
-- On an empty database of your own (not one that is in use):
--   psql -f crates/store/src/postgres/migrations/V1__initial_schema.sql
--   psql -XAtq -f tests/scaling/bytes.sql
--   pgbench -n -c 4 -j 1 -T 10 -f tests/scaling/batch.sql          the rate; a transaction is 500 rows
\set ON_ERROR_STOP on
create table responses_2026_11 partition of responses for values from ('00000000-0000-0000-0000-000000000000') to ('ffffffff-ffff-ffff-ffff-ffffffffffff');
select pg_current_wal_lsn() as before \gset
insert into apps (app_id) values ('019a3c00-0000-7000-8000-000000000001');
do $$ begin for b in 1..400 loop
with given as materialized (select (lpad(to_hex(1763190000000 + b*50),12,'0')||'7'||lpad(to_hex(i),3,'0')||substr(replace(gen_random_uuid()::text,'-',''),17))::uuid id, gen_random_uuid() k, md5(i::text)::uuid d from generate_series(1,500) i),
t as (insert into idempotency (app_id, key, response_id) select '019a3c00-0000-7000-8000-000000000001',k,id from given returning key)
insert into responses (app_id, flow_id, flow_version_id, response_id, admitted, answers, identity_verified, tags, context, digest, idempotency_key)
select '019a3c00-0000-7000-8000-000000000001','019a3c00-0000-7000-8000-000000000002','019a3c00-0000-7000-8000-000000000003',id,false,
'{"nps":"9","why":"It does what it says, and it was running before the coffee was ready.","use":["api","exports"],"docs":"5","contact":"no"}',false,'{"plan":"pro","release":"2026.11"}','{"page":{"path":"/settings","referrer":"https://example.com/","search":"?tab=usage"},"locale":"en-GB","userAgent":"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/145.0"}',d,k from given where k in (select key from t) ;
commit; end loop; end $$;
select 'wal per row', (pg_current_wal_lsn() - :'before'::pg_lsn)/200000;
select 'responses heap', pg_relation_size('responses_2026_11')/200000.0, 'with indexes', pg_total_relation_size('responses_2026_11')/200000.0;
select 'idempotency heap', pg_relation_size('idempotency')/200000.0, 'with index', pg_total_relation_size('idempotency')/200000.0;
select count(*) from responses_2026_11;
select indexrelid::regclass, pg_relation_size(indexrelid)/200000.0 from pg_index where indrelid in ('responses_2026_11'::regclass,'idempotency'::regclass);

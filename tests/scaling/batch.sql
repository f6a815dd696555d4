-- One batch as the service writes it, with generated rows. Run bytes.sql first.
begin;
select pg_advisory_xact_lock_shared(:client_id);
select public_revision from apps where app_id = '019a3c00-0000-7000-8000-000000000001' for share;
with given as materialized (select (lpad(to_hex((extract(epoch from clock_timestamp())*1000)::bigint),12,'0')||'7'||lpad(to_hex(i),3,'0')||substr(replace(gen_random_uuid()::text,'-',''),17))::uuid id, gen_random_uuid() k, gen_random_uuid() d from generate_series(1,500) i),
t as (insert into idempotency (app_id, key, response_id) select '019a3c00-0000-7000-8000-000000000001',k,id from given returning key)
insert into responses (app_id, flow_id, flow_version_id, response_id, admitted, answers, identity_verified, tags, context, digest, idempotency_key)
select '019a3c00-0000-7000-8000-000000000001','019a3c00-0000-7000-8000-000000000002','019a3c00-0000-7000-8000-000000000003',id,false,
'{"nps":"9","why":"It does what it says, and it was running before the coffee was ready.","use":["api","exports"],"docs":"5","contact":"no"}',false,'{"plan":"pro","release":"2026.11"}','{"page":{"path":"/settings","referrer":"https://example.com/","search":"?tab=usage"},"locale":"en-GB","userAgent":"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/145.0"}',d,k from given where k in (select key from t);
commit;

-- Places the tables of Sluice on a Citus cluster: tables of apps on the workers by app_id, tables
-- of the instance on the coordinator. Run it once, on the coordinator, with psql, as the owner of
-- the tables: after the first start of a server has created them, and before responses are stored.
--
-- Choose twice as many shards as you will ever have workers; the number is hard to change later.

SELECT create_distributed_table('apps', 'app_id', shard_count => 64);
SELECT create_distributed_table('flows', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('versions', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('responses', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('idempotency', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('used_keys', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('response_blocks', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('counts', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('count_deltas', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('count_scans', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('respondents', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('identities', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('consents', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('invitations', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('visit_counts', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('closing_counts', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('test_responses', 'app_id', colocate_with => 'apps');
SELECT create_distributed_table('events', 'app_id', colocate_with => 'apps');

-- Known to Citus, so that a transaction on them and on a worker is one two-phase commit.
-- A table is added together with those that have a foreign key to it.
SELECT citus_add_local_table_to_metadata('app_directory', cascade_via_foreign_keys => true); -- and api_keys, identity_keys, reports, short_paths, assets, endpoints, deliveries, sink_positions
SELECT citus_add_local_table_to_metadata('id_directory');
SELECT citus_add_local_table_to_metadata('sink_leases');
SELECT citus_add_local_table_to_metadata('tokens');
SELECT citus_add_local_table_to_metadata('users', cascade_via_foreign_keys => true); -- and grants, saved_views, links
SELECT citus_add_local_table_to_metadata('sessions');
SELECT citus_add_local_table_to_metadata('admin_requests');
SELECT citus_add_local_table_to_metadata('mails');
SELECT citus_add_local_table_to_metadata('mail_pace');
SELECT citus_add_local_table_to_metadata('outbound');
SELECT citus_add_local_table_to_metadata('people');
SELECT citus_add_local_table_to_metadata('audit');
SELECT citus_add_local_table_to_metadata('feed');

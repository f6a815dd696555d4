//! The conformance suite: one list of cases, each named after a promise of [`crate::Store`].
//!
//! A backend's tests call [`run_all`] with a function that creates an empty store, and need nothing
//! else for these promises. A case is a plain function that panics if the promise is broken. It
//! uses only the trait, so the list runs unchanged on future backends.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the suite is test code, compiled into the library so that every backend can run it"
)]

mod admin_requests;
mod answer_filters;
mod apply;
mod apps;
mod assets;
mod closing;
mod commit;
mod counts;
mod delivery_health;
mod endpoints;
mod events;
mod expiry;
mod feed;
pub mod filling;
mod flows;
mod instance;
mod invitations;
mod leases;
mod log_orders;
mod mails;
mod moving;
mod people;
mod removal;
mod reports;
mod respondents;
mod responses;
pub mod rows;
mod short_paths;
mod sinks;
mod skip_index;
mod status;
mod test_responses;
mod unlinking;
pub mod use_cases;
mod views;
mod visits;
mod world;

use std::pin::Pin;
use std::sync::Arc;

use crate::Store;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One promise. `run` gets a fresh, empty store.
pub struct Case {
    pub name: &'static str,
    pub run: fn(Arc<dyn Store>) -> Running,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! cases {
    ($($module:ident: $($case:ident)*;)*) => {
        /// Every promise, in reading order.
        pub const CASES: &[Case] = &[$($(Case {
            name: concat!(stringify!($module), "::", stringify!($case)),
            run: |store| Box::pin($module::$case(store)),
        },)*)*];
    };
}

cases! {
    commit:
        a_stored_response_reads_back_as_it_was_given
        outcomes_are_in_row_order
        no_rows_have_no_outcomes
        the_same_submission_with_a_used_key_is_replayed
        another_submission_with_a_used_key_is_refused
        keys_are_unique_within_one_call
        keys_are_unique_per_app
        without_a_key_equal_submissions_are_all_stored
        a_row_not_at_the_newest_public_revision_is_stale
        a_used_key_is_answered_at_any_public_revision
        a_non_public_change_makes_nothing_stale
        a_refused_row_does_not_affect_the_others
        a_failed_call_stores_nothing
        many_callers_with_one_key_store_one_row
        batches_that_share_keys_store_each_once;
    closing:
        a_row_is_stored_while_every_limit_has_room
        a_used_key_is_answered_when_a_limit_is_reached
        a_stale_row_takes_no_room
        a_limited_flow_without_counts_accepts_nothing
        concurrent_calls_never_exceed_a_limit
        setting_limits_counts_the_stored_responses
        a_released_response_makes_room
        limits_are_a_setting_of_the_flow;
    apply:
        the_rows_of_a_change_are_written_all_or_none
        the_rows_of_a_change_may_come_in_any_order
        a_change_decided_on_an_older_revision_is_a_conflict
        a_change_to_an_app_that_does_not_exist_is_a_conflict
        one_of_two_concurrent_changes_is_a_conflict
        one_of_many_concurrent_first_apps_or_tokens_is_created
        a_first_app_or_token_conflicts_with_an_existing_one
        nothing_is_written_to_the_app_while_a_change_is_made
        a_change_may_have_no_rows
        a_change_that_panics_is_not_written
        a_row_replaces_the_row_with_its_id
        the_public_revision_grows_with_public_changes_only
        deleting_a_response_keeps_its_idempotency_key_used
        deleting_an_absent_response_is_no_error;
    apps:
        an_active_key_finds_its_app
        a_revoked_key_finds_nothing_and_is_still_listed
        absent_rows_are_not_found
        apps_are_listed_in_creation_order
        keys_are_listed_in_creation_order
        several_apps_and_their_keys_are_found_in_one_call
        identity_keys_are_listed_in_creation_order_including_revoked_ones
        an_identity_key_replaces_the_one_with_its_kid_in_its_app
        an_identity_key_is_a_public_change;
    flows:
        a_flow_and_a_version_read_back_as_they_were_given
        a_design_is_a_public_setting_of_the_flow
        lists_read_no_pictures_of_designs
        the_current_version_is_neither_superseded_nor_retired
        a_version_is_found_with_the_state_of_its_flow
        a_flow_is_read_at_one_instant
        flows_are_listed_in_creation_order
        flows_are_listed_newest_first_and_without_archived_ones
        flows_are_listed_by_one_of_their_labels
        a_flow_is_found_by_its_key_which_no_other_flow_of_its_app_has
        published_versions_are_listed_by_descending_number
        a_grace_cap_shortens_later_graces_and_extends_none;
    responses:
        responses_are_listed_in_both_orders_page_by_page
        responses_of_other_flows_and_apps_are_not_listed
        several_responses_of_an_app_are_found_in_one_call
        the_newest_response_of_several_flows_is_found_in_one_call
        times_are_half_open
        a_version_filters
        a_tag_filters_by_text_or_by_membership
        an_admission_filters
        an_answer_filters_by_text_or_by_membership
        a_search_finds_every_word_in_texts_ignoring_case
        filters_and_pages_work_together
        a_page_reads_a_limited_number_of_rows_and_has_a_next_page
        a_filter_finds_one_row_after_many_others
        a_page_of_long_texts_is_short_and_has_a_next_page
        a_list_for_counts_leaves_out_what_they_do_not_need
        responses_are_counted_with_the_names_of_their_tags;
    answer_filters:
        a_comparison_filters_like_its_rule;
    skip_index:
        the_skip_index_does_not_change_lists
        a_rare_value_is_found_within_few_rows
        only_flows_with_something_to_build_are_visited
        young_responses_are_in_no_block
        no_block_keeps_anything_of_a_deleted_response
        expired_responses_leave_no_block
        a_response_stored_with_an_older_id_is_listed
        no_block_keeps_anything_of_an_erased_person
        responses_imported_within_a_block_are_listed
        no_list_misses_a_response_during_an_import;
    respondents:
        a_claim_is_linked_by_the_rules
        a_stored_claim_creates_a_profile_with_its_consent
        without_a_claim_no_profile_is_created
        claims_of_one_call_see_each_other
        a_row_that_is_not_stored_creates_no_profile
        respondents_belong_to_one_app
        concurrent_commits_for_one_new_identity_create_one_profile
        batches_that_claim_the_same_in_different_orders_do_not_deadlock
        a_full_profile_accepts_every_response_but_no_further_address
        concurrent_commits_do_not_overfill_a_profile
        respondents_are_listed_in_id_order
        consents_outlive_a_deleted_response
        responses_of_a_respondent_are_listed_across_flows_page_by_page;
    removal:
        an_erasure_keeps_answers_without_the_person
        an_erasure_deletes_answers
        an_erasure_in_batches_removes_the_profile_last
        a_batch_of_an_erasure_is_bounded_however_large_the_profile
        an_interrupted_erasure_is_listed_and_links_nothing_more
        deleting_wins_over_keeping_in_two_erasures_of_one_respondent
        an_erasure_does_not_affect_other_respondents
        an_erased_key_stays_used_and_a_late_retry_stores_nothing
        erasing_an_unknown_respondent_does_nothing
        an_erasure_anonymises_the_invitations_of_the_person
        unlinked_responses_through_an_invitation_belong_to_its_person
        another_respondents_response_through_an_invitation_is_kept
        a_person_who_was_only_invited_is_erased
        an_invitation_does_not_reference_a_deleted_response;
    unlinking:
        an_erasure_that_keeps_answers_cuts_every_identity_of_the_profile_from_them
        an_identity_added_during_an_erasure_is_cut_as_well
        an_erasure_does_not_hide_damage;
    expiry:
        apps_that_may_have_something_too_old_are_listed
        responses_received_before_a_time_expire_with_their_keys
        an_expiry_stops_when_the_app_has_another_retention
        a_respondent_expires_with_the_last_consent
        marks_of_keys_expire_with_their_time
        people_who_are_still_invited_do_not_expire
        kept_consents_are_read_once
        ended_invitations_are_anonymised_in_batches
        an_expiry_is_recorded_if_it_removed_anything
        consents_outlive_the_responses_under_concurrent_expiry;
    counts:
        a_stored_response_is_counted_immediately
        responses_that_are_not_stored_are_not_counted
        folding_does_not_change_what_is_read
        folding_one_flow_does_not_delay_other_flows_or_scans
        every_flow_is_compacted_however_many_are_busy
        deleted_responses_are_subtracted
        erased_responses_are_subtracted_with_their_tags
        expired_responses_are_subtracted
        imported_responses_are_counted_by_a_scan
        a_scan_is_exact_under_concurrent_writes
        responses_imported_twice_are_counted_once
        counts_are_read_for_the_requested_days
        counts_are_exact_under_concurrent_writes_and_folds
        a_recount_is_exact_at_every_cursor_of_a_scan
        an_unreadable_version_is_counted_and_subtracted_without_its_answers
        counts_are_exact_under_concurrent_scans_erasures_expiries_and_recounts
        junk_tags_that_come_first_do_not_displace_real_ones
        a_tag_that_becomes_frequent_is_counted_separately_again
        counts_by_tag_are_exact_under_concurrent_recounts_and_writes
        counts_are_exact_after_random_operations;
    instance:
        a_token_is_found_by_its_hash_even_if_revoked
        tokens_are_listed_in_creation_order
        the_audit_log_is_listed_newest_first_by_app_or_in_full
        audit_entries_before_several_ids_are_found_in_one_call
        names_of_users_and_tokens_are_found_in_one_call
        names_of_flows_are_found_in_one_call
        a_check_leaves_no_trace
        after_closing_every_call_fails;
    invitations:
        an_invitation_reads_back_as_it_was_given
        invitations_are_listed_in_creation_order_page_by_page
        a_state_filters_and_is_counted
        an_open_invitation_of_the_same_person_is_found
        an_invitation_is_opened_once_without_raising_a_revision
        a_revoked_invitation_stays_revoked_and_a_completed_one_cannot_be_revoked
        a_response_completes_its_invitation
        an_unlinked_response_leaves_only_the_day_of_completion
        an_invitation_that_is_not_open_accepts_no_response
        only_the_first_row_of_a_call_with_the_same_invitation_is_stored
        a_retry_with_its_key_is_replayed_although_its_invitation_is_used
        a_refused_row_leaves_its_invitation_and_its_key_free
        one_of_many_concurrent_responses_with_one_invitation_is_stored
        batches_that_share_many_invitations_complete_each_once
        invitations_of_a_person_are_listed_across_flows_page_by_page;
    people:
        a_user_is_found_with_all_grants
        addresses_and_subjects_are_unique
        users_are_listed_by_app_or_all_page_by_page
        a_grant_is_replaced_and_removed
        one_of_two_concurrent_changes_to_people_is_a_conflict
        a_link_replaces_the_others_of_its_user_unless_it_is_another_one
        a_session_reads_back_is_touched_and_ends
        sessions_of_a_user_are_listed_by_epoch_and_all_but_one_end
        ended_sessions_are_removed_in_batches
        saved_views_are_listed_by_name_replaced_and_removed;
    reports:
        a_report_is_found_by_its_hash_even_if_it_ended
        reports_of_a_flow_are_listed_newest_first
        a_replaced_link_no_longer_finds_the_report
        a_deleted_report_is_gone_and_the_others_are_kept
        a_report_is_a_change_of_its_app_that_the_public_api_cannot_see
        a_report_of_a_flow_that_does_not_exist_is_refused;
    short_paths:
        a_flow_is_found_by_its_path
        a_path_belongs_to_one_flow_of_all_apps
        a_path_of_a_flow_that_does_not_exist_is_refused
        a_path_is_a_change_that_the_public_can_see;
    test_responses:
        test_responses_are_listed_newest_first_by_flow
        pages_of_tests_are_without_gaps_and_repetitions
        a_form_is_stored_once_as_a_test_with_what_was_sent_last
        only_the_newest_tests_of_a_flow_are_kept
        tests_of_one_flow_are_removed_at_once
        old_tests_expire_in_one_app_or_in_all
        tests_move_no_revision_no_count_and_no_list
        a_test_of_a_flow_that_does_not_exist_is_refused;
    assets:
        an_asset_is_found_by_its_id_and_listed_without_its_bytes
        an_asset_of_an_app_that_does_not_exist_is_refused
        the_same_bytes_are_stored_once_per_app
        the_deletion_of_an_asset_is_a_change_that_the_public_can_see
        flows_that_name_an_asset_are_found
        pages_of_assets_stay_within_their_byte_limit;
    admin_requests:
        a_request_is_claimed_once
        an_expired_request_is_claimed_again
        a_claim_without_effect_is_taken_over_once
        a_claim_that_was_applied_is_never_taken_over_or_released
        a_change_and_its_claim_are_written_together_or_not_at_all
        a_change_that_makes_no_rows_applies_nothing
        a_reply_reads_back_and_only_its_claim_stores_it
        one_of_many_claims_succeeds
        requests_are_counted_by_holder_until_they_expire
        expired_requests_are_removed_in_batches
        requests_move_no_revision_and_no_feed;
    mails:
        a_mail_reads_back_as_it_was_given
        due_mails_are_listed_in_the_order_of_their_times
        every_kind_has_its_lane
        apps_with_due_invitations_are_listed_in_order
        one_of_many_servers_takes_a_mail
        a_mail_of_a_stopped_server_becomes_due_again
        the_pace_of_a_minute_is_shared_by_all_servers
        a_claim_beyond_the_pace_takes_nothing
        a_late_settlement_changes_nothing
        reminders_are_set_for_the_invitations_of_one_flow
        an_unsubscribed_address_is_found_in_its_app_only
        the_pace_goes_by_the_clock_that_is_ahead
        invitations_that_wait_for_a_start_move_with_it
        waiting_mails_from_before_a_time_are_listed_by_id
        invitations_of_a_closed_flow_wait_until_it_opens
        a_store_is_held_until_it_is_released
        mails_of_invitations_and_users_are_found
        mails_move_no_revision_and_no_feed;
    feed:
        an_empty_store_has_no_changes
        a_public_change_is_in_the_feed_immediately
        drafts_responses_tokens_and_audit_are_not_in_the_feed
        the_feed_returns_only_later_changes
        an_app_appears_once_however_often_it_changed;
    moving:
        an_empty_store_exports_nothing
        stored_rows_are_exported_once_and_in_order
        imported_records_are_exported_unchanged
        records_may_be_imported_in_parts_and_twice
        a_record_replaces_the_one_with_its_key
        an_export_continues_from_any_cursor
        long_records_are_all_exported
        a_page_stays_within_its_byte_limit_whichever_text_is_long
        records_are_imported_all_or_none
        a_retry_after_a_move_is_replayed
        writes_continue_from_the_imported_revisions;
    views:
        a_view_is_of_one_instant
        a_view_reads_counts_at_its_instant
        the_pages_of_a_new_store_are_sound
        a_damaged_store_accepts_no_responses;
    events:
        the_log_has_the_responses_of_an_app_in_the_order_of_ids
        an_event_is_written_with_its_change_or_not_at_all
        an_event_is_not_a_change_of_its_app
        a_reader_never_misses_what_is_stored_behind_it
        a_reader_misses_nothing_under_concurrent_writes
        responses_that_are_announced_again_are_found_at_once
        an_erasure_records_what_it_deleted
        a_deleted_response_is_not_in_the_log
        events_are_found_by_their_ids
        events_expire_with_the_data_of_their_app
        a_page_reads_a_limited_number_of_rows_of_other_apps
        the_log_can_be_read_from_its_end_and_between_positions;
    endpoints:
        an_endpoint_reads_back_and_only_its_settings_are_replaced
        one_of_many_workers_gets_an_endpoint_that_is_due
        progress_is_saved_by_the_holder_of_the_lease_only
        what_happens_during_a_lease_is_not_overwritten
        a_wake_makes_an_endpoint_due_unless_it_is
        waiting_deliveries_are_due_at_their_time
        finished_deliveries_beyond_a_number_are_removed
        deliveries_are_sent_again_on_request
        deliveries_of_a_batch_are_due_together
        a_deleted_endpoint_is_gone_with_its_deliveries;
    leases:
        a_worker_that_lost_its_lease_writes_nothing
        a_worker_that_goes_on_gets_the_settings_of_now
        slow_endpoints_take_no_places_of_others
        replies_of_receivers_do_not_outlive_an_erasure
        a_reply_that_arrives_after_an_erasure_is_not_saved
        replies_about_an_invitation_do_not_outlive_its_invitee
        a_page_of_the_log_has_a_limit_of_bytes
        the_log_of_an_app_with_many_flows_is_complete_and_in_order;
    log_orders:
        the_log_of_several_flows_is_the_same_from_both_ends
        the_newest_of_one_flow_are_read_beside_others;
    delivery_health:
        the_health_of_an_endpoint_is_of_its_own_deliveries;
    sinks:
        one_of_many_workers_has_the_lease_of_a_sink
        positions_are_saved_by_the_holder_of_the_lease_only;
    status:
        the_status_names_the_backend_its_connections_and_its_partitions
        mails_that_wait_are_counted_without_those_planned_for_later;
    visits:
        visit_counts_are_added_up
        visit_counts_are_read_for_the_requested_days_of_one_flow
        visit_counts_are_exact_under_concurrent_writes
        visit_counts_move_no_revision_and_no_feed;
}

/// Runs every case on a fresh store, and panics with the names of all failed cases.
pub async fn run_all(fresh: impl AsyncFn() -> Arc<dyn Store>) {
    let mut failed = Vec::new();
    for case in CASES {
        let store = fresh().await;
        // In a separate task, so that a failed case does not hide the next one.
        if tokio::spawn((case.run)(Arc::clone(&store))).await.is_err() {
            failed.push(case.name);
        }
        store.close().await;
    }
    assert!(failed.is_empty(), "broken promises: {failed:#?}");
}

//! What every backend must do: one list of cases, each named after a promise of [`crate::Store`].
//!
//! A backend's own tests call [`run_all`] with a way to make an empty store, and need nothing more
//! for these promises. A case is a plain function that panics where the promise is broken. It uses
//! the trait alone, so the list runs unchanged on a backend that is not written yet.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the suite is test code, compiled into the library so that every backend can run it"
)]

mod apply;
mod apps;
mod commit;
mod counts;
mod expiry;
mod feed;
pub mod filling;
mod flows;
mod instance;
mod invitations;
mod moving;
mod people;
mod removal;
mod respondents;
mod responses;
mod skip_index;
mod unlinking;
mod world;

use std::pin::Pin;
use std::sync::Arc;

use crate::Store;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One promise. `run` gets an empty store of its own.
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
        outcomes_come_in_the_order_of_the_rows
        no_rows_have_no_outcomes
        the_same_submission_under_a_taken_key_is_replayed
        another_submission_under_a_taken_key_is_told_so
        keys_are_taken_between_rows_of_one_call
        a_key_is_taken_within_its_app_only
        without_a_key_equal_submissions_are_all_stored
        a_row_not_at_the_newest_public_revision_is_stale
        a_taken_key_is_answered_at_any_public_revision
        a_change_the_public_cannot_see_makes_nothing_stale
        a_refused_row_does_not_touch_the_others
        a_failed_call_stores_nothing
        many_callers_with_one_key_store_one_row;
    apply:
        the_rows_of_a_change_are_written_all_or_none
        the_rows_of_a_change_may_come_in_any_order
        a_change_decided_on_an_older_revision_is_a_conflict
        a_change_to_an_app_that_does_not_exist_is_a_conflict
        of_two_changes_decided_at_once_one_is_a_conflict
        of_many_first_apps_or_tokens_at_once_one_is_made
        where_there_is_an_app_or_a_token_a_first_one_is_a_conflict
        nothing_is_written_to_the_app_while_a_change_is_made
        a_change_may_have_no_rows
        a_change_that_panics_is_not_written
        a_row_takes_the_place_of_the_row_with_its_id
        the_public_revision_grows_with_what_the_public_can_see
        deleting_a_response_keeps_its_idempotency_key_taken
        deleting_an_absent_response_is_no_error;
    apps:
        an_active_key_finds_its_app
        a_revoked_key_finds_nothing_and_is_still_listed
        what_is_absent_is_not_found
        apps_are_listed_in_the_order_they_were_made
        keys_are_listed_in_the_order_they_were_made
        several_apps_and_their_keys_are_found_at_once
        identity_keys_are_listed_in_the_order_they_were_made_revoked_or_not
        an_identity_key_takes_the_place_of_the_one_with_its_kid_in_its_app
        an_identity_key_is_a_public_change;
    flows:
        a_flow_and_a_version_read_back_as_they_were_given
        the_current_version_is_neither_superseded_nor_retired
        a_version_is_found_with_what_its_flow_decides
        a_flow_is_read_at_one_instant
        flows_are_listed_in_the_order_they_were_made
        flows_are_listed_newest_first_and_without_those_that_are_archived
        published_versions_are_listed_by_falling_number
        a_grace_cap_ends_what_would_end_later_and_extends_nothing;
    responses:
        responses_are_listed_in_both_orders_page_by_page
        responses_of_other_flows_and_apps_are_not_listed
        the_newest_response_of_several_flows_is_found_at_once
        times_are_half_open
        a_version_filters
        a_tag_filters_by_text_or_by_membership
        an_admission_filters
        an_answer_filters_by_text_or_by_membership
        a_search_finds_every_word_in_texts_whatever_their_case
        filters_and_pages_work_together
        a_page_looks_at_no_more_rows_than_it_may_and_goes_on
        a_filter_finds_the_one_row_behind_many_others
        a_page_of_long_texts_is_short_and_goes_on
        responses_are_counted_with_the_names_of_their_tags;
    skip_index:
        blocks_change_nothing_that_is_listed
        a_rare_value_is_found_within_few_rows
        what_is_young_is_in_no_block
        of_a_response_that_was_deleted_no_block_keeps_anything
        what_expires_leaves_no_block_behind
        what_is_stored_with_an_older_id_is_listed
        of_a_person_who_was_erased_no_block_keeps_anything
        what_is_put_in_between_is_listed;
    respondents:
        a_claim_is_linked_by_the_rules
        a_stored_claim_makes_a_profile_with_its_consent
        without_a_claim_nobody_is_made_known
        claims_of_one_call_see_one_another
        a_row_that_is_not_stored_makes_nobody_known
        respondents_are_of_their_app_only
        many_commits_at_once_for_one_new_identity_make_one_profile
        batches_that_claim_the_same_in_other_orders_all_end
        a_full_profile_takes_no_further_address_and_every_response
        many_commits_at_once_do_not_overfill_a_profile
        respondents_are_listed_in_the_order_of_their_ids
        consents_outlive_a_response_that_is_deleted
        responses_of_a_respondent_are_listed_over_flows_page_by_page;
    removal:
        an_erasure_keeps_answers_without_the_person
        an_erasure_deletes_answers
        an_erasure_in_parts_ends_with_the_profile
        a_part_of_an_erasure_is_bounded_however_full_the_profile
        an_erasure_that_was_cut_short_is_listed_and_links_nothing_more
        of_two_erasures_of_one_respondent_the_one_that_deletes_wins
        an_erasure_leaves_everybody_else
        an_erased_key_stays_taken_and_a_late_retry_stores_nothing
        an_unknown_respondent_is_nothing_to_erase
        an_erasure_forgets_the_invitations_of_the_person
        what_came_through_an_invitation_is_the_persons
        what_somebody_else_sent_through_an_invitation_stays_theirs
        somebody_who_was_only_invited_is_erased
        an_invitation_does_not_name_a_response_that_was_deleted;
    unlinking:
        an_erasure_that_keeps_answers_cuts_every_identity_of_the_profile_from_them
        an_identity_that_joins_a_profile_while_it_is_erased_is_cut_as_well;
    expiry:
        what_was_received_before_a_time_expires_with_its_keys
        a_respondent_expires_with_the_last_consent
        marks_of_keys_expire_with_their_time
        whoever_is_still_invited_does_not_expire
        consents_that_are_kept_are_looked_at_once
        invitations_that_are_over_are_forgotten_part_by_part
        an_expiry_is_on_record_where_it_removed_anything
        consents_outlive_the_responses_though_several_expire_at_once;
    counts:
        a_stored_response_is_counted_at_once
        what_is_not_stored_is_not_counted
        folding_changes_nothing_that_is_read
        no_flow_waits_until_all_of_another_is_folded_and_no_walk_either
        what_is_deleted_is_taken_away
        what_is_erased_is_taken_away_with_its_tags
        what_expires_is_taken_away
        what_is_put_in_is_counted_by_a_walk
        a_walk_is_exact_while_others_store_and_remove
        what_is_put_in_twice_is_counted_once
        counts_are_read_of_the_days_that_are_asked_for
        counts_are_exact_though_many_write_and_fold_at_once
        what_is_counted_anew_is_exact_at_every_place_of_a_walk
        a_version_that_cannot_be_read_is_counted_without_its_answers_and_taken_away_the_same
        counts_are_exact_though_many_walk_erase_expire_and_recount_at_once
        junk_tags_that_come_first_do_not_displace_real_ones
        a_tag_that_becomes_frequent_is_counted_separately_again
        counts_by_tag_are_exact_though_days_are_recounted_while_others_write
        counts_are_exact_after_whatever_happened;
    instance:
        a_token_is_found_by_its_hash_revoked_or_not
        tokens_are_listed_in_the_order_they_were_made
        the_audit_log_is_newest_first_by_app_or_of_everything
        a_check_leaves_no_trace
        after_closing_every_call_fails;
    invitations:
        an_invitation_reads_back_as_it_was_given
        invitations_are_listed_in_the_order_they_were_made_page_by_page
        a_state_filters_and_is_counted
        an_open_invitation_of_the_same_person_is_found
        an_invitation_is_opened_once_and_that_moves_no_revision
        a_revoked_invitation_stays_so_and_a_completed_one_is_not_revoked
        a_response_completes_its_invitation
        a_response_that_may_not_be_named_leaves_a_day_and_no_more
        an_invitation_that_is_not_open_takes_no_response
        of_rows_of_one_call_with_one_invitation_the_first_is_stored
        a_retry_under_its_key_is_replayed_though_its_invitation_is_used
        a_refused_row_leaves_its_invitation_and_its_key_free
        many_responses_at_once_under_one_invitation_store_one
        batches_that_share_many_invitations_complete_each_once
        invitations_of_a_person_are_listed_over_flows_page_by_page;
    people:
        a_user_is_found_with_all_grants
        addresses_and_subjects_are_taken_once
        users_are_listed_by_app_or_all_page_by_page
        a_grant_is_replaced_and_taken_away
        of_two_changes_to_people_decided_at_once_one_is_a_conflict
        a_user_has_one_link_at_the_most
        a_session_reads_back_is_touched_and_ends
        sessions_of_a_user_are_listed_by_epoch_and_all_but_one_end
        sessions_that_are_over_are_swept_a_part_at_a_time;
    feed:
        an_empty_store_has_no_changes
        a_public_change_is_in_the_feed_at_once
        drafts_responses_tokens_and_audit_are_not_in_the_feed
        the_feed_tells_only_what_came_after
        an_app_appears_once_however_often_it_changed;
    moving:
        an_empty_store_has_nothing_to_read_out
        what_was_stored_is_read_out_once_and_in_order
        what_is_put_in_is_read_out_unchanged
        records_may_be_put_in_in_parts_and_twice
        a_record_takes_the_place_of_the_one_with_its_key
        reading_goes_on_from_any_place
        long_records_are_all_read_out
        a_page_is_no_heavier_than_its_bound_whichever_text_is_long
        records_are_put_in_all_or_none
        a_retry_after_a_move_is_replayed
        work_goes_on_at_the_revisions_of_the_move;
}

/// Runs every case on a fresh store, and panics with the names of all that failed.
pub async fn run_all(fresh: impl AsyncFn() -> Arc<dyn Store>) {
    let mut failed = Vec::new();
    for case in CASES {
        let store = fresh().await;
        // On a task of its own, so that a broken promise does not hide the next one.
        if tokio::spawn((case.run)(Arc::clone(&store))).await.is_err() {
            failed.push(case.name);
        }
        store.close().await;
    }
    assert!(failed.is_empty(), "broken promises: {failed:#?}");
}

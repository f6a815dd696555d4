//! Use cases by the id of their target, in one line each: opens the handle for the scope that the
//! use case needs, and calls it. So a test states the actor, the operation and the target, and sees
//! the refusals of both steps.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::time::Duration;

use serde_json::Value;
use sluice_engine::export::{Export, ExportAs};
use sluice_engine::funnel::{Funnel, FunnelFilter};
use sluice_engine::people::{Member, NewMember, NewUser, UserDetail, UserPatch};
use sluice_engine::rows::{
    AnswersOnErasure, ConsentRow, FlowState, IdentityKeyRow, InvitationCounts, Page, Respondent,
    ResponsePage, ResponseRow, Role, Scope, TokenRow, VersionRow,
};
use sluice_engine::{
    Actor, AdminResult, AppDetail, AppPatch, Draft, Duplicates, Editing, Engine, Erased, FlowPatch,
    HistoryEntry, Invitation, InvitationCursor, NewFlow, NewIdentityKey, NewInvitation, NewToken,
    Paging, Published, RespondentExport, ResponseFilter, Saved, Secret, TokenSecret,
    VerificationReport,
};
use sluice_flow::id::{
    ApiKey, AppId, AssignmentId, FlowId, FlowVersionId, RespondentId, ResponseId, TokenId, UserId,
};
use sluice_flow::invitation::InvitationState;
use sluice_flow::respondent::{IdentityType, ProfileIdentity};

pub(crate) trait UseCases {
    fn engine(&self) -> &Engine;

    async fn find_respondent(
        &self,
        actor: &Actor,
        id: AppId,
        of: IdentityType,
        value: &str,
    ) -> AdminResult<Option<Respondent>> {
        self.engine().app(actor, Scope::Read, id).await?.find_respondent(of, value).await
    }

    async fn funnel(
        &self,
        actor: &Actor,
        id: FlowId,
        filter: &FunnelFilter,
    ) -> AdminResult<Funnel> {
        self.engine().flow(actor, Scope::Read, id).await?.funnel(filter).await
    }

    async fn verification_report(
        &self,
        actor: &Actor,
        id: AppId,
    ) -> AdminResult<VerificationReport> {
        self.engine().app(actor, Scope::Read, id).await?.verification_report()
    }

    async fn get_app(&self, actor: &Actor, id: AppId) -> AdminResult<AppDetail> {
        self.engine().app(actor, Scope::Read, id).await?.detail().await
    }

    async fn update_app(
        &self,
        actor: &Actor,
        id: AppId,
        patch: &AppPatch,
    ) -> AdminResult<AppDetail> {
        self.engine().app(actor, Scope::Write, id).await?.update(patch).await
    }

    async fn revoke_key(&self, actor: &Actor, id: AppId, key: &ApiKey) -> AdminResult<()> {
        self.engine().app(actor, Scope::Admin, id).await?.revoke_key(key).await
    }

    async fn create_identity_key(
        &self,
        actor: &Actor,
        id: AppId,
        new: &NewIdentityKey,
    ) -> AdminResult<(IdentityKeyRow, Option<TokenSecret>)> {
        self.engine().app(actor, Scope::Admin, id).await?.create_identity_key(new).await
    }

    async fn list_identity_keys(
        &self,
        actor: &Actor,
        id: AppId,
    ) -> AdminResult<Vec<IdentityKeyRow>> {
        self.engine().app(actor, Scope::Read, id).await?.list_identity_keys().await
    }

    async fn revoke_identity_key(&self, actor: &Actor, id: AppId, kid: &str) -> AdminResult<()> {
        self.engine().app(actor, Scope::Admin, id).await?.revoke_identity_key(kid).await
    }

    async fn create_flow(&self, actor: &Actor, id: AppId, new: &NewFlow) -> AdminResult<FlowState> {
        self.engine().app(actor, Scope::Write, id).await?.create_flow(new).await
    }

    async fn newest_flows(
        &self,
        actor: &Actor,
        id: AppId,
        archived: bool,
        page: Page<FlowId>,
    ) -> AdminResult<Vec<FlowState>> {
        self.engine().app(actor, Scope::Read, id).await?.newest_flows(archived, page).await
    }

    async fn list_respondents(
        &self,
        actor: &Actor,
        id: AppId,
        page: Page<RespondentId>,
    ) -> AdminResult<Vec<Respondent>> {
        self.engine().app(actor, Scope::Read, id).await?.list_respondents(page).await
    }

    async fn export_known(
        &self,
        actor: &Actor,
        id: AppId,
        known: &ProfileIdentity,
    ) -> AdminResult<RespondentExport> {
        self.engine().app(actor, Scope::Export, id).await?.export_known(known).await
    }

    async fn erase_known(
        &self,
        actor: &Actor,
        id: AppId,
        known: ProfileIdentity,
        answers: AnswersOnErasure,
    ) -> AdminResult<Erased> {
        self.engine().app(actor, Scope::Erase, id).await?.erase_known(known, answers).await
    }

    async fn list_members(
        &self,
        actor: &Actor,
        id: AppId,
        page: Page<UserId>,
    ) -> AdminResult<Vec<Member>> {
        self.engine().app(actor, Scope::Admin, id).await?.list_members(page).await
    }

    async fn add_member(
        &self,
        actor: &Actor,
        id: AppId,
        new: &NewMember,
    ) -> AdminResult<(UserId, Option<Secret>)> {
        self.engine().app(actor, Scope::Admin, id).await?.add_member(new).await
    }

    async fn get_flow(&self, actor: &Actor, id: FlowId) -> AdminResult<FlowState> {
        Ok(self.engine().flow(actor, Scope::Read, id).await?.into_state())
    }

    async fn update_flow(
        &self,
        actor: &Actor,
        id: FlowId,
        patch: &FlowPatch,
    ) -> AdminResult<FlowState> {
        self.engine().flow(actor, Scope::Write, id).await?.update(patch).await
    }

    async fn archive_flow(&self, actor: &Actor, id: FlowId) -> AdminResult<()> {
        self.engine().flow(actor, Scope::Write, id).await?.archive().await
    }

    async fn duplicate_flow(
        &self,
        actor: &Actor,
        id: FlowId,
        name: &str,
    ) -> AdminResult<FlowState> {
        self.engine().flow(actor, Scope::Write, id).await?.duplicate(name).await
    }

    async fn get_draft(&self, actor: &Actor, id: FlowId) -> AdminResult<Draft> {
        self.engine().flow(actor, Scope::Read, id).await?.draft().await
    }

    async fn put_draft(&self, actor: &Actor, id: FlowId, definition: Value) -> AdminResult<Draft> {
        self.engine().flow(actor, Scope::Write, id).await?.put_draft(definition).await
    }

    async fn editing(&self, actor: &Actor, id: FlowId) -> AdminResult<Editing> {
        self.engine().flow(actor, Scope::Read, id).await?.editing().await
    }

    async fn save_draft(
        &self,
        actor: &Actor,
        id: FlowId,
        definition: &Value,
        tag: &str,
    ) -> AdminResult<Saved> {
        self.engine().flow(actor, Scope::Write, id).await?.save_draft(definition, tag).await
    }

    async fn publish(&self, actor: &Actor, id: FlowId) -> AdminResult<Published> {
        self.engine().flow(actor, Scope::Write, id).await?.publish().await
    }

    async fn publish_seen(&self, actor: &Actor, id: FlowId, tag: &str) -> AdminResult<Published> {
        self.engine().flow(actor, Scope::Write, id).await?.publish_seen(tag).await
    }

    async fn history(
        &self,
        actor: &Actor,
        id: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> AdminResult<Vec<HistoryEntry>> {
        self.engine().flow(actor, Scope::Read, id).await?.history(before, limit).await
    }

    async fn list_versions(
        &self,
        actor: &Actor,
        id: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> AdminResult<Vec<VersionRow>> {
        self.engine().flow(actor, Scope::Read, id).await?.list_versions(before, limit).await
    }

    async fn list_responses(
        &self,
        actor: &Actor,
        id: FlowId,
        filter: &ResponseFilter,
        paging: Paging,
    ) -> AdminResult<ResponsePage> {
        self.engine().flow(actor, Scope::Read, id).await?.list_responses(filter, paging).await
    }

    async fn export(
        &self,
        actor: &Actor,
        id: FlowId,
        exported_as: ExportAs,
        filter: &ResponseFilter,
    ) -> AdminResult<Export> {
        self.engine().flow(actor, Scope::Export, id).await?.export(exported_as, filter).await
    }

    async fn invite(
        &self,
        actor: &Actor,
        id: FlowId,
        new: &[NewInvitation],
        duplicates: Duplicates,
        check_only: bool,
    ) -> AdminResult<Vec<Invitation>> {
        self.engine().flow(actor, Scope::Write, id).await?.invite(new, duplicates, check_only).await
    }

    async fn list_invitations(
        &self,
        actor: &Actor,
        id: FlowId,
        state: Option<InvitationState>,
        after: Option<InvitationCursor>,
        limit: usize,
    ) -> AdminResult<Vec<Invitation>> {
        self.engine()
            .flow(actor, Scope::Read, id)
            .await?
            .list_invitations(state, after, limit)
            .await
    }

    async fn count_invitations(&self, actor: &Actor, id: FlowId) -> AdminResult<InvitationCounts> {
        self.engine().flow(actor, Scope::Read, id).await?.count_invitations().await
    }

    async fn republish(&self, actor: &Actor, id: FlowVersionId) -> AdminResult<Published> {
        self.engine().version(actor, Scope::Write, id).await?.republish().await
    }

    async fn retire(&self, actor: &Actor, id: FlowVersionId) -> AdminResult<VersionRow> {
        self.engine().version(actor, Scope::Write, id).await?.retire().await
    }

    async fn get_response(&self, actor: &Actor, id: ResponseId) -> AdminResult<ResponseRow> {
        Ok(self.engine().response(actor, Scope::Read, id).await?.into_row())
    }

    async fn delete_response(&self, actor: &Actor, id: ResponseId) -> AdminResult<()> {
        self.engine().response(actor, Scope::Erase, id).await?.delete().await
    }

    async fn get_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
    ) -> AdminResult<(Respondent, Vec<ConsentRow>)> {
        self.engine().respondent(actor, Scope::Read, id).await?.profile().await
    }

    async fn export_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
    ) -> AdminResult<RespondentExport> {
        self.engine().respondent(actor, Scope::Export, id).await?.export().await
    }

    async fn erase_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
        answers: AnswersOnErasure,
    ) -> AdminResult<Erased> {
        self.engine().respondent(actor, Scope::Erase, id).await?.erase(answers).await
    }

    async fn erase_respondent_within(
        &self,
        actor: &Actor,
        id: RespondentId,
        answers: AnswersOnErasure,
        time: Duration,
    ) -> AdminResult<Erased> {
        self.engine().respondent(actor, Scope::Erase, id).await?.erase_within(answers, time).await
    }

    async fn get_invitation(&self, actor: &Actor, id: AssignmentId) -> AdminResult<Invitation> {
        self.engine().invitation(actor, Scope::Read, id).await?.shown()
    }

    async fn revoke_invitation(&self, actor: &Actor, id: AssignmentId) -> AdminResult<()> {
        self.engine().invitation(actor, Scope::Write, id).await?.revoke().await
    }

    async fn create_app(&self, actor: &Actor, name: &str) -> AdminResult<AppDetail> {
        self.engine().instance(actor)?.create_app(name).await
    }

    async fn create_token(
        &self,
        actor: &Actor,
        new: NewToken,
    ) -> AdminResult<(TokenRow, TokenSecret)> {
        self.engine().instance(actor)?.create_token(new).await
    }

    async fn list_tokens(&self, actor: &Actor) -> AdminResult<Vec<TokenRow>> {
        self.engine().instance(actor)?.list_tokens().await
    }

    async fn revoke_token(&self, actor: &Actor, id: TokenId) -> AdminResult<()> {
        self.engine().instance(actor)?.revoke_token(id).await
    }

    async fn create_user(&self, actor: &Actor, new: NewUser) -> AdminResult<(UserDetail, Secret)> {
        self.engine().instance(actor)?.create_user(new).await
    }

    async fn list_users(&self, actor: &Actor, page: Page<UserId>) -> AdminResult<Vec<UserDetail>> {
        self.engine().instance(actor)?.list_users(page).await
    }

    async fn get_user(&self, actor: &Actor, id: UserId) -> AdminResult<UserDetail> {
        self.engine().instance(actor)?.get_user(id).await
    }

    async fn update_user(
        &self,
        actor: &Actor,
        id: UserId,
        patch: &UserPatch,
    ) -> AdminResult<UserDetail> {
        self.engine().instance(actor)?.update_user(id, patch).await
    }

    async fn reset_user(&self, actor: &Actor, id: UserId) -> AdminResult<Secret> {
        self.engine().instance(actor)?.reset_user(id).await
    }

    async fn set_role(
        &self,
        actor: &Actor,
        id: UserId,
        app: Option<AppId>,
        role: Option<Role>,
    ) -> AdminResult<UserDetail> {
        match app {
            Some(app) => {
                self.engine().app(actor, Scope::Admin, app).await?.set_role(id, role).await
            }
            None => self.engine().instance(actor)?.set_role(id, role).await,
        }
    }
}

impl UseCases for Engine {
    fn engine(&self) -> &Engine {
        self
    }
}

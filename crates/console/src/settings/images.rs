//! Images of an app: what is stored, and where it is used. One that is in use cannot be deleted;
//! the page that asks says where it is.

use std::sync::Arc;

use axum::extract::{Request, State};
use http::header::CONTENT_TYPE;
use maud::{Markup, html};
use sluice_engine::AdminError;
use sluice_engine::asset_uses::{AssetUses, FlowUse};
use sluice_engine::assets::{APP_BYTES_MAX, UPLOAD_BYTES_MAX};
use sluice_engine::rows::{AssetInfo, ImageType, Scope};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, AssetId};
use sluice_http::multipart;

use super::super::Console;
use super::super::parts::{self, ago, counted, number};
use super::super::reply::{self, Kind, Refused, Reply};
use super::super::request::{PathParam, Query, read_up_to};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{app_page, error_of, may};

const TAB: &str = "images";
/// Images on one page.
const SHOWN: usize = 25;
/// Flows and questions listed for one image.
const USES_SHOWN: usize = 5;
/// The length of a prompt in the list.
const PROMPT_CHARS_MAX: usize = 60;
/// The name and the id of the field with the file.
const FIELD: &str = "image";
const KILOBYTE: u64 = 1024;
const MEGABYTE: u64 = 1024 * KILOBYTE;
const TEN_MEGABYTES: u64 = 10 * MEGABYTE;

/// The list, with what was wrong with an upload.
struct ImagesPage<'p> {
    kind: Kind,
    after: Option<AssetId>,
    done: Option<&'p str>,
    faults: Vec<Fault>,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let after = query.get("after").and_then(|id| id.parse().ok());
    let done = query.get("done");
    let page = ImagesPage { kind: Kind::Shown, after, done, faults: Vec::new() };
    render(&console, &visitor, app, page).await
}

pub(super) async fn upload(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    request: Request,
) -> Reply {
    let handle = console.engine.app(&visitor.actor, Scope::Write, app).await?;
    let refused = |kind, pointer: &str, message: String| {
        let faults = vec![Fault::new(pointer, message)];
        render(&console, &visitor, app, ImagesPage { kind, after: None, done: None, faults })
    };
    let field = format!("/{FIELD}");
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().to_owned();
    let form = match read_up_to(UPLOAD_BYTES_MAX + multipart::OVERHEAD_BYTES_MAX, request).await {
        Ok(form) => form,
        Err(Refused::TooLarge) => {
            return refused(Kind::TooLarge, &field, "must have at most 2 MB".to_owned()).await;
        }
        Err(unread) => return Err(unread),
    };
    let Some(file) = multipart::field(&kind, &form, FIELD) else {
        return Err(Refused::Unreadable);
    };
    let file = form.slice_ref(file);
    if file.is_empty() {
        return refused(Kind::Unfinished, "", "Choose a file first.".to_owned()).await;
    }
    let done = match handle.upload_asset(file).await {
        Ok(uploaded) if uploaded.is_new => "image-stored",
        Ok(_) => "image-known",
        Err(AdminError::Invalid(faults)) => {
            let faults: Vec<_> = faults.into_iter().map(|fault| fault.message).collect();
            return refused(Kind::Unfinished, &field, faults.join(", ")).await;
        }
        Err(AdminError::Conflict { detail, .. }) => {
            return refused(Kind::Conflict, "", format!("Not stored: {detail}.")).await;
        }
        Err(error) => return Err(error.into()),
    };
    Ok(reply::see_other(&format!("{}?done={done}", address(app))))
}

/// Asks before a deletion, or explains why there is none.
pub(super) async fn ask(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(asset): PathParam<AssetId>,
) -> Reply {
    let handle = console.engine.app(&visitor.actor, Scope::Write, app).await?;
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let images = handle.list_assets().await?;
    let image = images.iter().find(|it| it.asset_id == asset);
    let image = image.ok_or(Refused::NoSuchPage)?;
    let uses = handle.asset_uses(&[asset]).await?.pop().unwrap_or_default();
    let back = address(app);
    let content = html! {
        section.card data-dialog-body {
            @if uses.is_empty() {
                h2 { "Delete this image?" }
                (thumbnail(image))
                p { "Its address stops working. Older versions that have it cannot be published again." }
                form.buttons method="post" action={ (back) "/" (asset) "/delete" } {
                    button.button.danger.primary type="submit" { "Delete" }
                    a.button href=(back) data-closes { "Cancel" }
                }
            } @else {
                h2 { "This image is in use" }
                (thumbnail(image))
                p { "It can be deleted when nothing uses it any more. Remove it here and publish:" }
                (used_in(app, &uses))
                p.buttons { a.button.primary href=(back) data-closes { "OK" } }
            }
        }
    };
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, None, content))
}

pub(super) async fn delete(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(asset): PathParam<AssetId>,
) -> Reply {
    console.engine.app(&visitor.actor, Scope::Write, app).await?.delete_asset(asset).await?;
    Ok(reply::see_other(&format!("{}?done=deleted", address(app))))
}

fn address(app: AppId) -> String {
    format!("/console/apps/{app}/settings/images")
}

async fn render(console: &Console, visitor: &Visitor, app: AppId, page: ImagesPage<'_>) -> Reply {
    let sidebar = Sidebar::app(console, visitor, app).await?;
    let handle = sidebar.own()?;
    let all = handle.list_assets().await?;
    // Newest first: the next page starts below this id.
    let later = all.iter().filter(|it| page.after.is_none_or(|after| it.asset_id < after));
    let mut shown: Vec<_> = later.take(SHOWN + 1).collect();
    let has_more = shown.len() > SHOWN;
    shown.truncate(SHOWN);
    let ids: Vec<_> = shown.iter().map(|it| it.asset_id).collect();
    let uses = handle.asset_uses(&ids).await?;
    let next = ids.last().filter(|_| has_more);
    let writes = may(visitor, Scope::Write, app);
    let content = html! {
        (parts::errors(&page.faults, field_of))
        (head(app, &all, writes, &page.faults))
        @if !shown.is_empty() {
            (list(app, shown.into_iter().zip(&uses), writes))
        }
        @if page.after.is_some() || next.is_some() {
            nav.pager aria-label="Pages" {
                @if page.after.is_some() { a.button href=(address(app)) { "Newest" } } @else { span {} }
                @if let Some(next) = next { a.button href={ (address(app)) "?after=" (next) } { "Older" } }
            }
        }
    };
    Ok(app_page(visitor, &sidebar, TAB, page.kind, page.done, content))
}

fn field_of(pointer: &str) -> Option<String> {
    pointer.strip_prefix('/').map(str::to_owned).or_else(|| Some(FIELD.to_owned()))
}

fn head(app: AppId, all: &[AssetInfo], writes: bool, faults: &[Fault]) -> Markup {
    let bytes: u64 = all.iter().map(|it| it.bytes_len).sum();
    let error = error_of(faults, FIELD, field_of);
    html! {
        section.card {
            header {
                h2 { "Images" }
                @if !all.is_empty() {
                    p.muted { (counted(all.len() as u64, "image")) ", " (size(bytes)) " of " (size(APP_BYTES_MAX)) }
                }
            }
            p.muted { "Images for questions, options and backgrounds of this app’s flows. Anyone who has the address of an image can see it." }
            @if all.is_empty() { p { "No images yet." } }
            @if writes {
                form.form method="post" action=(address(app)) enctype="multipart/form-data" {
                    div.field {
                        label for=(FIELD) { "Upload an image" }
                        p.hint id="image-hint" { "PNG, JPEG or WebP, at most 2 MB and 4,096 pixels wide and high. Metadata such as the location of a photo is removed." }
                        input.input id=(FIELD) name=(FIELD) type="file" required accept="image/png,image/jpeg,image/webp"
                            aria-describedby={ "image-hint" @if error.is_some() { " image-error" } } aria-invalid=[error.map(|_| "true")];
                        @if let Some(error) = error { p.error id="image-error" { (error) } }
                    }
                    div.buttons { button.button.primary type="submit" { "Upload" } }
                }
            }
        }
    }
}

fn list<'i>(
    app: AppId,
    images: impl Iterator<Item = (&'i AssetInfo, &'i AssetUses)>,
    writes: bool,
) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Images" {
            table.table.stacks.images {
                thead { tr {
                    th scope="col" { "Image" } th scope="col" { "Kind" } th scope="col" { "Size" }
                    th scope="col" { "Uploaded" } th scope="col" { "Used in" }
                    @if writes { th scope="col" { span.unseen { "Actions" } } }
                } }
                tbody {
                    @for (image, uses) in images {
                        tr {
                            td data-label="Image" { (thumbnail(image)) }
                            td data-label="Kind" { (kind(image.content_type)) }
                            td data-label="Size" { div {
                                (number(image.width.into())) " × " (number(image.height.into()))
                                p.muted { (size(image.bytes_len)) }
                            } }
                            td data-label="Uploaded" { (ago(image.created_at)) }
                            td data-label="Used in" { div { (used_in(app, uses)) } }
                            @if writes {
                                td { a.button.small.danger href={ (address(app)) "/" (image.asset_id) "/delete" } data-dialog
                                    aria-label={ "Delete the image uploaded at " (image.created_at) } { "Delete" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn thumbnail(image: &AssetInfo) -> Markup {
    html! {
        a.image href={ "/a/" (image.asset_id) } target="_blank" rel="noopener"
            aria-label={ "Open the image " (image.asset_id) " in a new tab" } {
            img src={ "/a/" (image.asset_id) } alt="" width=(image.width) height=(image.height) loading="lazy";
        }
    }
}

fn kind(content_type: ImageType) -> &'static str {
    match content_type {
        ImageType::Png => "PNG",
        ImageType::Jpeg => "JPEG",
        ImageType::WebP => "WebP",
    }
}

fn used_in(app: AppId, uses: &AssetUses) -> Markup {
    let more = uses.flows.len().saturating_sub(USES_SHOWN);
    html! {
        @if uses.is_empty() { span.muted { "Not used" } }
        @else {
            ul.uses {
                @if uses.in_app_design {
                    li { a href={ "/console/apps/" (app) "/settings/design" } { "The app’s design" } p.muted { "Background" } }
                }
                @for flow in uses.flows.iter().take(USES_SHOWN) {
                    li {
                        a href={ "/console/flows/" (flow.flow_id) @if flow.prompts.is_empty() { "/design" } @else { "/edit" } } { (flow.name) }
                        p.muted { (places(flow)) }
                        @if let Some(end) = flow.ends_at {
                            p.muted { "Only in an earlier version, which accepts responses until " (parts::time(end)) }
                        }
                    }
                }
                @if more > 0 { li.muted { "and " (counted(more as u64, "more flow")) } }
            }
        }
    }
}

/// The parts of a flow with the image, in one line.
fn places(flow: &FlowUse) -> String {
    let prompts = flow.prompts.iter().take(USES_SHOWN).map(|prompt| match prompt.as_str() {
        "" => "Untitled question".to_owned(),
        prompt => format!("“{}”", shortened(prompt)),
    });
    let mut places: Vec<String> = prompts.collect();
    if let more @ 1.. = flow.prompts.len().saturating_sub(USES_SHOWN) {
        places.push(counted(more as u64, "more question"));
    }
    if flow.in_design {
        places.push("Background".to_owned());
    }
    if flow.is_archived {
        places.push("in an archived flow".to_owned());
    }
    places.join(", ")
}

fn shortened(prompt: &str) -> String {
    if prompt.chars().count() <= PROMPT_CHARS_MAX {
        return prompt.to_owned();
    }
    let start: String = prompt.chars().take(PROMPT_CHARS_MAX - 1).collect();
    format!("{}…", start.trim_end())
}

/// A number of bytes in the unit that a reader expects.
fn size(bytes: u64) -> String {
    match bytes {
        0..KILOBYTE => counted(bytes, "byte"),
        KILOBYTE..MEGABYTE => format!("{} KB", bytes / KILOBYTE),
        MEGABYTE..TEN_MEGABYTES => {
            format!("{}.{} MB", bytes / MEGABYTE, bytes % MEGABYTE * 10 / MEGABYTE)
        }
        TEN_MEGABYTES.. => format!("{} MB", number(bytes / MEGABYTE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_unit_that_fits() {
        for (bytes, text) in [
            (1, "1 byte"),
            (1_023, "1,023 bytes"),
            (1_024, "1 KB"),
            (1_048_575, "1023 KB"),
            (1_048_576, "1.0 MB"),
            (1_992_294, "1.8 MB"),
            (10_485_760, "10 MB"),
            (APP_BYTES_MAX, "200 MB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn a_long_prompt_is_shortened() {
        let (fits, long) = ("é".repeat(PROMPT_CHARS_MAX), "é".repeat(PROMPT_CHARS_MAX + 1));
        assert_eq!(shortened(&fits), fits);
        assert_eq!(shortened(&long), format!("{}…", "é".repeat(PROMPT_CHARS_MAX - 1)));
    }
}

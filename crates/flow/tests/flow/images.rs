//! Images of questions and options: read, refused, translated, compared and served.

use serde_json::{Value, json};
use sluice_flow::definition::{Definition, check, check_new, difference, json_schema, presentable};
use sluice_flow::question::Input;
use sluice_flow::question::choice::Choice;

const ONE: &str = "as_06Dy3mWjVC9Wh9bEzFTKgV";
const TWO: &str = "as_06Dy3mWjVC9Wh9bEzFTKgW";

fn draft() -> Value {
    json!({
        "title": "Pictures",
        "questions": [
            {"id": "look", "type": "statement", "prompt": "Look", "image": {"assetId": ONE, "alt": "A cat"}},
            {"id": "which", "type": "singleChoice", "prompt": "Which?", "options": [
                {"id": "a", "label": "A", "image": {"assetId": ONE, "alt": "First"}},
                {"id": "b", "label": "B", "image": {"assetId": TWO}},
                {"id": "c", "label": "C"},
            ]},
        ],
        "translations": {"de": {"questions": {
            "look": {"imageAlt": "Eine Katze"},
            "which": {"options": {"a": "Das A"}, "optionAlts": {"a": "Erstes"}},
        }}},
    })
}

fn valid(draft: &Value) -> Definition {
    check(draft).unwrap()
}

fn options(definition: &Definition) -> &[Choice] {
    match definition.questions()[1].question_type.input() {
        Input::OneOf { options, .. } => &options.options,
        other => panic!("{other:?}"),
    }
}

#[test]
fn images_are_read_written_and_listed_with_their_places() {
    let definition = valid(&draft());
    let json = definition.to_json();
    assert_eq!(json["questions"][0]["image"], json!({"assetId": ONE, "alt": "A cat"}));
    assert_eq!(json["questions"][1]["options"][1]["image"], json!({"assetId": TWO}));
    assert_eq!(valid(&json), definition);
    let places: Vec<(String, String)> = definition
        .images()
        .into_iter()
        .map(|(place, image)| (place, image.asset_id.to_string()))
        .collect();
    let expected = [
        ("/questions/0/image", ONE),
        ("/questions/1/options/0/image", ONE),
        ("/questions/1/options/1/image", TWO),
    ];
    assert_eq!(places, expected.map(|(place, id)| (place.to_owned(), id.to_owned())));
    assert_eq!(check_new(&draft()).unwrap(), definition);
}

#[test]
fn the_text_of_an_image_is_that_of_the_language() {
    let definition = valid(&draft());
    for (language, look, first) in [("de", "Eine Katze", "Erstes"), ("fr", "A cat", "First")] {
        let wording = definition.wording(&[language.to_owned()]);
        let [statement, which] = definition.questions() else { panic!() };
        assert_eq!(wording.image_alt(statement), look);
        assert_eq!(wording.image_alt(which), "");
        let alts: Vec<&str> =
            options(&definition).iter().map(|it| wording.option_alt(which, it)).collect();
        assert_eq!(alts, [first, "", ""]);
    }
}

#[test]
fn every_fault_of_an_image_has_its_place() {
    let id = "must be as_ followed by 22 letters and digits";
    for (pointer, value, at, message) in [
        ("/questions/0/image", json!("x"), "/questions/0/image", "must be an object"),
        (
            "/questions/0/image",
            json!({"alt": "x"}),
            "/questions/0/image/assetId",
            "assetId is required",
        ),
        ("/questions/0/image/assetId", json!("as_1"), "/questions/0/image/assetId", id),
        ("/questions/0/image/assetId", json!(7), "/questions/0/image/assetId", id),
        (
            "/questions/0/image/alt",
            json!("x".repeat(501)),
            "/questions/0/image/alt",
            "must be at most 500 characters long",
        ),
        (
            "/questions/1/options/1/image/assetId",
            json!("fl_06Dy3mWjVC9Wh9bEzFTKgV"),
            "/questions/1/options/1/image/assetId",
            id,
        ),
        (
            "/questions/1/options/0/image",
            json!({"assetId": ONE, "url": "x", "alt": "y"}),
            "/questions/1/options/0/image/url",
            "unknown field; allowed are assetId, alt",
        ),
        (
            "/questions/1/type",
            json!("dropdown"),
            "/questions/1/options/0/image",
            "unknown field; allowed are id, label, score, fixed",
        ),
        (
            "/questions/1/type",
            json!("ranking"),
            "/questions/1/options/0/image",
            "unknown field; allowed are id, label, fixed",
        ),
        (
            "/translations/de/questions/which/optionAlts/b",
            json!("x"),
            "/translations/de/questions/which/optionAlts/b",
            "the question's optionAlts have no such id",
        ),
    ] {
        let mut draft = draft();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        draft.pointer_mut(parent).unwrap()[name] = value;
        let faults = check(&draft).unwrap_err();
        assert!(
            faults.iter().any(|it| it.pointer == at && it.message == message),
            "{pointer}: {faults:?}"
        );
    }
    let mut draft = draft();
    draft["questions"][0].as_object_mut().unwrap().remove("image");
    let faults = check(&draft).unwrap_err();
    assert_eq!(faults[0].pointer, "/translations/de/questions/look/imageAlt");
}

#[test]
fn a_draft_with_a_faulty_image_is_shown_without_it() {
    for pointer in ["/questions/0/image/assetId", "/questions/1/options/0/image/assetId"] {
        let mut draft = draft();
        draft.as_object_mut().unwrap().remove("translations");
        *draft.pointer_mut(pointer).unwrap() = json!("?");
        let (shown, left_out) = presentable(&draft).unwrap();
        assert_eq!(
            (shown.questions().len(), shown.images().len(), left_out.len()),
            (2, 2, 0),
            "{pointer}"
        );
    }
}

#[test]
fn a_placeholder_in_the_text_of_an_image_is_checked() {
    let mut draft = draft();
    draft["questions"][0]["image"]["alt"] = json!("Like {{answer:which}}");
    let faults = check_new(&draft).unwrap_err();
    assert_eq!(faults[0].pointer, "/questions/0/image/alt");
}

#[test]
fn changes_of_images_are_put_in_words() {
    for (pointer, value, expected) in [
        ("/questions/0/image", Value::Null, "“Look”: image removed"),
        ("/questions/0/image/assetId", json!(TWO), "“Look”: another image"),
        (
            "/questions/0/image/alt",
            json!("A dog"),
            "“Look”: alternative text of the image now reads “A dog”",
        ),
        ("/questions/0/image/alt", Value::Null, "“Look”: alternative text of the image removed"),
        ("/questions/1/image", json!({"assetId": ONE}), "“Which?”: new image"),
        (
            "/questions/1/options/2/image",
            json!({"assetId": ONE}),
            "“Which?”: option “C”: new image",
        ),
        ("/questions/1/options/1/image", Value::Null, "“Which?”: option “B”: image removed"),
    ] {
        let mut before = draft();
        before.as_object_mut().unwrap().remove("translations");
        let mut after = before.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        after.pointer_mut(parent).unwrap()[name] = value;
        let changes = difference(&valid(&before), &valid(&after));
        let texts: Vec<&str> = changes.iter().map(|change| change.text.as_str()).collect();
        assert_eq!(texts, [expected], "{pointer}");
    }
}

#[test]
fn the_schema_has_images() {
    let types = json_schema()["$defs"]["question"]["oneOf"].as_array().unwrap();
    for question in types {
        let image = &question["properties"]["image"]["anyOf"][0];
        assert_eq!(image["required"], json!(["assetId"]));
        let options = &question["properties"]["options"]["items"]["properties"];
        let name = question["properties"]["type"]["const"].as_str().unwrap();
        let may_have = matches!(name, "singleChoice" | "multipleChoice");
        assert_eq!(options.get("image").is_some(), may_have, "{name}");
    }
}

//! The rules that link a response to its respondent, as one table.

use std::borrow::Cow;
use std::collections::HashMap;

use sluice_flow::id::RespondentId;
use sluice_flow::respondent::{
    Claim, Holder, IDENTITIES_PER_RESPONDENT_MAX, IdentityType, Link, ProfileIdentity, link,
    remember,
};
use sluice_flow::submission::Identity;
use uuid::Uuid;

fn respondent(number: u128) -> RespondentId {
    RespondentId::from_uuid(Uuid::from_u128(number))
}

fn identity(text: &str) -> Identity<'_> {
    let (kind, value) = text.split_once('=').unwrap();
    let kind = match kind {
        "user" => "userId",
        "mail" => "traits.email",
        other => other,
    };
    Identity { kind: Cow::Borrowed(kind), value: Cow::Borrowed(value) }
}

fn claim(texts: &[&str]) -> Option<Claim> {
    let identities: Vec<_> = texts.iter().map(|text| identity(text)).collect();
    let mut claim = Claim::from_identities(&identities)?;
    claim.new_id = respondent(99);
    Some(claim)
}

fn known(text: &str) -> ProfileIdentity {
    let Identity { kind, value } = identity(text);
    ProfileIdentity::new(IdentityType::named(&kind).unwrap(), &value)
}

/// Profiles 1, 2, … with the identities of each.
fn holders(profiles: &[&[&str]]) -> HashMap<ProfileIdentity, Holder> {
    let mut holders = HashMap::new();
    for (number, identities) in (1..).zip(profiles) {
        let has_user_id = identities.iter().any(|it| it.starts_with("user="));
        let addresses = identities.len() - usize::from(has_user_id);
        let holder = Holder { respondent: respondent(number), has_user_id, addresses };
        holders.extend(identities.iter().map(|it| (known(it), holder)));
    }
    holders
}

const NEW: u128 = 99;

/// The rule, the existing profiles, the identities sent, the resulting respondent, and the
/// identities added.
type Case<'a> = (&'a str, &'a [&'a [&'a str]], &'a [&'a str], u128, &'a [&'a str]);

#[test]
fn a_profile_is_found_by_user_id_else_by_e_mail_else_created() {
    let anna: &[&str] = &["user=a", "mail=a@x.org"];
    let mail_only: &[&str] = &["mail=m@x.org"];
    let bert: &[&str] = &["user=b", "mail=b@x.org", "mail=b2@x.org"];
    let cases: &[Case] = &[
        ("nobody is known", &[], &["user=a"], NEW, &["user=a"]),
        ("nobody, by address", &[], &["mail=A@x.ORG"], NEW, &["mail=a@x.org"]),
        ("both are kept", &[], &["mail=a@x.org", "user=a"], NEW, &["user=a", "mail=a@x.org"]),
        ("by userId", &[anna, bert], &["user=b"], 2, &[]),
        ("by address", &[anna, bert], &["mail=b2@x.org"], 2, &[]),
        ("the case of an address is ignored", &[anna], &["mail=A@X.org"], 1, &[]),
        ("the case of a userId is not", &[anna], &["user=A"], NEW, &["user=A"]),
        ("both agree", &[anna, bert], &["user=b", "mail=b@x.org"], 2, &[]),
        ("a new address is added", &[anna], &["user=a", "mail=n@x.org"], 1, &["mail=n@x.org"]),
        (
            "by the address that is known",
            &[anna],
            &["mail=n@x.org", "mail=a@x.org"],
            1,
            &["mail=n@x.org"],
        ),
        (
            "a userId joins an address without one",
            &[mail_only],
            &["user=m", "mail=m@x.org"],
            1,
            &["user=m"],
        ),
        (
            "a known userId wins over the address of another",
            &[anna, bert],
            &["user=a", "mail=b@x.org"],
            1,
            &[],
        ),
        ("even over one without userId", &[anna, mail_only], &["user=a", "mail=m@x.org"], 1, &[]),
        ("another userId does not join", &[anna], &["user=z", "mail=a@x.org"], NEW, &["user=z"]),
        (
            "of two addresses the free one is joined",
            &[anna, mail_only],
            &["user=z", "mail=a@x.org", "mail=m@x.org"],
            2,
            &["user=z"],
        ),
        (
            "of two addresses the first decides",
            &[anna, bert],
            &["mail=b@x.org", "mail=a@x.org"],
            2,
            &[],
        ),
        ("other traits say nothing", &[anna], &["traits.name=a", "user=a"], 1, &[]),
    ];
    for (rule, profiles, sent, expected, added) in cases {
        let found = link(&claim(sent).unwrap(), &holders(profiles));
        let added = added.iter().map(|it| known(it)).collect();
        let is_new = *expected == NEW;
        assert_eq!(found, Link { respondent: respondent(*expected), is_new, added }, "{rule}");
    }
}

#[test]
fn without_a_user_id_or_an_address_nothing_is_claimed() {
    for sent in [&[][..], &["traits.name=a"], &["traits.Email=a@x.org", "traits.plan=pro"]] {
        assert_eq!(claim(sent), None, "{sent:?}");
    }
}

#[test]
fn claims_of_one_write_see_each_other() {
    let mut holders = HashMap::new();
    let sent: [&[&str]; 4] =
        [&["mail=a@x.org"], &["user=a", "mail=a@x.org"], &["user=z", "mail=a@x.org"], &["user=a"]];
    let mut found = Vec::new();
    for (number, sent) in (1..).zip(sent) {
        let mut claim = claim(sent).unwrap();
        claim.new_id = respondent(number);
        let link = link(&claim, &holders);
        remember(&mut holders, &link);
        found.push(link.respondent);
    }
    assert_eq!(found, [1, 1, 3, 1].map(respondent));
}

#[test]
fn a_full_profile_gets_no_further_address_but_is_still_found() {
    let addresses: Vec<String> = (0..40).map(|number| format!("mail={number}@x.org")).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let full = &addresses[..IDENTITIES_PER_RESPONDENT_MAX - 1];
    let nearly = &full[1..];
    let new = ["mail=0@x.org", "mail=39@x.org"];
    let cases: &[Case] = &[
        ("a new profile is filled", &[], &addresses, NEW, full),
        ("the last place is taken", &[nearly], &["mail=1@x.org", new[0], new[1]], 1, &new[..1]),
        ("a full one stays as it is", &[full], &["mail=0@x.org", new[1]], 1, &[]),
        ("a userId still joins it", &[full], &["user=a", "mail=0@x.org", new[1]], 1, &["user=a"]),
        ("an address that was not added is nobody's", &[full], &new[1..], NEW, &new[1..]),
    ];
    for (rule, profiles, sent, expected, added) in cases {
        let found = link(&claim(sent).unwrap(), &holders(profiles));
        let added: Vec<ProfileIdentity> = added.iter().map(|it| known(it)).collect();
        assert_eq!((found.respondent, found.added), (respondent(*expected), added), "{rule}");
    }
}

#[test]
fn claims_of_one_write_respect_the_profile_limit() {
    let mut holders = HashMap::new();
    for number in 0..40 {
        let address = format!("mail={number}@x.org");
        let link = link(&claim(&["user=a", &address]).unwrap(), &holders);
        assert_eq!(link.respondent, respondent(NEW));
        remember(&mut holders, &link);
    }
    assert_eq!(holders.len(), IDENTITIES_PER_RESPONDENT_MAX);
}

//! Histories with one change each: the checker must name the rule that it breaks.

use std::collections::BTreeMap;

use sluice_flow::id::{FlowVersionId, ResponseId, v7};
use sluice_flow::time::Timestamp;

use super::checker::{Rule, check, report};
use super::history::{
    Action, Audit, AuditedFlow, Counter, Did, Entry, History, Moment, Outcome, Seen, Sent,
};
use super::model::{Change, FlowConfig, Version};

/// The time of the first entry; each call takes `STEP` of these.
const START: i64 = 1_800_000_000_000;
const STEP: i64 = 10;
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// A sound history of two flows, whose entries have names.
#[derive(Clone)]
struct Sample {
    history: History,
    names: BTreeMap<&'static str, usize>,
    now: i64,
    next: u64,
}

fn version(number: u32) -> FlowVersionId {
    FlowVersionId::from_uuid(v7(Timestamp::from_millis(START), number, 7))
}

/// An id of a response that was received at this time.
fn id_at(millis: i64, number: u64) -> ResponseId {
    ResponseId::from_uuid(v7(Timestamp::from_millis(millis), 0, number))
}

impl Sample {
    fn add(&mut self, name: &'static str, action: Action, outcome: Outcome) -> &mut Entry {
        let invoked = Moment { number: self.next, millis: self.now };
        let returned = Moment { number: self.next + 5, millis: self.now + STEP - 1 };
        (self.next, self.now) = (self.next + 10, self.now + STEP);
        self.names.insert(name, self.history.entries.len());
        let entry = Entry { client: 0, engine: 0, invoked, returned, action, outcome };
        self.history.entries.push(entry);
        self.history.entries.last_mut().unwrap()
    }

    fn sent(flow: usize, of: FlowVersionId, content: &str, person: Option<u8>) -> Sent {
        let key = Some(format!("k-{}", content.trim_end_matches('x')));
        let content = content.to_owned();
        Sent { app: 0, flow, version: of, key, content, person, invalid: false }
    }

    /// The id that a response would get in the next call.
    fn next_id(&self) -> ResponseId {
        id_at(self.now + 5, self.next)
    }

    fn stored(&mut self, name: &'static str, flow: usize, of: FlowVersionId, person: Option<u8>) {
        let outcome = Outcome::Accepted { id: self.next_id(), replayed: false };
        self.add(name, Action::Submit(Self::sent(flow, of, name, person)), outcome);
    }

    fn refused(&mut self, name: &'static str, flow: usize, of: FlowVersionId, code: &str) {
        let action = Action::Submit(Self::sent(flow, of, name, None));
        self.add(name, action, Outcome::Refused(code.to_owned()));
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        let at = self.names[name];
        &mut self.history.entries[at]
    }

    fn id(&self, name: &str) -> ResponseId {
        match self.history.entries[self.names[name]].outcome {
            Outcome::Accepted { id, .. } => id,
            _ => panic!("{name} was not accepted"),
        }
    }

    /// A response as a read shows it.
    fn seen(&self, name: &str) -> Seen {
        let Action::Submit(sent) = &self.history.entries[self.names[name]].action else { panic!() };
        let (flow, version, content) = (sent.flow, sent.version, sent.content.clone());
        let linked = sent.person.is_some();
        Seen { id: self.id(name), flow, version, content, linked, intact: true }
    }

    fn audit(&mut self) -> &mut Audit {
        match &mut self.entry("audit").outcome {
            Outcome::Audited(audit) => audit,
            _ => panic!(),
        }
    }

    /// Adds a response to the audit, with all counts.
    fn show(&mut self, seen: Seen) {
        let flow = &mut self.audit().flows[seen.flow];
        flow.rows.push(seen);
        Self::recount(flow);
    }

    fn recount(flow: &mut AuditedFlow) {
        let stored = flow.rows.len() as u64;
        (flow.counted, flow.recounted, flow.counted_again) = (stored, stored, stored);
    }
}

fn published(number: u32, millis: i64) -> Version {
    Version { id: version(number), published: millis, ends: None, retired: None }
}

/// Flow 0 gets two versions, and loses the second; flow 1 closes after one response.
fn sample() -> Sample {
    let grace = Some(0);
    let first = |number| FlowConfig {
        grace,
        versions: vec![published(number, START - STEP)],
        ..FlowConfig::default()
    };
    let flows = vec![first(1), first(10)];
    let history = History { apps: 1, flows: flows.clone(), ..History::default() };
    let mut sample = Sample { history, names: BTreeMap::new(), now: START, next: 10 };
    let mut config = flows[0].clone();
    sample.stored("old", 0, version(1), None);
    sample.now += 2 * DAY;
    sample.stored("first", 0, version(1), None);
    sample.stored("erased", 0, version(1), Some(1));
    sample.stored("kept", 0, version(1), Some(2));
    sample.stored("linked", 0, version(1), Some(3));
    sample.refused("draft", 0, version(2), "not_open_yet");
    let first = sample.id("first");
    let again = Action::Submit(Sample::sent(0, version(1), "first", None));
    sample.add("retry", again, Outcome::Accepted { id: first, replayed: true });
    let other = Action::Submit(Sample::sent(0, version(1), "firstx", None));
    sample.add("other", other, Outcome::Refused("idempotency_key_reused".into()));
    config.versions[0].ends = Some(sample.now + 5);
    config.versions.push(published(2, sample.now + 5));
    change(&mut sample, "publish", 0, Change::Publish, &config);
    sample.refused("late", 0, version(1), "no_longer_accepting");
    sample.stored("second", 0, version(2), None);
    sample.stored("deleted", 0, version(2), None);
    removals(&mut sample);
    let unknown = Action::Submit(Sample::sent(0, version(2), "unknown", None));
    sample.add("unknown", unknown, Outcome::Unknown);
    config.versions[1].retired = Some(sample.now + 5);
    change(&mut sample, "retire", 0, Change::Retire(version(2)), &config);
    sample.refused("retired", 0, version(2), "flow_version_not_found");
    let limited = FlowConfig { limit: Some(1), ..flows[1].clone() };
    change(&mut sample, "limit", 1, Change::Limit(Some(1)), &limited);
    sample.stored("only", 1, version(10), None);
    sample.refused("full", 1, version(10), "no_longer_accepting");
    ending(&mut sample, [config, limited]);
    // The node reads the change feed twice between any two calls.
    let ends: Vec<u64> = sample.history.entries.iter().map(|it| it.returned.number).collect();
    sample.history.feed_reads = ends.iter().flat_map(|end| [(0, end + 2), (0, end + 3)]).collect();
    sample
}

fn removals(sample: &mut Sample) {
    let (id, old) = (sample.id("deleted"), sample.id("old"));
    sample.add("delete", Action::Delete { id }, Outcome::Deleted(Did::Done));
    sample.add("read deleted", Action::Read { id }, Outcome::Absent);
    let erase = |person, delete| Action::Erase { app: 0, person, delete };
    sample.add("erase", erase(1, true), Outcome::Erased { done: true });
    sample.add("unlink", erase(2, false), Outcome::Erased { done: true });
    let (id, days) = (sample.id("erased"), Some(1));
    sample.add("read erased", Action::Read { id }, Outcome::Absent);
    let retained = Outcome::Retained { did: Did::Done, after: days };
    sample.add("retain", Action::Retain { app: 0, days }, retained);
    sample.add("expire", Action::Expire, Outcome::Expired { complete: true });
    sample.add("read old", Action::Read { id: old }, Outcome::Absent);
    sample.add("count", Action::Count { flow: 0 }, Outcome::Counted(4));
}

fn change(
    sample: &mut Sample,
    name: &'static str,
    flow: usize,
    change: Change,
    after: &FlowConfig,
) {
    let (from, to) = (sample.next + 2, sample.next + 3);
    let counter = after.limit.map(|_| Counter { from, to, value: 0 });
    let outcome = Outcome::Changed { did: Did::Done, after: after.clone(), counter };
    sample.add(name, Action::Change { flow, change }, outcome);
}

fn ending(sample: &mut Sample, configs: [FlowConfig; 2]) {
    sample.add("move", Action::Move, Outcome::Moved { differences: 0 });
    let kept = Seen { linked: false, ..sample.seen("kept") };
    let unknown = Seen {
        id: id_at(sample.history.entries[sample.names["unknown"]].invoked.millis + 5, 1),
        content: "unknown".into(),
        ..sample.seen("second")
    };
    let rows =
        vec![sample.seen("first"), kept, sample.seen("linked"), sample.seen("second"), unknown];
    let rows = [rows, vec![sample.seen("only")]];
    let mut audit = Audit::default();
    for (config, rows) in configs.into_iter().zip(rows) {
        let counter = config.limit.map(u64::from);
        let mut flow =
            AuditedFlow { config, rows, counted: 0, recounted: 0, counted_again: 0, counter };
        Sample::recount(&mut flow);
        audit.flows.push(flow);
    }
    sample.add("finish", Action::FinishErasures, Outcome::Finished);
    sample.add("audit", Action::Audit, Outcome::Audited(audit));
}

#[test]
fn a_sound_history_has_no_fault_and_can_be_written_to_a_file() {
    let sample = sample();
    let faults = check(&sample.history);
    assert!(faults.is_empty(), "{}", report(&sample.history, &faults));
    let mut file = Vec::new();
    sample.history.write(&mut file).unwrap();
    assert_eq!(History::read(&file[..]).unwrap(), sample.history);
}

type Mutation = (&'static str, Rule, fn(&mut Sample));

fn accept(sample: &mut Sample, name: &str) {
    let entry = sample.entry(name);
    let id = id_at(entry.invoked.millis + 5, 99);
    entry.outcome = Outcome::Accepted { id, replayed: false };
}

const RESPONSES: &[Mutation] = &[
    ("a lost acknowledgement", Rule::Lost, |sample| {
        let flow = &mut sample.audit().flows[0];
        flow.rows.remove(0);
        Sample::recount(flow);
    }),
    ("a response that a read does not find", Rule::Lost, |sample| {
        let id = sample.id("second");
        sample.add("lost", Action::Read { id }, Outcome::Absent);
    }),
    ("a response that is not there to be deleted", Rule::Lost, |sample| {
        sample.entry("delete").outcome = Outcome::Deleted(Did::Refused);
    }),
    ("a retry that stores again", Rule::Doubled, |sample| accept(sample, "retry")),
    ("one submission stored twice", Rule::Doubled, |sample| {
        let again = Seen { id: id_at(sample.now, 98), ..sample.seen("second") };
        sample.show(again);
    }),
    ("a refused submission that is stored", Rule::StoredAlthoughRefused, |sample| {
        let seen = Seen { content: "late".into(), id: id_at(START, 97), ..sample.seen("first") };
        sample.show(seen);
    }),
    ("a response that nobody sent", Rule::StoredAlthoughRefused, |sample| {
        let seen = Seen { content: "ghost".into(), id: id_at(START, 96), ..sample.seen("first") };
        sample.show(seen);
    }),
    ("another answer than was sent", Rule::Altered, |sample| {
        sample.audit().flows[0].rows[0].intact = false;
    }),
    ("another version than it was sent to", Rule::Altered, |sample| {
        sample.audit().flows[0].rows[0].version = version(2);
    }),
    ("a response without its person", Rule::Altered, |sample| {
        sample.audit().flows[0].rows[2].linked = false;
    }),
    ("resurrected after its deletion", Rule::Resurrected, |sample| {
        let seen = sample.seen("deleted");
        sample.entry("read deleted").outcome = Outcome::Present(seen);
    }),
    ("resurrected after an erasure", Rule::Resurrected, |sample| {
        let seen = sample.seen("erased");
        sample.show(seen);
    }),
    ("resurrected after it expired", Rule::Resurrected, |sample| {
        let seen = sample.seen("old");
        sample.entry("read old").outcome = Outcome::Present(seen);
    }),
    ("linked after an erasure", Rule::StillLinked, |sample| {
        sample.audit().flows[0].rows[1].linked = true;
    }),
    ("linked without consent", Rule::StillLinked, |sample| {
        sample.audit().flows[0].rows[0].linked = true;
    }),
    ("a person who is not found", Rule::RespondentNotFound, |sample| {
        sample.entry("erase").outcome = Outcome::NoRespondent;
    }),
    ("deleted twice", Rule::DeletedTwice, |sample| {
        let id = sample.id("deleted");
        sample.add("again", Action::Delete { id }, Outcome::Deleted(Did::Done));
    }),
];

const VERDICTS: &[Mutation] = &[
    ("accepted after its version was retired", Rule::IllegallyAccepted, |sample| {
        accept(sample, "retired");
    }),
    ("accepted after the grace window", Rule::IllegallyAccepted, |sample| accept(sample, "late")),
    ("accepted before the publish", Rule::IllegallyAccepted, |sample| accept(sample, "draft")),
    ("accepted beyond the limit", Rule::IllegallyAccepted, |sample| accept(sample, "full")),
    ("accepted with an invalid answer", Rule::IllegallyAccepted, |sample| {
        let Action::Submit(sent) = &mut sample.entry("second").action else { panic!() };
        sent.invalid = true;
    }),
    ("received at a time outside of its call", Rule::IllegallyAccepted, |sample| {
        sample.entry("second").outcome = Outcome::Accepted { id: id_at(START, 9), replayed: false };
    }),
    ("refused while it was open", Rule::IllegallyRefused, |sample| {
        sample.entry("second").outcome = Outcome::Refused("not_open_yet".into());
    }),
    ("refused with the wrong reason", Rule::IllegallyRefused, |sample| {
        sample.entry("retired").outcome = Outcome::Refused("no_longer_accepting".into());
    }),
    ("refused as full with room left", Rule::IllegallyRefused, |sample| {
        sample.entry("only").outcome = Outcome::Refused("no_longer_accepting".into());
        let flow = &mut sample.audit().flows[1];
        flow.rows.clear();
        Sample::recount(flow);
        flow.counter = Some(0);
    }),
    ("a retry that is refused", Rule::IllegallyRefused, |sample| {
        sample.entry("retry").outcome = Outcome::Refused("no_longer_accepting".into());
    }),
    ("a key refused as used that was not", Rule::IllegallyRefused, |sample| {
        sample.entry("late").outcome = Outcome::Refused("idempotency_key_reused".into());
    }),
    ("other content accepted as a retry", Rule::WronglyReplayed, |sample| {
        let id = sample.id("first");
        sample.entry("other").outcome = Outcome::Accepted { id, replayed: true };
    }),
    ("a replay of nothing", Rule::WronglyReplayed, |sample| {
        let id = id_at(START, 95);
        sample.entry("late").outcome = Outcome::Accepted { id, replayed: true };
    }),
];

const NUMBERS_AND_SETTINGS: &[Mutation] = &[
    ("a wrong count", Rule::WrongCount, |sample| sample.audit().flows[0].counted += 1),
    ("a count that a recount changes", Rule::WrongCount, |sample| {
        sample.audit().flows[0].counted_again -= 1;
    }),
    ("a recount of another number", Rule::WrongCount, |sample| {
        sample.audit().flows[1].recounted = 0;
    }),
    ("a count of too many while others write", Rule::WrongCount, |sample| {
        sample.entry("count").outcome = Outcome::Counted(5);
    }),
    ("a count of too few while others write", Rule::WrongCount, |sample| {
        sample.entry("count").outcome = Outcome::Counted(2);
    }),
    ("too many while responses are still being counted", Rule::WrongCount, |sample| {
        sample.entry("count").outcome = Outcome::CountedSoFar(5);
    }),
    ("a counter that is too low", Rule::WrongCounter, |sample| {
        sample.audit().flows[1].counter = Some(0);
    }),
    ("a limit without a counter", Rule::WrongCounter, |sample| {
        sample.audit().flows[1].counter = None
    }),
    ("a publish that was lost", Rule::WrongSettings, |sample| {
        let before = sample.history.flows[0].clone();
        let Outcome::Changed { after, .. } = &mut sample.entry("publish").outcome else { panic!() };
        *after = before;
    }),
    ("a refused change that took place", Rule::WrongSettings, |sample| {
        let Outcome::Changed { did, .. } = &mut sample.entry("retire").outcome else { panic!() };
        *did = Did::Refused;
    }),
    ("a change with another time than its call", Rule::WrongSettings, |sample| {
        let Outcome::Changed { after, .. } = &mut sample.entry("retire").outcome else { panic!() };
        after.versions[1].retired = Some(START);
    }),
    ("settings that changed by themselves", Rule::WrongSettings, |sample| {
        sample.audit().flows[0].config.ends = Some(START);
    }),
    ("damage", Rule::Damaged, |sample| sample.audit().damaged.push("responses: damaged".into())),
    ("a move that changes something", Rule::MoveDiffers, |sample| {
        sample.entry("move").outcome = Outcome::Moved { differences: 1 };
    }),
];

#[test]
fn every_kind_of_fault_is_seen_and_named() {
    for (name, rule, mutate) in [RESPONSES, VERDICTS, NUMBERS_AND_SETTINGS].concat() {
        let mut sample = sample();
        mutate(&mut sample);
        let faults = check(&sample.history);
        let rules: Vec<Rule> = faults.iter().map(|fault| fault.rule).collect();
        assert!(rules.contains(&rule), "{name}: {rules:?} instead of {rule:?}");
        let fault = faults.iter().find(|fault| fault.rule == rule).unwrap();
        assert!(!fault.about.is_empty(), "{name}: nothing shows it");
    }
}

/// Another node may refuse by what it has cached until it has read the change; it may not accept.
#[test]
fn only_a_node_that_has_not_read_a_change_may_refuse_by_the_old_settings() {
    let check_at = |reads: &[u64], is_accepted: bool| {
        let mut sample = sample();
        let at = sample.names["second"];
        // Before the publish, the second version was a draft.
        sample.history.entries[at].engine = 1;
        if !is_accepted {
            sample.history.entries[at].outcome = Outcome::Refused("not_open_yet".into());
        }
        let published = sample.entry("publish").returned.number;
        sample.history.feed_reads = reads.iter().map(|after| (1, published + after)).collect();
        let mut rules: Vec<Rule> = check(&sample.history).iter().map(|fault| fault.rule).collect();
        rules.retain(|rule| *rule == Rule::IllegallyRefused);
        rules
    };
    assert_eq!(check_at(&[], false), []);
    // One read may still be in progress when the next has not begun.
    assert_eq!(check_at(&[1], false), []);
    assert_eq!(check_at(&[1, 2], false), [Rule::IllegallyRefused]);
    assert_eq!(check_at(&[1, 2], true), []);
}

/// A submission whose outcome is unknown may be counted and then erased before anybody sees it.
#[test]
fn a_response_that_nobody_saw_may_be_counted_until_it_is_erased() {
    let check_with = |erased: u8| {
        let mut sample = sample();
        let stored = sample.audit().flows[1].rows.len() as u64;
        let unknown = Action::Submit(Sample::sent(1, version(10), "unseen", Some(7)));
        sample.add("unseen", unknown, Outcome::Unknown);
        sample.add("count both", Action::Count { flow: 1 }, Outcome::Counted(stored + 1));
        let erase = Action::Erase { app: 0, person: erased, delete: true };
        sample.add("erase unseen", erase, Outcome::Erased { done: true });
        check(&sample.history).iter().map(|fault| fault.rule).collect::<Vec<_>>()
    };
    assert!(!check_with(7).contains(&Rule::WrongCount));
    assert!(check_with(8).contains(&Rule::WrongCount));
}

/// A retry may end before the call that stored the response; then the history has it first.
#[test]
fn a_response_may_be_of_the_first_attempt_although_a_retry_ended_before_it() {
    let check_with = |first_is_late: bool| {
        let mut sample = sample();
        let first = sample.entry("unknown");
        let id = id_at(first.invoked.millis + 5, 1);
        let late = Moment { number: first.invoked.number + 1, millis: first.invoked.millis + 6 };
        let retry = Entry { invoked: late, ..first.clone() };
        if first_is_late {
            first.invoked = late;
        }
        sample.history.entries.insert(0, retry);
        let content = "unknown".to_owned();
        let seen = Seen { id, content, flow: 0, version: version(2), linked: false, intact: true };
        sample.add("read", Action::Read { id }, Outcome::Present(seen));
        check(&sample.history).iter().any(|fault| fault.rule == Rule::IllegallyAccepted)
    };
    assert!(!check_with(false));
    assert!(check_with(true));
}

//! What clients do: generated from a seed, without any knowledge of what happens.
//!
//! The same seed always gives the same operations for each client. Versions and responses are
//! chosen by a number, which a client resolves when it gets there: which version that is depends on
//! what the others did. So a seed reproduces the operations, and not their interleaving.

use serde::{Deserialize, Serialize};

/// Numbers from a seed: splitmix64.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03));
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn is_one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) clients: usize,
    pub(super) apps: usize,
    pub(super) flows: usize,
    pub(super) persons: u8,
    /// Of all clients together.
    pub(super) operations: usize,
    /// Of all clients together, between two quiet points.
    pub(super) segment: usize,
}

impl Shape {
    pub(super) fn new(operations: usize) -> Self {
        let segment = (operations / 6).clamp(50, 2_000);
        Self { clients: 8, apps: 2, flows: 6, persons: 12, operations, segment }
    }

    /// The flows whose settings a client changes: no other client does.
    pub(super) fn owned_by(&self, client: usize) -> Vec<usize> {
        (0..self.flows).filter(|flow| flow % self.clients == client).collect()
    }

    pub(super) fn app_of(&self, flow: usize) -> usize {
        flow % self.apps
    }
}

/// Which version of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Pick {
    Newest,
    /// This many before the newest.
    Before(u8),
    Draft,
    Any(u16),
}

/// A change to the settings of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Setting {
    Publish,
    Republish(Pick),
    Retire(Pick),
    Close,
    Reopen,
    /// In milliseconds from now.
    Window {
        starts: Option<i64>,
        ends: Option<i64>,
    },
    Grace(Option<u32>),
    Archive,
    Restore,
    /// How many more responses than there are; `None` removes the limit.
    Limit(Option<u32>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Operation {
    Submit {
        flow: usize,
        pick: Pick,
        keyed: bool,
        person: Option<u8>,
        invalid: bool,
    },
    /// The client goes away at once.
    Abandon {
        flow: usize,
    },
    /// One of a client's submissions again, with the same key.
    Retry {
        whose: usize,
        which: u32,
        other_content: bool,
    },
    Set {
        flow: usize,
        setting: Setting,
    },
    Recount {
        flow: usize,
    },
    Retain {
        app: usize,
        days: Option<u32>,
    },
    Expire,
    Erase {
        app: usize,
        person: u8,
        delete: bool,
    },
    Delete {
        whose: usize,
        which: u32,
    },
    Read {
        whose: usize,
        which: u32,
    },
    Count {
        flow: usize,
    },
    Compact,
    /// Time passes.
    Tick {
        millis: i64,
    },
    /// The node of this client stops without warning and starts again.
    Crash,
}

impl Operation {
    /// Its kind, for figures.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Submit { .. } => "submit",
            Self::Abandon { .. } => "abandon",
            Self::Retry { other_content: false, .. } => "retry",
            Self::Retry { .. } => "retry with other content",
            Self::Set { setting, .. } => match setting {
                Setting::Publish => "publish",
                Setting::Republish(_) => "republish",
                Setting::Retire(_) => "retire",
                Setting::Close => "close",
                Setting::Reopen => "reopen",
                Setting::Window { .. } => "set window",
                Setting::Grace(_) => "set grace",
                Setting::Archive => "archive",
                Setting::Restore => "restore",
                Setting::Limit(_) => "set limit",
            },
            Self::Recount { .. } => "recount",
            Self::Retain { .. } => "set retention",
            Self::Expire => "expire",
            Self::Erase { .. } => "erase",
            Self::Delete { .. } => "delete",
            Self::Read { .. } => "read",
            Self::Count { .. } => "count",
            Self::Compact => "compact",
            Self::Tick { .. } => "tick",
            Self::Crash => "crash",
        }
    }
}

/// What happens at a quiet point, after everything was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Between {
    Restart,
    /// To the other kind of store, if there is one.
    Move,
    BackUpAndRestore,
}

/// Everything that one run does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) shape: Shape,
    /// By segment and client.
    pub(super) segments: Vec<Vec<Vec<Step>>>,
    /// After each segment: what happens, and how many hours pass.
    pub(super) between: Vec<(Between, i64)>,
}

/// An operation, and the node that gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operation: Operation,
    pub(super) node: u64,
}

impl Plan {
    pub(super) fn generate(seed: u64, shape: Shape) -> Self {
        let segments = shape.operations.div_ceil(shape.segment);
        let each = (shape.operations / segments / shape.clients).max(1);
        let mut randoms: Vec<Random> =
            (0..shape.clients).map(|client| Random::new(seed, client as u64 + 1)).collect();
        let mut of_segment = |_| {
            let of_client = |(client, random): (usize, &mut Random)| {
                let owned = shape.owned_by(client);
                (0..each).map(|_| step(random, &shape, client, &owned)).collect()
            };
            randoms.iter_mut().enumerate().map(of_client).collect()
        };
        let steps = (0..segments).map(&mut of_segment).collect();
        let mut random = Random::new(seed, 0);
        let between = (0..segments).map(|_| between(&mut random)).collect();
        Self { seed, shape, segments: steps, between }
    }

    pub(super) fn operations(&self) -> usize {
        self.segments.iter().flatten().map(Vec::len).sum()
    }
}

fn between(random: &mut Random) -> (Between, i64) {
    let next = match random.below(10) {
        0..4 => Between::Restart,
        4..8 => Between::Move,
        _ => Between::BackUpAndRestore,
    };
    (next, random.pick(&[0, 1, 5, 23, 30, 80, 800]))
}

fn step(random: &mut Random, shape: &Shape, client: usize, owned: &[usize]) -> Step {
    let operation = operation(random, shape, client, owned);
    Step { operation, node: random.next() }
}

fn operation(random: &mut Random, shape: &Shape, client: usize, owned: &[usize]) -> Operation {
    let flow = random.below(shape.flows as u64) as usize;
    let whose = random.below(shape.clients as u64) as usize;
    let which = random.next() as u32;
    match random.below(1_000) {
        0..110 => Operation::Retry { whose, which, other_content: false },
        110..140 => Operation::Retry { whose, which, other_content: true },
        140..150 => Operation::Abandon { flow },
        150..250 => Operation::Read { whose, which },
        250..280 => Operation::Delete { whose, which },
        280..300 => erase(random, shape),
        300..306 => Operation::Expire,
        306..314 => Operation::Count { flow },
        314..318 => Operation::Compact,
        318..370 => Operation::Tick { millis: random.pick(&[1, 10, 100, 500, 2_000]) },
        370..372 => Operation::Crash,
        372..378 if client < shape.apps => Operation::Retain {
            app: client,
            days: random.pick(&[None, Some(1), Some(3), Some(30)]),
        },
        378..500 if !owned.is_empty() => set(random, owned),
        500..504 if !owned.is_empty() => Operation::Recount { flow: random.pick(owned) },
        _ => submit(random, shape, flow),
    }
}

fn submit(random: &mut Random, shape: &Shape, flow: usize) -> Operation {
    let pick = match random.below(100) {
        0..80 => Pick::Newest,
        80..92 => Pick::Before(1 + random.below(3) as u8),
        92..95 => Pick::Draft,
        _ => Pick::Any(random.next() as u16),
    };
    let keyed = !random.is_one_in(5);
    let person = random.is_one_in(3).then(|| random.below(u64::from(shape.persons)) as u8);
    Operation::Submit { flow, pick, keyed, person, invalid: random.is_one_in(25) }
}

fn erase(random: &mut Random, shape: &Shape) -> Operation {
    let app = random.below(shape.apps as u64) as usize;
    let person = random.below(u64::from(shape.persons)) as u8;
    Operation::Erase { app, person, delete: !random.is_one_in(3) }
}

fn set(random: &mut Random, owned: &[usize]) -> Operation {
    let flow = random.pick(owned);
    let older = match random.below(4) {
        0 => Pick::Newest,
        1 => Pick::Any(random.next() as u16),
        _ => Pick::Before(1 + random.below(3) as u8),
    };
    let setting = match random.below(100) {
        0..16 => Setting::Publish,
        16..21 => Setting::Republish(older),
        21..29 => Setting::Retire(older),
        29..34 => Setting::Close,
        34..48 => Setting::Reopen,
        48..56 => Setting::Window {
            starts: random.pick(&[None, Some(-60_000), Some(100), Some(2_000)]),
            ends: random.pick(&[None, None, Some(3_000), Some(20_000)]),
        },
        56..64 => Setting::Window { starts: None, ends: None },
        64..72 => Setting::Grace(random.pick(&[None, Some(0), Some(1), Some(20), Some(7_200)])),
        72..75 => Setting::Archive,
        75..84 => Setting::Restore,
        84..92 => Setting::Limit(Some(random.pick(&[0, 1, 5, 30]))),
        _ => Setting::Limit(None),
    };
    Operation::Set { flow, setting }
}

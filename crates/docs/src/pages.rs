//! The table of pages. A page is one Markdown file and one line here; a test compares the table
//! with the folder `docs`.

/// One page of the site.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its address is `/docs/{slug}`; the overview has an empty one.
    pub(crate) slug: &'static str,
    /// The path from the folder `docs`, by which other pages link to it.
    pub(crate) path: &'static str,
    pub(crate) markdown: &'static str,
}

impl Source {
    /// The text of the first heading.
    pub(crate) fn title(&self) -> &'static str {
        self.markdown.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(self.slug)
    }

    pub(crate) fn address(&self) -> String {
        if self.slug.is_empty() { "/docs".to_owned() } else { format!("/docs/{}", self.slug) }
    }
}

/// A part of the navigation.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) pages: &'static [Source],
}

macro_rules! page {
    ($slug:literal) => {
        Source {
            slug: $slug,
            path: concat!($slug, ".md"),
            markdown: include_str!(concat!("../../../docs/", $slug, ".md")),
        }
    };
    ($slug:literal, $path:literal) => {
        Source {
            slug: $slug,
            path: $path,
            markdown: include_str!(concat!("../../../docs/", $path)),
        }
    };
}

/// In the order of the navigation.
pub(crate) const GROUPS: &[Group] = &[
    Group { title: "Start", pages: &[page!("", "README.md"), page!("start"), page!("concepts")] },
    Group {
        title: "Write flows",
        pages: &[
            page!("flows"),
            page!("question-types"),
            page!("flows-as-code"),
            page!("console"),
            page!("import", "import/README.md"),
            page!("import-typeform", "import/typeform.md"),
            page!("import-formbricks", "import/formbricks.md"),
            page!("import-surveyjs", "import/surveyjs.md"),
            page!("import-google-forms", "import/google-forms.md"),
            page!("import-xlsform", "import/xlsform.md"),
            page!("import-responses", "import/responses.md"),
        ],
    },
    Group {
        title: "Collect answers",
        pages: &[
            page!("api"),
            page!("trpc"),
            page!("typescript", "../sdk/typescript/README.md"),
            page!("python", "../sdk/python/README.md"),
            page!("hosted"),
            page!("embed"),
            page!("invitations"),
            page!("identity"),
            page!("respondents"),
        ],
    },
    Group {
        title: "Read results",
        pages: &[
            page!("summary"),
            page!("funnel"),
            page!("reports"),
            page!("exports"),
            page!("events"),
            page!("assistants"),
        ],
    },
    Group {
        title: "Operate",
        pages: &[
            page!("installing"),
            page!("running"),
            page!("operating"),
            page!("proxies"),
            page!("email"),
            page!("backup"),
            page!("moving"),
            page!("scaling"),
            page!("reliability"),
            page!("performance"),
            page!("releasing"),
        ],
    },
];

/// A picture, by the path that pages link to.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) path: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! picture {
    ($path:literal) => {
        Picture { path: $path, bytes: include_bytes!(concat!("../../../docs/", $path)) }
    };
}

/// Every picture that a page shows.
pub(crate) const PICTURES: &[Picture] = &[
    picture!("images/version-life.svg"),
    picture!("images/dashboard.png"),
    picture!("images/type-shortText.png"),
    picture!("images/type-longText.png"),
    picture!("images/type-email.png"),
    picture!("images/type-url.png"),
    picture!("images/type-phone.png"),
    picture!("images/type-number.png"),
    picture!("images/type-date.png"),
    picture!("images/type-singleChoice.png"),
    picture!("images/type-dropdown.png"),
    picture!("images/type-multipleChoice.png"),
    picture!("images/type-ranking.png"),
    picture!("images/type-matrix.png"),
    picture!("images/type-rating.png"),
    picture!("images/type-nps.png"),
    picture!("images/type-yesNo.png"),
    picture!("images/type-consent.png"),
    picture!("images/type-statement.png"),
];

pub(crate) fn all() -> impl Iterator<Item = &'static Source> {
    GROUPS.iter().flat_map(|group| group.pages)
}

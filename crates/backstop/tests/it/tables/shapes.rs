//! What the tools of the tables take.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A day of the calendar, written as in `2025-06-29`.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl Date {
    /// By Sakamoto's rule.
    pub(super) fn weekday(self) -> &'static str {
        const DAYS: [&str; 7] =
            ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
        const MONTHS: [i64; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
        let year = if self.month < 3 { self.year - 1 } else { self.year };
        let month = MONTHS[self.month as usize - 1];
        DAYS[((year + year / 4 - year / 100 + year / 400 + month + self.day) % 7) as usize]
    }
}

impl TryFrom<String> for Date {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parts: Vec<i64> = text.split('-').filter_map(|part| part.parse().ok()).collect();
        match parts[..] {
            [year, month @ 1..=12, day @ 1..=31] => Ok(Self { year, month, day }),
            _ => Err("not a date"),
        }
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
    }
}

impl JsonSchema for Date {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Date".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date"})
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct OnDate {
    pub(super) date: Date,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Lists {
    urls: Vec<String>,
    ids: Vec<i64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Nested {
    matrix: Vec<Vec<f64>>,
    by_name: BTreeMap<String, Vec<i64>>,
    structs: Vec<Vec<Inner>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Inner {
    some: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Closed {}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    origin: String,
    max_price: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct OfPerson {
    person: Person,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Person {
    height: f64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Sizes {
    height: f64,
    weight: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Maybe {
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Inner>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Nullable {
    place: Option<Inner>,
}

/// A place that must be said, be it as null.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["place"]))]
pub(super) struct NullableButSaid {
    place: Option<Inner>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct TextAndNumber {
    text: String,
    number: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct TextAndDefault {
    text: String,
    #[serde(default = "three")]
    number: i64,
}

fn three() -> i64 {
    3
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WithEnums {
    search_terms: Vec<String>,
    mode: Mode,
    priority: Priority,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    And,
    Or,
    Not,
}

/// An enum that is written as a number.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub(super) enum Priority {
    Low = 1,
    Medium = 5,
    High = 10,
}

impl TryFrom<i64> for Priority {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Self, Self::Error> {
        match number {
            1 => Ok(Self::Low),
            5 => Ok(Self::Medium),
            10 => Ok(Self::High),
            _ => Err("no priority"),
        }
    }
}

impl From<Priority> for i64 {
    fn from(priority: Priority) -> Self {
        priority as i64
    }
}

impl JsonSchema for Priority {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Priority".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "enum": [1, 5, 10]})
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Count {
    number: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Parcel {
    address: Address,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Address {
    street: String,
    city: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Drawing {
    shape: Shape,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Counts {
    counts: BTreeMap<String, i64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Ids {
    ids: Vec<i64>,
}

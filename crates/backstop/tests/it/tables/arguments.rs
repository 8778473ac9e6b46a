//! Symfony AI: from the arguments text of a call to the arguments of a tool.

use super::{
    kit::{Row, check},
    shapes::{
        Closed, Count, Counts, Drawing, Ids, Lists, Maybe, Nested, Nullable, NullableButSaid, OfPerson,
        OnDate, Parcel, Search, Sizes, TextAndDefault, TextAndNumber, WithEnums,
    },
    surface::{Case, Surface, Tool},
};

const HANDED_ON: &str = "without a type in between a number is handed on as it was written";

pub(super) fn rows() -> Vec<Row> {
    [read(), refused()].into_iter().flatten().collect()
}

/// Arguments that fit.
fn read() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "R1",
            "a date is a typed date",
            || Case::one(Tool::new::<OnDate>("tool_date"), r#"{"date":"2025-06-29"}"#),
            &["tool_date ok", r#"{"date":"2025-06-29"}"#, r#"ran tool_date {"date":"2025-06-29"}"#],
        ),
        Row::on_surfaces(
            "R2",
            "arrays of scalars stay what they are",
            || {
                let arguments = r#"{"urls":["https://a.example","https://b.example"],"ids":[1,2,3]}"#;
                Case::one(Tool::new::<Lists>("tool_array"), arguments)
            },
            &[
                "tool_array ok",
                r#"{"urls":["https://a.example","https://b.example"],"ids":[1,2,3]}"#,
                r#"ran tool_array {"urls":["https://a.example","https://b.example"],"ids":[1,2,3]}"#,
            ],
        ),
        Row::on_surfaces(
            "R3",
            "nested arrays, maps of lists and arrays of structs stay what they are",
            || {
                let arguments = r#"{"matrix":[[1.2,3.4],[4.5,5.6]],"by_name":{"first":[1,2],"second":[3]},"structs":[[{"some":"a"},{"some":"b"}]]}"#;
                Case::one(Tool::new::<Nested>("tool_multi"), arguments)
            },
            &[
                "tool_multi ok",
                r#"{"matrix":[[1.2,3.4],[4.5,5.6]],"by_name":{"first":[1,2],"second":[3]},"structs":[[{"some":"a"},{"some":"b"}]]}"#,
                r#"ran tool_multi {"matrix":[[1.2,3.4],[4.5,5.6]],"by_name":{"first":[1,2],"second":[3]},"structs":[[{"some":"a"},{"some":"b"}]]}"#,
            ],
        ),
        Row::on_surfaces(
            "R4",
            "arguments that an open schema does not name are left out",
            || Case::one(Tool::new::<()>("tool_no_params"), r#"{"foo":1,"bar":2,"baz":3}"#),
            &["tool_no_params ok", "{}", "ran tool_no_params {}"],
        )
        .except(
            Surface::Plain,
            "a toolset that takes raw arguments is given all that its open schema allows",
            &[
                "tool_no_params ok",
                r#"{"foo":1,"bar":2,"baz":3}"#,
                r#"ran tool_no_params {"foo":1,"bar":2,"baz":3}"#,
            ],
        ),
        Row::on_surfaces(
            "R5",
            "an integer in an object is a float where one is declared",
            || Case::one(Tool::new::<OfPerson>("tool_person"), r#"{"person":{"height":1}}"#),
            &["tool_person ok", r#"{"person":{"height":1}}"#, r#"ran tool_person {"person":{"height":1}}"#],
        )
        .except(
            Surface::Function,
            HANDED_ON,
            &[
                "tool_person ok",
                r#"{"person":{"height":1.0}}"#,
                r#"ran tool_person {"person":{"height":1.0}}"#,
            ],
        ),
        Row::on_surfaces(
            "R6",
            "an integer is a float where one is declared",
            || Case::one(Tool::new::<Sizes>("tool_sizes"), r#"{"height":1,"weight":80}"#),
            &["tool_sizes ok", r#"{"height":1,"weight":80}"#, r#"ran tool_sizes {"height":1,"weight":80}"#],
        )
        .except(
            Surface::Function,
            HANDED_ON,
            &[
                "tool_sizes ok",
                r#"{"height":1.0,"weight":80.0}"#,
                r#"ran tool_sizes {"height":1.0,"weight":80.0}"#,
            ],
        ),
        Row::on_surfaces(
            "R7",
            "a nullable struct is given",
            || Case::one(Tool::new::<Nullable>("tool_nullable"), r#"{"place":{"some":"value"}}"#),
            &[
                "tool_nullable ok",
                r#"{"place":{"some":"value"}}"#,
                r#"ran tool_nullable {"place":{"some":"value"}}"#,
            ],
        ),
        Row::on_surfaces(
            "R8",
            "a nullable struct is null",
            || Case::one(Tool::new::<Nullable>("tool_nullable"), r#"{"place":null}"#),
            &["tool_nullable ok", r#"{"place":null}"#, r#"ran tool_nullable {"place":null}"#],
        ),
        Row::on_surfaces(
            "R11",
            "the number of an enum is its variant",
            || {
                let arguments = r#"{"searchTerms":["symfony"],"mode":"and","priority":10}"#;
                Case::one(Tool::new::<WithEnums>("tool_with_backed_enums"), arguments)
            },
            &[
                "tool_with_backed_enums ok",
                r#"{"searchTerms":["symfony"],"mode":"and","priority":10}"#,
                r#"ran tool_with_backed_enums {"searchTerms":["symfony"],"mode":"and","priority":10}"#,
            ],
        ),
        Row::on_surfaces(
            "R12",
            "an optional argument is left out",
            || Case::one(Tool::new::<TextAndDefault>("tool_optional"), r#"{"text":"Hello"}"#),
            &[
                "tool_optional ok",
                r#"{"text":"Hello","number":3}"#,
                r#"ran tool_optional {"text":"Hello","number":3}"#,
            ],
        )
        .differs("the default is put in before the call is made, so that every surface gets it"),
        Row::on_surfaces(
            "R13",
            "a nullable argument without a default is left out",
            || Case::one(Tool::new::<Maybe>("tool_nullable"), "{}"),
            &["tool_nullable ok", "{}", "ran tool_nullable {}"],
        )
        .differs("an `Option` is optional in Rust; one that must be said is declared as required"),
        Row::on_surfaces(
            "R16",
            "a float that is a whole number is an integer",
            || Case::one(Tool::new::<Count>("count"), r#"{"number":1.0}"#),
            &["count ok", r#"{"number":1.0}"#, r#"ran count {"number":1.0}"#],
        )
        .differs("JSON Schema counts 1.0 as an integer")
        .except(
            Surface::Function,
            HANDED_ON,
            &["count ok", r#"{"number":1}"#, r#"ran count {"number":1}"#],
        ),
    ]
}

/// Arguments that do not fit: no tool runs.
fn refused() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "R4",
            "arguments that a closed schema does not name are refused",
            || Case::one(Tool::new::<Closed>("tool_closed"), r#"{"foo":1,"bar":2,"baz":3}"#),
            &[
                "tool_closed invalid_arguments",
                r#"Parameter "foo" does not exist for tool "tool_closed", which takes none there."#,
                r#"Parameter "bar" does not exist for tool "tool_closed", which takes none there."#,
                r#"Parameter "baz" does not exist for tool "tool_closed", which takes none there."#,
                r#"Call tool_closed again with "foo", "bar" and "baz" removed."#,
                "ran nothing",
            ],
        )
        .differs("what a closed schema forbids is an error, not dropped"),
        Row::on_surfaces(
            "R4",
            "an argument is spelled almost right",
            || Case::one(Tool::new::<Search>("search"), r#"{"origin":"TRN","max_prise":80}"#),
            &[
                "search invalid_arguments",
                r#"Parameter "max_price" is mandatory for tool "search"."#,
                r#"Parameter "max_prise" does not exist for tool "search", please use one of these: origin, max_price. Did you mean "max_price"?"#,
                r#"Call it again with: search {"origin":"TRN","max_price":80}"#,
                "ran nothing",
            ],
        )
        .differs("what a closed schema forbids is an error with the name that was meant"),
        Row::on_surfaces(
            "R9",
            "a mandatory argument is missing",
            || Case::one(Tool::new::<TextAndNumber>("tool_required_params"), r#"{"text":"Hello"}"#),
            &[
                "tool_required_params invalid_arguments",
                r#"Parameter "number" is mandatory for tool "tool_required_params"."#,
                r#"Call tool_required_params again with "number" added."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R10",
            "two enums have values that they do not know",
            || {
                let arguments = r#"{"searchTerms":["symfony"],"mode":"not_a_mode","priority":"high"}"#;
                Case::one(Tool::new::<WithEnums>("tool_with_backed_enums"), arguments)
            },
            &[
                "tool_with_backed_enums invalid_arguments",
                r#"Invalid value for parameter "mode" of tool "tool_with_backed_enums": must be one of "and", "or", "not"; got "not_a_mode""#,
                r#"Invalid value for parameter "priority" of tool "tool_with_backed_enums": must be one of 1, 5, 10; got "high""#,
                r#"Call tool_with_backed_enums again with "mode" and "priority" corrected."#,
                "ran nothing",
            ],
        )
        .differs("all problems are reported, each with the values there are"),
        Row::on_surfaces(
            "R13",
            "a nullable argument that is declared as required is left out",
            || Case::one(Tool::new::<NullableButSaid>("tool_nullable"), "{}"),
            &[
                "tool_nullable invalid_arguments",
                r#"Parameter "place" is mandatory for tool "tool_nullable"."#,
                r#"Call tool_nullable again with "place" added."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R14",
            "null for an integer",
            || Case::one(Tool::new::<Count>("count"), r#"{"number":null}"#),
            &[
                "count invalid_arguments",
                r#"Invalid value for parameter "number" of tool "count": must be an integer; got null"#,
                r#"Call count again with "number" corrected."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R15",
            "a string for an integer",
            || Case::one(Tool::new::<Count>("count"), r#"{"number":"3"}"#),
            &[
                "count invalid_arguments",
                r#"Invalid value for parameter "number" of tool "count": must be an integer; got "3" (a string)"#,
                r#"Call it again with: count {"number":3}"#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R16",
            "a broken number for an integer",
            || Case::one(Tool::new::<Count>("count"), r#"{"number":1.5}"#),
            &[
                "count invalid_arguments",
                r#"Invalid value for parameter "number" of tool "count": must be an integer; got 1.5 (a number)"#,
                r#"Call count again with "number" corrected."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R17",
            "a date that is none",
            || Case::one(Tool::new::<OnDate>("tool_date"), r#"{"date":"tomorrow-ish"}"#),
            &[
                "tool_date invalid_arguments",
                r#"Invalid value for parameter "date" of tool "tool_date": must be a date such as "2026-01-31"; got "tomorrow-ish""#,
                r#"Call tool_date again with "date" corrected."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R18",
            "a field of a struct is missing",
            || Case::one(Tool::new::<Parcel>("ship"), r#"{"address":{"street":"High Street 1"}}"#),
            &[
                "ship invalid_arguments",
                r#"Parameter "address.city" is mandatory for tool "ship"."#,
                r#"Call ship again with "address.city" added."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R19",
            "a union has a tag that it does not know",
            || Case::one(Tool::new::<Drawing>("draw"), r#"{"shape":{"type":"zzz"}}"#),
            &[
                "draw invalid_arguments",
                r#"Invalid value for parameter "shape.type" of tool "draw": must be one of "circle", "square"; got "zzz""#,
                r#"Call draw again with "shape.type" corrected."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R20",
            "a list for a map",
            || Case::one(Tool::new::<Counts>("tally"), r#"{"counts":[1,2]}"#),
            &[
                "tally invalid_arguments",
                r#"Invalid value for parameter "counts" of tool "tally": must be an object; got [1,2] (an array)"#,
                r#"Call tally again with "counts" corrected."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R20",
            "a map for a list",
            || Case::one(Tool::new::<Ids>("pick"), r#"{"ids":{"0":1}}"#),
            &[
                "pick invalid_arguments",
                r#"Invalid value for parameter "ids" of tool "pick": must be an array; got {"0":1} (an object)"#,
                r#"Call pick again with "ids" corrected."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "R21",
            "an item of a list has another type",
            || Case::one(Tool::new::<Ids>("pick"), r#"{"ids":[1,"x"]}"#),
            &[
                "pick invalid_arguments",
                r#"Invalid value for parameter "ids[1]" of tool "pick": must be an integer; got "x" (a string)"#,
                r#"Call pick again with "ids[1]" corrected."#,
                "ran nothing",
            ],
        ),
    ]
}

#[tokio::test]
async fn symfony_argument_cases() {
    check(rows()).await;
}

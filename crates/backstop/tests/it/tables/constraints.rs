//! Symfony AI: what is declared about the values of arguments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    kit::{Row, check},
    surface::{Case, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct OfRecipe {
    recipe: Recipe,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Recipe {
    ingredient: Ingredient,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Ingredient {
    Flour,
    Sugar,
    Butter,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Rating {
    #[schemars(regex(pattern = r"^ORD-\d{4}-\d{4}$"))]
    reference: String,
    #[schemars(range(min = 1, max = 10))]
    quantity: i64,
    #[schemars(length(max = 3), extend("uniqueItems" = true))]
    ratings: Vec<i64>,
}

fn recipe(arguments: &str) -> Case {
    Case::one(Tool::new::<OfRecipe>("get_recipe"), arguments)
}

fn rate(arguments: &str) -> Case {
    Case::one(Tool::new::<Rating>("rate"), arguments)
}

const SAYS_MORE: &str = "the place, the rule and the value are said, where the table asks only for an error";

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "V1",
            "the constraints of a struct hold",
            || recipe(r#"{"recipe":{"ingredient":"sugar"}}"#),
            &[
                "get_recipe ok",
                r#"{"recipe":{"ingredient":"sugar"}}"#,
                r#"ran get_recipe {"recipe":{"ingredient":"sugar"}}"#,
            ],
        ),
        Row::on_surfaces(
            "V2",
            "a constraint of a struct does not hold",
            || recipe(r#"{"recipe":{"ingredient":"salt"}}"#),
            &[
                "get_recipe invalid_arguments",
                r#"Invalid value for parameter "recipe.ingredient" of tool "get_recipe": must be one of "flour", "sugar", "butter"; got "salt""#,
                r#"Call get_recipe again with "recipe.ingredient" corrected."#,
                "ran nothing",
            ],
        )
        .differs(SAYS_MORE),
        Row::on_surfaces(
            "V3",
            "the constraints of scalars and arrays hold",
            || rate(r#"{"reference":"ORD-2026-0042","quantity":5,"ratings":[1,2,3]}"#),
            &[
                "rate ok",
                r#"{"reference":"ORD-2026-0042","quantity":5,"ratings":[1,2,3]}"#,
                r#"ran rate {"reference":"ORD-2026-0042","quantity":5,"ratings":[1,2,3]}"#,
            ],
        ),
        Row::on_surfaces(
            "V4",
            "a pattern is not matched",
            || rate(r#"{"reference":"not-a-valid-reference","quantity":5,"ratings":[1,2,3]}"#),
            &[
                "rate invalid_arguments",
                r#"Invalid value for parameter "reference" of tool "rate": must match the pattern ^ORD-\d{4}-\d{4}$; got "not-a-valid-reference""#,
                r#"Call rate again with "reference" corrected."#,
                "ran nothing",
            ],
        )
        .differs(SAYS_MORE),
        Row::on_surfaces(
            "V5",
            "a number is out of its range",
            || rate(r#"{"reference":"ORD-2026-0042","quantity":42,"ratings":[1,2,3]}"#),
            &[
                "rate invalid_arguments",
                r#"Invalid value for parameter "quantity" of tool "rate": must be at most 10; got 42"#,
                r#"Call rate again with "quantity" corrected."#,
                "ran nothing",
            ],
        )
        .differs(SAYS_MORE),
        Row::on_surfaces(
            "V6",
            "an array has too many items",
            || rate(r#"{"reference":"ORD-2026-0042","quantity":5,"ratings":[1,2,3,4]}"#),
            &[
                "rate invalid_arguments",
                r#"Invalid value for parameter "ratings" of tool "rate": must have at most 3 items; got [1,2,3,4]"#,
                r#"Call rate again with "ratings" corrected."#,
                "ran nothing",
            ],
        )
        .differs(SAYS_MORE),
        Row::on_surfaces(
            "V7",
            "an array holds an item twice",
            || rate(r#"{"reference":"ORD-2026-0042","quantity":5,"ratings":[1,1,2]}"#),
            &[
                "rate invalid_arguments",
                r#"Invalid value for parameter "ratings" of tool "rate": must not hold the same item twice; got [1,1,2]"#,
                r#"Call rate again with "ratings" corrected."#,
                "ran nothing",
            ],
        )
        .differs(SAYS_MORE),
        Row::on_surfaces(
            "V8",
            "several constraints do not hold",
            || rate(r#"{"reference":"not-a-valid-reference","quantity":42,"ratings":[1,2,3]}"#),
            &[
                "rate invalid_arguments",
                r#"Invalid value for parameter "reference" of tool "rate": must match the pattern ^ORD-\d{4}-\d{4}$; got "not-a-valid-reference""#,
                r#"Invalid value for parameter "quantity" of tool "rate": must be at most 10; got 42"#,
                r#"Call rate again with "reference" and "quantity" corrected."#,
                "ran nothing",
            ],
        ),
    ]
}

#[tokio::test]
async fn symfony_constraint_cases() {
    check(rows()).await;
}

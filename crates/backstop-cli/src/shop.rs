//! The shop of the quickstart: a real HTTP service on loopback that fails on purpose.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Default)]
struct Shop {
    /// Orders that were asked for before: the first time, the database restarts.
    warm: HashSet<String>,
    refunds: HashMap<String, Vec<Value>>,
    replies_lost: bool,
}

type Shared = Arc<Mutex<Shop>>;

fn lock(shop: &Shared) -> std::sync::MutexGuard<'_, Shop> {
    shop.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves the shop until the future is dropped.
pub(crate) async fn serve(listener: TcpListener) -> std::io::Result<()> {
    let app = Router::new()
        .route("/orders/{id}", get(order))
        .route("/orders/{id}/refunds", get(refunds).post(refund))
        .route("/reports/sales", get(sales))
        .with_state(Shared::default());
    axum::serve(listener, app).await
}

fn total(id: &str) -> Option<f64> {
    match id {
        "A-1001" => Some(59.9),
        "A-1002" => Some(12.5),
        _ => None,
    }
}

fn problem(status: StatusCode, title: &str, detail: String) -> Response {
    let body = json!({"title": title, "status": status.as_u16(), "detail": detail});
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}

fn unknown(id: &str) -> Response {
    problem(StatusCode::NOT_FOUND, "Unknown order", format!("There is no order {id}."))
}

async fn order(State(shop): State<Shared>, Path(id): Path<String>) -> Response {
    let Some(total) = total(&id) else { return unknown(&id) };
    if lock(&shop).warm.insert(id.clone()) {
        let body = json!({"message": "The order database is restarting."});
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], Json(body)).into_response();
    }
    let order = json!({"id": id, "status": "delivered", "total": total, "items": [{"sku": "mug", "price": 19.9, "count": 3}]});
    Json(order).into_response()
}

async fn refund(State(shop): State<Shared>, Path(id): Path<String>, Json(body): Json<Value>) -> Response {
    let Some(total) = total(&id) else { return unknown(&id) };
    let amount = body.get("amount").and_then(Value::as_f64).unwrap_or(0.0);
    let mut shop = lock(&shop);
    let entries = shop.refunds.entry(id.clone()).or_default();
    let paid: f64 = entries.iter().filter_map(|entry| entry.get("amount").and_then(Value::as_f64)).sum();
    if paid + amount > total {
        let detail = format!("The order is worth {total}, of which {paid} is refunded already.");
        return problem(StatusCode::UNPROCESSABLE_ENTITY, "Refund too high", detail);
    }
    let entry = json!({"amount": amount, "reason": body.get("reason")});
    entries.push(entry.clone());
    if std::mem::replace(&mut shop.replies_lost, true) {
        (StatusCode::CREATED, Json(entry)).into_response()
    } else {
        // The money has moved, and the gateway loses the reply.
        (StatusCode::BAD_GATEWAY, Html("<html><h1>502 Bad Gateway</h1><p>nginx at 10.3.0.7</p></html>"))
            .into_response()
    }
}

async fn refunds(State(shop): State<Shared>, Path(id): Path<String>) -> Response {
    if total(&id).is_none() {
        return unknown(&id);
    }
    Json(Value::from(lock(&shop).refunds.get(&id).cloned().unwrap_or_default())).into_response()
}

async fn sales() -> Response {
    tokio::time::sleep(Duration::from_secs(60)).await;
    Json(json!({"total": 0})).into_response()
}

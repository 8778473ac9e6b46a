//! Answers that are larger than anybody wants.

use std::time::{Duration, Instant};

use backstop_core::{Applied, ToolErrorKind};
use backstop_test::server::{Reply, Server};
use serde_json::json;

use super::shop_config;
use crate::support::{call, view};

/// Bits as deflate (RFC 1951) wants them: the lowest first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn push(&mut self, bits: &str) {
        for bit in bits.bytes() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= (bit - b'0') << (self.used % 8);
            self.used += 1;
        }
    }
}

/// `count` times 258 zeros and one more, as gzip: 13 bits each.
fn bomb(count: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push("110"); // The last block, with fixed codes.
    bits.push("00110000"); // Zero.
    for _ in 0..count {
        bits.push("1100010100000"); // 258 times what stood one before.
    }
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff][..], &bits.bytes].concat()
}

#[tokio::test]
async fn what_is_unpacked_counts() {
    // 1.6 MB that stand for 256 MB.
    let packed = bomb(1_000_000);
    assert!(packed.len() < 2 * 1024 * 1024);
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    for (status, kind) in [
        ("200 OK", ToolErrorKind::InvalidOutput),
        ("500 Internal Server Error", ToolErrorKind::UpstreamFailure),
    ] {
        let server = Server::start([Reply::new(status, &headers, &packed)]);
        let mut config = shop_config(&server.url);
        config.max_body = 1024 * 1024;
        let toolset = backstop_toolsets::http::HttpToolset::new(config).unwrap();
        let started = Instant::now();
        let error = call(&toolset, "create_order", json!({})).await.unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!((error.kind(), error.applied()), (kind, Applied::Unknown), "{error:?}");
        if kind == ToolErrorKind::InvalidOutput {
            assert_eq!(
                view(&toolset, "create_order", &error).await,
                "the answer is larger than the limit of 1 MiB (status 200) (error reference: 1a2b3c4d)\n\
                 The call may have taken effect: check with list_orders before repeating it."
            );
        }
        server.only();
    }
}

#[tokio::test]
async fn a_head_without_an_end_is_no_answer() {
    let endless = format!("HTTP/1.1 200 OK\r\nx-a: {}\r\n\r\n", "a".repeat(4 * 1024 * 1024));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x-a: a\r\n".repeat(10_000));
    for head in [endless, many] {
        let server = Server::start([Reply::bytes(head.into_bytes())]);
        let toolset = super::shop(&server.url);
        let error = call(&toolset, "create_order", json!({})).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.applied()),
            (ToolErrorKind::Unavailable, Applied::Unknown),
            "{error:?}"
        );
        let detail = format!("POST {}/orders: the connection broke before an answer came", server.url);
        assert_eq!(error.detail(), detail);
    }
}

//! What every [`Model`] does.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use backstop_core::{
    Catalog, Delta, DeltaSink, Message, Model, ModelReply, ModelRequest, message::Transcript,
};

#[derive(Default)]
struct Collected(Mutex<String>);

impl DeltaSink for Collected {
    fn delta(&self, delta: Delta<'_>) {
        if let Delta::Text(text) = delta {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    }
}

async fn ask(model: &dyn Model, sink: Option<&dyn DeltaSink>) -> ModelReply {
    let transcript = Transcript::new(Arc::new(vec![Message::user("Say something.")]));
    let catalog = Catalog::default();
    let request = ModelRequest::new(&transcript, &catalog, Duration::from_secs(60));
    model.respond(request, sink).await.expect("the fixture's model answers")
}

/// A model that is asked something answers with text.
pub async fn answers_with_text(model: impl Model) {
    assert!(!ask(&model, None).await.text.unwrap_or_default().is_empty());
}

/// What is streamed is what the whole reply says.
pub async fn streams_what_it_returns(model: impl Model) {
    let sink = Collected::default();
    let reply = ask(&model, Some(&sink)).await;
    assert_eq!(*sink.0.lock().unwrap_or_else(PoisonError::into_inner), reply.text.unwrap_or_default());
}

/// A turn that is dropped leaves the model usable.
pub async fn a_dropped_turn_leaves_it_usable(model: impl Model) {
    for micros in [0, 10, 1000] {
        let _ = tokio::time::timeout(Duration::from_micros(micros), ask(&model, None)).await;
    }
    ask(&model, None).await;
}

/// The suite for a [`Model`]; takes an async closure that makes one which answers with text.
#[macro_export]
macro_rules! model_conformance {
    ($fixture:expr) => {
        $crate::model_conformance! { $fixture;
            answers_with_text
            streams_what_it_returns
            a_dropped_turn_leaves_it_usable
        }
    };
    ($fixture:expr; $($behaviour:ident)*) => {$(
        #[tokio::test]
        async fn $behaviour() {
            $crate::conformance::model::$behaviour(($fixture)().await).await;
        }
    )*};
}

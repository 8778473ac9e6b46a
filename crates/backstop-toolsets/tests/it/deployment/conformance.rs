//! The suite that every model runs.

mod openai {
    use async_trait::async_trait;
    use backstop_core::{DeltaSink, Model, ModelError, ModelReply, ModelRequest};
    use backstop_test::server::{Reply, Server};
    use backstop_toolsets::deployment::OpenAiModel;

    use super::super::{choice, model};

    /// A model together with its server.
    struct Served(OpenAiModel, Server);

    #[async_trait]
    impl Model for Served {
        fn name(&self) -> &str {
            self.0.name()
        }

        async fn respond(
            &self,
            request: ModelRequest<'_>,
            sink: Option<&dyn DeltaSink>,
        ) -> Result<ModelReply, ModelError> {
            assert!(!self.1.url.is_empty());
            self.0.respond(request, sink).await
        }
    }

    async fn whole() -> Served {
        let server = Server::start([choice(r#"{"role":"assistant","content":"Good morning."}"#, "\"stop\"")]);
        Served(model(&server.url), server)
    }

    async fn streamed() -> Served {
        let events = [
            "data: {\"choices\":[{\"delta\":{\"content\":\"Good \"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"morning.\"},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        ];
        let server = Server::start([Reply::events(events)]);
        Served(model(&server.url), server)
    }

    mod in_one_piece {
        backstop_test::model_conformance!(super::whole);
    }

    mod in_pieces {
        backstop_test::model_conformance!(super::streamed);
    }
}

mod scripted {
    use backstop_toolsets::deployment::ScriptedModel;

    backstop_test::model_conformance!(async || ScriptedModel::parse(
        "- text: Good morning, world.\n- repeat: last"
    )
    .unwrap());
}

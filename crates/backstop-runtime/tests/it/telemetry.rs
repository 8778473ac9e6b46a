//! One structured record per failure, with its reference.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use backstop_test::{Reply, TestModel};
use tracing_subscriber::fmt::MakeWriter;

use crate::kit::agent;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn each_failure_is_one_record_with_its_reference() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().json().with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let model = TestModel::new([Reply::calls(&[("boom", "{}"), ("nobody", "{}")]), Reply::text("done")]);
    let report = agent(&model).await.run("go").await.unwrap();

    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for failure in report.failures() {
        let lines: Vec<&str> =
            text.lines().filter(|line| line.contains(&failure.reference.to_string())).collect();
        assert_eq!(lines.len(), 1, "{text}");
        let record: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
        let fields = &record["fields"];
        assert_eq!(fields["error.type"], failure.kind.as_str());
        assert_eq!(fields["class"], failure.class.as_str());
        assert_eq!(fields["call"], failure.call.as_str());
        assert_eq!(fields["run"], report.run().as_str());
        assert_eq!(fields["decision"], "continue");
        assert_eq!(fields["message"], failure.message.as_str());
    }
    assert_eq!(report.failures().len(), 2);
}

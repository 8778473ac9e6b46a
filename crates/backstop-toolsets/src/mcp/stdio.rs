//! The way to a server that is a program: messages on its standard input and output.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use backstop_core::{Redactor, ToolError};
use rmcp::{
    RoleClient,
    model::{ClientRequest, ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::AsyncWriteExt as _,
    process::{ChildStdin, ChildStdout},
    sync::{Mutex, Notify, watch},
    time::{Instant, timeout},
};

use super::{
    McpConfig, StdioServer,
    errand::Errand,
    frames::{Frame, Frames},
    process::{LAST_WORDS, Process},
};

/// Time for one message to be taken by a server.
const WRITE: Duration = Duration::from_secs(30);
/// Lines that are no messages of which each is logged.
const NOISE: u32 = 10;

/// Why there is no way to a server any more, once it is known; for operators.
#[derive(Clone, Debug, Default)]
pub(super) struct Obituary(watch::Sender<Option<String>>);

impl Obituary {
    /// What is known.
    pub(super) fn read(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// The first reason is the one that counts.
    fn write(&self, why: impl Into<String>) {
        self.0.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert_with(|| why.into());
            first
        });
    }

    /// Waits until something is known, for as long as a program takes to end.
    async fn wait(&self) {
        let mut known = self.0.subscribe();
        let _ = timeout(2 * LAST_WORDS, known.wait_for(Option::is_some)).await;
    }
}

/// Messages to and from a program.
#[derive(Debug)]
pub(super) struct Stdio {
    toolset: String,
    redactor: Redactor,
    process: Process,
    frames: Frames<ChildStdout>,
    input: Arc<Input>,
    obituary: Obituary,
    noise: u32,
    /// The handshake that is waited for: whatever comes before its answer is to an earlier question, to which nobody
    /// waits any more.
    handshake: Option<RequestId>,
    /// Time to answer whether the newest protocol is spoken, where an older one will do.
    patience: Option<Duration>,
    /// That question, and when it is given up.
    probe: Option<(RequestId, Instant)>,
    /// Why nothing more is read, once nothing is: [`receive`](Transport::receive) may be dropped while the program's
    /// end is waited for.
    over: Option<&'static str>,
}

#[derive(Debug)]
struct Input {
    /// Whole messages, one after the other.
    pipe: Mutex<Option<ChildStdin>>,
    broken: AtomicBool,
    broke: Notify,
}

impl Stdio {
    /// Starts a server. Of one that may speak an older protocol than it is asked for, no answer within `patience` says
    /// that it does: some ignore what they don't know.
    ///
    /// # Errors
    ///
    /// `misconfigured` where its program can't be started.
    pub(super) fn start(
        config: &McpConfig,
        server: &StdioServer,
        patience: Option<Duration>,
        obituary: Obituary,
    ) -> Result<Self, ToolError> {
        let redactor = config.redactor();
        let (process, stdin, stdout) = Process::start(&config.name, server, &redactor)?;
        let input =
            Input { pipe: Mutex::new(Some(stdin)), broken: AtomicBool::new(false), broke: Notify::new() };
        Ok(Self {
            toolset: config.name.clone(),
            redactor,
            process,
            frames: Frames::new(stdout, config.max_message),
            input: Arc::new(input),
            obituary,
            noise: 0,
            handshake: None,
            patience,
            probe: None,
            over: None,
        })
    }

    /// The next line, or the end of it all. Dropping this loses nothing.
    async fn frame(&mut self) -> Option<Frame> {
        if self.over.is_none() {
            let input = Arc::clone(&self.input);
            let read = tokio::select! {
                read = self.frames.next() => read,
                () = input.broke.notified() => {
                    self.over = Some("the server takes no messages any more");
                    Ok(None)
                }
            };
            match read {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(cause) => self.obituary.write(format!("its output can't be read: {cause}")),
            }
        }
        let over = *self.over.get_or_insert("the server closed its output");
        let words = self.process.last_words(over).await;
        self.obituary.write(words);
        None
    }

    /// The next line, or an answer in the place of a server that ignores what it does not know.
    async fn next(&mut self) -> Option<Frame> {
        let Some((id, until)) = self.probe.clone() else { return self.frame().await };
        match tokio::time::timeout_at(until, self.frame()).await {
            Ok(frame) => frame,
            Err(_) => {
                self.probe = None;
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no answer", None);
                Some(Frame::Message(Box::new(JsonRpcMessage::error(error, Some(id)))))
            }
        }
    }

    /// Whether a message is an answer that nobody waits for.
    fn is_late(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => return false,
        };
        self.probe = None;
        let Some(wanted) = &self.handshake else { return false };
        if id.is_some_and(|id| id != wanted) {
            return true;
        }
        self.handshake = None;
        false
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = NotSent;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), NotSent>> + Send + 'static {
        let mut errand = None;
        if let JsonRpcMessage::Request(request) = &item {
            errand = request.request.extensions().get::<Errand>().cloned();
            match request.request {
                ClientRequest::InitializeRequest(_) => self.handshake = Some(request.id.clone()),
                ClientRequest::DiscoverRequest(_) => {
                    let until = self.patience.map(|patience| Instant::now() + patience);
                    self.probe = until.map(|until| (request.id.clone(), until));
                }
                _ => {}
            }
        }
        // Whoever sends one of these listens as well, and hears there with which words the server ended.
        let heard = errand.is_none();
        let obituary = self.obituary.clone();
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&item).map_err(|cause| NotSent(cause.into()))?;
            line.push(b'\n');
            let sent = timeout(WRITE, input.write(&line, errand.as_ref())).await;
            let sent = sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            if sent.is_err() {
                // Half a message may be in the pipe: nothing can follow it.
                input.broken.store(true, Ordering::Release);
                input.broke.notify_one();
            }
            let Err(cause) = sent else { return Ok(()) };
            if heard {
                return Ok(());
            }
            obituary.wait().await;
            Err(NotSent(cause))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.next().await? {
                Frame::Message(message) if self.is_late(&message) => {}
                Frame::Message(message) => return Some(*message),
                Frame::Noise(what) => {
                    self.noise = self.noise.saturating_add(1);
                    let toolset = &self.toolset;
                    let what = self.redactor.redact(&what).unwrap_or(what);
                    if self.noise <= NOISE {
                        tracing::warn!(target: "backstop::mcp", toolset, "the server wrote {what} to its standard output");
                    }
                    if self.noise == NOISE {
                        tracing::warn!(target: "backstop::mcp", toolset, "more of it is skipped without a word");
                    }
                }
                Frame::TooLarge => {
                    self.obituary.write("the server sent a message that is too large to read");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), NotSent> {
        // The end of its input tells a server to end. A message that hangs in the pipe holds it.
        let input = Arc::clone(&self.input);
        if let Ok(mut pipe) = timeout(Duration::from_millis(100), input.pipe.lock()).await {
            *pipe = None;
        }
        self.process.end().await;
        Ok(())
    }
}

impl Input {
    async fn write(&self, line: &[u8], errand: Option<&Errand>) -> io::Result<()> {
        let mut pipe = self.pipe.lock().await;
        let pipe = match &mut *pipe {
            Some(pipe) if !self.broken.load(Ordering::Acquire) => pipe,
            _ => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        // Where not even the beginning can be written, the server has nothing of it.
        let begun = pipe.write(line).await?;
        if let Some(errand) = errand {
            errand.leave();
        }
        pipe.write_all(line.get(begun..).unwrap_or_default()).await?;
        pipe.flush().await
    }
}

/// A message did not reach the server.
#[derive(Debug)]
pub(super) struct NotSent(io::Error);

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message can't be sent")
    }
}

impl std::error::Error for NotSent {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

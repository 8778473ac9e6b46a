//! The way to a server that is a program: messages on its standard input and output.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use backstop_core::{Redactor, ToolError};
use rmcp::{
    RoleClient,
    model::{ClientRequest, GetExtensions as _, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::AsyncWriteExt as _,
    process::{ChildStdin, ChildStdout},
    sync::{Mutex as AsyncMutex, Notify},
    time::timeout,
};

use super::{
    McpConfig, StdioServer,
    errand::Errand,
    frames::{Frame, Frames},
    process::Process,
};

/// Time for one message to be taken by a server.
const WRITE: Duration = Duration::from_secs(30);
/// Lines that are no messages of which each is logged.
const NOISE: u32 = 10;

/// Why there is no way to a server any more, once it is known; for operators.
#[derive(Clone, Debug, Default)]
pub(super) struct Obituary(Arc<Mutex<Option<String>>>);

impl Obituary {
    /// What is known.
    pub(super) fn read(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first reason is the one that counts.
    fn write(&self, why: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why.into());
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
}

#[derive(Debug)]
struct Input {
    /// Whole messages, one after the other.
    pipe: AsyncMutex<Option<ChildStdin>>,
    broken: AtomicBool,
    broke: Notify,
}

impl Stdio {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// `misconfigured` where its program can't be started.
    pub(super) fn start(
        config: &McpConfig,
        server: &StdioServer,
        obituary: Obituary,
    ) -> Result<Self, ToolError> {
        let redactor = config.redactor();
        let (process, stdin, stdout) = Process::start(&config.name, server, &redactor)?;
        let input = Input {
            pipe: AsyncMutex::new(Some(stdin)),
            broken: AtomicBool::new(false),
            broke: Notify::new(),
        };
        Ok(Self {
            toolset: config.name.clone(),
            redactor,
            process,
            frames: Frames::new(stdout, config.max_message),
            input: Arc::new(input),
            obituary,
            noise: 0,
            handshake: None,
        })
    }

    async fn frame(&mut self) -> Option<Frame> {
        let input = Arc::clone(&self.input);
        let read = tokio::select! {
            read = self.frames.next() => read,
            () = input.broke.notified() => {
                let words = self.process.last_words("the server takes no messages any more").await;
                self.obituary.write(words);
                return None;
            }
        };
        match read {
            Ok(Some(frame)) => Some(frame),
            Ok(None) => {
                let words = self.process.last_words("the server closed its output").await;
                self.obituary.write(words);
                None
            }
            Err(cause) => {
                self.obituary.write(format!("its output can't be read: {cause}"));
                None
            }
        }
    }

    /// Whether a message is an answer that nobody waits for.
    fn is_late(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let Some(wanted) = &self.handshake else { return false };
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => return false,
        };
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
            if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                self.handshake = Some(request.id.clone());
            }
        }
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
            sent.map_err(NotSent)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.frame().await? {
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

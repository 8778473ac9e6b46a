//! Bounds of event streams: a parser keeps a whole event, however long it is.

/// Counts the bytes of the event that is being read.
#[derive(Debug)]
pub(crate) struct EventBudget {
    max: usize,
    /// Bytes since the last blank line.
    event: usize,
    /// Bytes since the last line end.
    line: usize,
}

impl EventBudget {
    /// Events of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, event: 0, line: 0 }
    }

    /// Whether no event has become too long with this piece.
    pub(crate) fn fits(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            self.event += 1;
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            if self.event > self.max {
                return false;
            }
        }
        true
    }
}

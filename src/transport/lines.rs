//! A program that is spoken to line by line, without assumptions: for checking the rules of the adapter protocol.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout_at};

/// How long a program may take from the end of its output to its own.
const ENDING: Duration = Duration::from_secs(2);

/// What came next on the standard output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line that is longer than is read.
    TooLong,
    /// The end: it closed its output.
    End,
    /// Nothing in time.
    Nothing,
}

/// A running program.
pub struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Conversation {
    /// Starts a program. Its standard error goes to ours.
    ///
    /// # Errors
    ///
    /// It cannot be started; the text says why.
    pub fn start(command: &[String]) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("it has no standard output")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// Writes bytes to its standard input. False if it takes no more, or not in time.
    pub async fn say(&mut self, bytes: &[u8], within: Duration) -> bool {
        let Some(input) = &mut self.input else { return false };
        let write = async { input.write_all(bytes).await.is_ok() && input.flush().await.is_ok() };
        tokio::time::timeout(within, write).await.unwrap_or(false)
    }

    /// Writes bytes while reading lines, so that neither side waits for the other with full pipes: the lines that came until
    /// there were `count` of them, the time was over, or it ended. The last element says why it is the last, if it is not a line.
    pub async fn say_and_hear(&mut self, bytes: &[u8], count: usize, limit: usize, within: Duration) -> Vec<Said> {
        let mut input = self.input.take();
        let output = &mut self.output;
        let deadline = Instant::now() + within;
        let write = async {
            if let Some(input) = &mut input {
                let _ = timeout_at(deadline, async {
                    let _ = input.write_all(bytes).await;
                    let _ = input.flush().await;
                })
                .await;
            }
        };
        let read = async {
            let mut heard = Vec::new();
            while heard.len() < count {
                let said = said(output, limit, deadline).await;
                let more = matches!(said, Said::Line(_));
                heard.push(said);
                if !more {
                    break;
                }
            }
            heard
        };
        let ((), heard) = tokio::join!(write, read);
        self.input = input;
        heard
    }

    /// The next line of its standard output.
    pub async fn hear(&mut self, limit: usize, within: Duration) -> Said {
        said(&mut self.output, limit, Instant::now() + within).await
    }

    /// Closes its standard input, which asks it to end. What it still says, and how it ended; `None` if it does not end.
    pub async fn finish(mut self, limit: usize, within: Duration) -> (Vec<Said>, Option<ExitStatus>) {
        drop(self.input.take());
        let deadline = Instant::now() + within;
        let mut rest = Vec::new();
        while rest.len() < 16 {
            match said(&mut self.output, limit, deadline).await {
                Said::End => break,
                said => {
                    let more = matches!(said, Said::Line(_));
                    rest.push(said);
                    if !more {
                        break;
                    }
                }
            }
        }
        let ended = timeout_at(deadline, self.child.wait()).await;
        if ended.is_err() {
            self.kill().await;
        }
        (rest, ended.ok().and_then(Result::ok))
    }

    /// Whether it has ended by itself, and how. Asked behind the end of its output: on a busy machine the end of the program
    /// shows some time after that.
    pub async fn ended(&mut self) -> Option<ExitStatus> {
        timeout_at(Instant::now() + ENDING, self.child.wait()).await.ok().and_then(Result::ok)
    }

    /// Ends it and whatever it started.
    pub async fn kill(&mut self) {
        if let Some(id) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill().await;
    }
}

async fn said(output: &mut BufReader<ChildStdout>, limit: usize, deadline: Instant) -> Said {
    let mut line = Vec::new();
    match next_line(output, limit, deadline, &mut line).await {
        Read::Line => Said::Line(line),
        Read::TooLong => Said::TooLong,
        Read::End | Read::Failed(_) => Said::End,
        Read::Nothing => Said::Nothing,
    }
}

/// Reads a line of at most `limit` bytes into `line`, without its end. What came of it is in `line` whatever the answer, so
/// that half a line can be shown as evidence.
pub(super) async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin + ?Sized),
    limit: usize,
    deadline: Instant,
    line: &mut Vec<u8>,
) -> Read {
    line.clear();
    loop {
        let buffer = match timeout_at(deadline, input.fill_buf()).await {
            Err(_) => return Read::Nothing,
            Ok(Err(error)) => return Read::Failed(error.to_string()),
            Ok(Ok(buffer)) => buffer,
        };
        if buffer.is_empty() {
            return if line.is_empty() { Read::End } else { Read::Line };
        }
        let (taken, done) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), false),
        };
        line.extend_from_slice(&buffer[..taken]);
        input.consume(taken);
        if line.len() > limit {
            return Read::TooLong;
        }
        if done {
            while matches!(line.last(), Some(b'\n' | b'\r')) {
                line.pop();
            }
            return Read::Line;
        }
    }
}

/// What came of reading a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A line.
    Line,
    /// More than is read of one.
    TooLong,
    /// None any more.
    End,
    /// None any more: reading failed. The text says how.
    Failed(String),
    /// No end of one in time.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], limit: usize) -> Vec<(Read, Vec<u8>)> {
        let mut input = bytes;
        let mut found = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let mut line = b"left over".to_vec();
            let read = next_line(&mut input, limit, deadline, &mut line).await;
            let more = read == Read::Line;
            found.push((read, line));
            if !more {
                return found;
            }
        }
    }

    #[tokio::test]
    async fn a_line_ends_where_it_says_or_where_everything_does() {
        let line = |text: &str| (Read::Line, text.into());
        let end = (Read::End, Vec::new());
        assert_eq!(read(b"a\r\n\nb", 9).await, [line("a"), line(""), line("b"), end.clone()]);
        assert_eq!(read(b"", 9).await, [end]);
        assert_eq!(read(b"abc\n", 3).await, [(Read::TooLong, b"abc\n".to_vec())]);
    }

    #[tokio::test]
    async fn half_a_line_is_kept() {
        let (mut writer, reader) = tokio::io::duplex(64);
        writer.write_all(b"half").await.unwrap();
        let mut line = Vec::new();
        let deadline = Instant::now() + Duration::from_millis(20);
        assert_eq!(next_line(&mut BufReader::new(reader), 9, deadline, &mut line).await, Read::Nothing);
        assert_eq!(line, b"half");
    }
}

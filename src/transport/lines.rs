//! Communication with a program line by line, without assumptions: for checking the rules of the adapter protocol.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout_at};

use super::group::{Group, separate};

/// How long a program may take to exit after it closed its output.
const ENDING: Duration = Duration::from_secs(2);

/// The next event on the standard output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramOutput {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line that is longer than is read.
    TooLong,
    /// The end: it closed its output.
    End,
    /// The deadline passed.
    Timeout,
}

/// A running program.
pub struct Conversation {
    child: Child,
    group: Group,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Conversation {
    /// Starts a program. Its standard error goes to ours.
    ///
    /// # Errors
    ///
    /// It cannot be started; the text describes the cause.
    pub fn start(command: &[String]) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        separate(command.as_std_mut());
        let mut child = command.spawn().map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let group = Group::of(&child);
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("it has no standard output")?;
        Ok(Self { child, group, input, output: BufReader::new(output) })
    }

    /// Writes bytes to its standard input. False if the input is closed or the write times out.
    pub async fn write(&mut self, bytes: &[u8], within: Duration) -> bool {
        let Some(input) = &mut self.input else { return false };
        let write = async { input.write_all(bytes).await.is_ok() && input.flush().await.is_ok() };
        tokio::time::timeout(within, write).await.unwrap_or(false)
    }

    /// Writes bytes while reading lines, so that full pipes cause no deadlock. Returns the lines up to `count` lines,
    /// the timeout, or the end of the program. If the last element is not a line, it is the reason for stopping.
    pub async fn exchange_lines(
        &mut self,
        bytes: &[u8],
        count: usize,
        limit: usize,
        within: Duration,
    ) -> Vec<ProgramOutput> {
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
            let mut lines = Vec::new();
            while lines.len() < count {
                let next = next_output(output, limit, deadline).await;
                let more = matches!(next, ProgramOutput::Line(_));
                lines.push(next);
                if !more {
                    break;
                }
            }
            lines
        };
        let ((), lines) = tokio::join!(write, read);
        self.input = input;
        lines
    }

    /// The next line of its standard output.
    pub async fn read_line(&mut self, limit: usize, within: Duration) -> ProgramOutput {
        next_output(&mut self.output, limit, Instant::now() + within).await
    }

    /// Closes its standard input, which requests its end. Returns its remaining output, and how it ended; `None` if it
    /// does not end.
    pub async fn finish(mut self, limit: usize, within: Duration) -> (Vec<ProgramOutput>, Option<ExitStatus>) {
        drop(self.input.take());
        let deadline = Instant::now() + within;
        let mut rest = Vec::new();
        while rest.len() < 16 {
            match next_output(&mut self.output, limit, deadline).await {
                ProgramOutput::End => break,
                next => {
                    let more = matches!(next, ProgramOutput::Line(_));
                    rest.push(next);
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

    /// Whether it has ended by itself, and how. Called after the end of its output: on a busy machine the end of the
    /// program shows some time after that.
    pub async fn ended(&mut self) -> Option<ExitStatus> {
        timeout_at(Instant::now() + ENDING, self.child.wait()).await.ok().and_then(Result::ok)
    }

    /// Ends it and its child processes.
    pub async fn kill(&mut self) {
        self.group.kill(&self.child);
        let _ = self.child.kill().await;
    }
}

async fn next_output(output: &mut BufReader<ChildStdout>, limit: usize, deadline: Instant) -> ProgramOutput {
    let mut line = Vec::new();
    match next_line(output, limit, deadline, &mut line).await {
        Read::Line => ProgramOutput::Line(line),
        Read::TooLong => ProgramOutput::TooLong,
        Read::End | Read::Failed(_) => ProgramOutput::End,
        Read::Timeout => ProgramOutput::Timeout,
    }
}

/// Reads a line of at most `limit` bytes into `line`, without its end. `line` keeps the bytes read for every result, so
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
            Err(_) => return Read::Timeout,
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

/// The result of reading a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A line.
    Line,
    /// More than is read of one.
    TooLong,
    /// End of the stream.
    End,
    /// Reading failed. The text describes the cause.
    Failed(String),
    /// No end of one in time.
    Timeout,
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
    async fn a_line_ends_at_its_line_feed_or_at_the_end_of_the_stream() {
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
        assert_eq!(next_line(&mut BufReader::new(reader), 9, deadline, &mut line).await, Read::Timeout);
        assert_eq!(line, b"half");
    }
}

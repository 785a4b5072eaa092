//! A small HTTP client over a plain socket, and packages to send with it.

pub(crate) mod conversation;
pub(crate) mod library;

use proofmark_reference::{Config, Handle, Implementation};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// As sent, without the status line.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The string at `/error/code`.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The ids of a list of packages.
    pub(crate) fn ids(&self) -> Vec<String> {
        let packages = self.json()["packages"].as_array().cloned().unwrap_or_default();
        packages.iter().map(|package| package["package_id"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// A connection that is kept open between requests.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    pub(crate) headers: String,
}

impl Client {
    pub(crate) async fn connect(address: std::net::SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, headers: String::new() })
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, body: &[u8]) -> std::io::Result<Answer> {
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n{}\r\n", body.len(), self.headers);
        self.stream.write_all(&[head.as_bytes(), body].concat()).await?;
        read_answer(&mut self.stream).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, b"").await.expect("the server answers")
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string()).await
    }

    pub(crate) async fn post_text(&mut self, path: &str, body: &str) -> Answer {
        self.send("POST", path, body.as_bytes()).await.expect("the server answers")
    }

    /// Deposits `package` to the project that it names.
    pub(crate) async fn deposit(&mut self, package: &Value) -> Answer {
        let project = package["project_id"].as_str().unwrap_or_default();
        self.post(&format!("/v1/projects/{}/packages", encode(project)), package).await
    }

    /// Sends bytes as they are and reads one answer.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) -> std::io::Result<Answer> {
        self.stream.write_all(bytes).await?;
        read_answer(&mut self.stream).await
    }
}

async fn read_answer(stream: &mut TcpStream) -> std::io::Result<Answer> {
    let cut = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(cut());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let (status_line, head) = head.split_once("\r\n").ok_or_else(cut)?;
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let end = head_end + length.unwrap_or(0usize);
    while bytes.len() < end {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(cut());
        }
    }
    let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    let body = String::from_utf8_lossy(&bytes[head_end..end]).into_owned();
    Ok(Answer { status, head: head.to_owned(), body })
}

/// A server in this process and a connection to it.
pub(crate) async fn start(config: Config) -> (Handle, Client) {
    let handle = agentic().serve(config).await.expect("the server starts");
    let client = Client::connect(address(&handle)).await.expect("the server listens");
    (handle, client)
}

pub(crate) fn agentic() -> &'static dyn Implementation {
    proofmark_reference::find("agentic").expect("a row")
}

pub(crate) fn config() -> Config {
    agentic().config()
}

/// The configuration with settings.
pub(crate) fn set(mut config: Config, settings: &[(&str, &str)]) -> Config {
    for (name, value) in settings {
        config.set(name, value).expect("a valid setting");
    }
    config
}

/// Where its HTTP listener is.
pub(crate) fn address(handle: &Handle) -> std::net::SocketAddr {
    handle.socket("http").expect("it listens")
}

/// Percent-encodes everything but unreserved characters.
pub(crate) fn encode(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The nine required members.
pub(crate) fn minimal(project: &str, id: &str) -> Value {
    json!({
        "package_id": id, "project_id": project, "relay_version": "0.1", "title": format!("Title of {id}"),
        "status": "complete", "package_type": "standard", "review_type": "none",
        "created_at": "2026-01-02T03:04:05Z", "created_by": { "id": "pm-actor-a", "type": "agent" }
    })
}

/// The same with some members set.
pub(crate) fn with(mut package: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().expect("an object") {
        package[name] = value.clone();
    }
    package
}

/// Every core member, unknown ones at three depths.
pub(crate) fn full(project: &str, id: &str) -> Value {
    with(
        minimal(project, id),
        &json!({
            "title": "Größe \u{1f680} e\u{301}", "description": "a \"quoted\" word \\ done", "tags": ["b", "a", "b"],
            "decisions_made": ["use byte order", "keep two shards"], "open_questions": ["what is a character?"],
            "handoff_note": "see notes", "estimated_next_actor": "human", "parent_package_id": "pkg_parent",
            "deliverables": [{ "path": "docs/a.md", "type": "md", "hash": "sha256:00ff", "size_bytes": 18432, "x-lang": "en" }],
            "significance": 7, "content_md": "# Heading", "topic": "retrieval", "artifact_type": "report",
            "created_by": { "id": "sam", "type": "script", "session_id": "sess_pm_1", "git_commit": "9f2c1d0", "x-host": { "b": 2 } },
            "x-trust-score": 0.87, "x-list": [true, { "k": 1 }, null], "future_field": { "n": 1, "empty": {} }
        }),
    )
}

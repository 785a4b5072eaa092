//! The same requests without proofmark: only the client library, without reading the answers.

use futures_util::StreamExt;
use futures_util::stream;
use proofmark::exchange::Exchange;
use proofmark::walk::Transcript;
use tokio::runtime::Runtime;
use url::Url;

use crate::side_by_side::Cost;
use crate::workload::JOBS;

/// The client library, configured as in proofmark.
pub struct Client(reqwest::Client);

impl Client {
    /// A client with no connections yet.
    pub fn new() -> Self {
        // A second installation only reports that one exists.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(64);
        Self(client.build().expect("an HTTP client can be made"))
    }

    /// Sends everything in `transcript` to `url`: the requests of a case in order, [`JOBS`] cases at a time.
    ///
    /// Returns the time and the number of requests.
    ///
    /// # Panics
    ///
    /// If an answer has another status than the one in the transcript: the work would not be the same.
    pub fn send_again(&self, runtime: &Runtime, transcript: &Transcript, url: &Url) -> (Cost, usize) {
        let probes = transcript.probes.iter().map(|(_, exchanges)| exchanges.as_slice());
        let cases = transcript.cases.iter().flatten().map(|case| case.exchanges.as_slice());
        let all: Vec<&[Exchange]> = probes.chain(cases).collect();
        let requests = all.iter().map(|exchanges| exchanges.len()).sum();
        let work = stream::iter(all).for_each_concurrent(JOBS, |exchanges| self.one_by_one(exchanges, url));
        let (cost, ()) = Cost::of_program(|| runtime.block_on(work));
        (cost, requests)
    }

    async fn one_by_one(&self, exchanges: &[Exchange], url: &Url) {
        for exchange in exchanges {
            let sent = &exchange.sent;
            let mut address = Url::parse(&sent.url).expect("it was sent to");
            address.set_port(url.port()).expect("an HTTP address has a port");
            let method = reqwest::Method::from_bytes(sent.method.as_bytes()).expect("it was sent");
            let mut request = self.0.request(method, address);
            for (name, value) in &sent.headers {
                request = request.header(name, value);
            }
            if !sent.body.is_empty() {
                request = request.body(sent.body.0.to_vec());
            }
            let answer = request.send().await.expect("the server answers");
            assert_eq!(Some(answer.status().as_u16()), exchange.received.status, "{}", sent.url);
            answer.bytes().await.expect("the answer is whole");
        }
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

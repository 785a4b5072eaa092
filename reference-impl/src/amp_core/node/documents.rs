//! The documents of others: preloaded, fetched, or derived from a did:key (E22).

use std::sync::{Arc, PoisonError};

use super::super::did;
use super::super::document::{Document, Documents, Resolve};
use super::super::net;
use super::super::store::kept;
use super::Node;
use crate::json::{self, Object, Value};

impl Node {
    /// The known documents.
    pub(super) fn documents(&self) -> Arc<Documents> {
        Arc::clone(&self.0.documents.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the known documents.
    pub(crate) fn know(&self, documents: Documents) {
        *self.0.documents.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(documents);
    }

    fn insert(&self, found: Vec<Document>) {
        let mut documents = self.0.documents.write().unwrap_or_else(PoisonError::into_inner);
        let known = Arc::make_mut(&mut documents);
        for document in found {
            known.insert(document);
        }
    }

    /// Loads the documents known before a restart.
    pub(super) async fn recall(&self) {
        let Ok(Ok(rows)) = self.0.store.read(kept::documents).await else { return };
        let read = |(_, text): (String, String)| match json::read(text.as_bytes()) {
            Ok(Value::Object(object)) => Document::read(&object, self.rules()),
            _ => None, // not written by this program
        };
        self.insert(rows.into_iter().filter_map(read).collect());
    }

    /// Adds documents: an object from DIDs to documents, an array of documents, or a single one. Returns their number.
    ///
    /// # Errors
    ///
    /// A text about an invalid document, or the database.
    pub(crate) async fn learn(&self, documents: &Value) -> Result<i64, String> {
        let list: Vec<&Value> = match documents {
            Value::List(list) => list.iter().collect(),
            Value::Object(one) if one.get("id").is_some() => vec![documents],
            Value::Object(by_did) => by_did.iter().map(|(_, document)| document).collect(),
            _ => return Err("documents are an object or an array".to_owned()),
        };
        let mut read = Vec::with_capacity(list.len());
        for value in list {
            let object = value.as_object().ok_or("a document is an object")?;
            let document = Document::read(object, self.rules()).ok_or("a document has a DID as id")?;
            read.push((document, object.clone()));
        }
        self.keep_documents(&read).await?;
        let count = read.len();
        self.insert(read.into_iter().map(|(document, _)| document).collect());
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    async fn keep_documents(&self, documents: &[(Document, Object)]) -> Result<(), String> {
        let now = self.now();
        let rows: Vec<(String, String)> =
            documents.iter().map(|(document, object)| (document.id.clone(), object.write())).collect();
        let kept = self
            .0
            .store
            .write(move |db| rows.iter().try_for_each(|(did, json)| kept::put_document(db, did, json, now)));
        kept.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// Gets the document of a did:web that is not known yet, if this node may.
    pub(super) async fn fetch_document(&self, party: &str, _now: u64) {
        let Some(url) = did::web_url(party) else { return };
        if !self.0.settings.serves || self.documents().resolve(party).is_some() {
            return;
        }
        // A document that cannot be had now is one that is not known: 3001 (E24).
        let Ok(text) = net::fetch_json(&url).await else { return };
        let Ok(Value::Object(object)) = json::read(&text) else { return };
        let Some(document) = Document::read(&object, self.rules()) else { return };
        if document.id == did::bare(party) {
            self.keep_documents(&[(document.clone(), object)]).await.ok(); // it can be fetched again
            self.insert(vec![document]);
        }
    }

    /// Sets the endpoints of this node.
    pub(crate) fn set_services(&self, services: Vec<(&'static str, String)>) {
        *self.0.services.lock().unwrap_or_else(PoisonError::into_inner) = services;
    }

    /// The DID document of this node as JSON.
    pub(crate) fn document(&self) -> String {
        let services = self.0.services.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let services: Vec<(&str, &str)> = services.iter().map(|(kind, url)| (*kind, url.as_str())).collect();
        Document::of_identity(&self.0.settings.me, &services).json().write()
    }
}

//! Documents that a listener serves.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Documents that can be fetched, by path. Clones are handles on the same documents.
#[derive(Clone, Default)]
pub struct Documents(Arc<Mutex<BTreeMap<String, Document>>>);

struct Document {
    media_type: String,
    body: Arc<[u8]>,
    fetched: u64,
}

impl Documents {
    /// Serves `body` at `path`, which starts with a slash, replacing an earlier body.
    pub fn set(&self, path: impl Into<String>, media_type: impl Into<String>, body: impl Into<Arc<[u8]>>) {
        let (media_type, body) = (media_type.into(), body.into());
        match self.lock().entry(path.into()) {
            Entry::Vacant(place) => drop(place.insert(Document { media_type, body, fetched: 0 })),
            Entry::Occupied(mut place) => {
                let fetched = place.get().fetched;
                place.insert(Document { media_type, body, fetched });
            }
        }
    }

    /// Stops serving `path`.
    pub fn remove(&self, path: &str) {
        self.lock().remove(path);
    }

    /// How often the document at `path` was fetched.
    pub fn fetched(&self, path: &str) -> u64 {
        self.lock().get(path).map_or(0, |document| document.fetched)
    }

    /// The media type and the bytes of the document at `path`, which counts as fetched.
    pub(super) fn fetch(&self, path: &str) -> Option<(String, Arc<[u8]>)> {
        let mut documents = self.lock();
        let document = documents.get_mut(path)?;
        document.fetched += 1;
        Some((document.media_type.clone(), Arc::clone(&document.body)))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Document>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

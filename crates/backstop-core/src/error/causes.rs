//! A source chain that survives the journal: written as the texts of its layers, read back as a chain of texts.

use std::{error::Error, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Layers kept of one chain; a longer one is cut.
const DEPTH: usize = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Causes(Option<Arc<dyn Error + Send + Sync>>);

impl Causes {
    pub(crate) fn new(source: Arc<dyn Error + Send + Sync>) -> Self {
        Self(Some(source))
    }

    pub(crate) fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.as_deref().map(|source| source as &(dyn Error + 'static))
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        std::iter::successors(self.source(), |layer: &&(dyn Error + 'static)| (*layer).source())
            .take(DEPTH)
            .map(ToString::to_string)
            .collect()
    }

    pub(crate) fn from_texts(texts: Vec<String>) -> Self {
        let chain =
            texts.into_iter().rev().fold(None, |source, text| Some(Arc::new(Recorded { text, source })));
        Self(chain.map(|chain| chain as Arc<dyn Error + Send + Sync>))
    }
}

impl PartialEq for Causes {
    fn eq(&self, other: &Self) -> bool {
        self.texts() == other.texts()
    }
}

impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Causes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from_texts)
    }
}

/// One layer of a chain that was read back.
#[derive(Debug)]
struct Recorded {
    text: String,
    source: Option<Arc<Recorded>>,
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Recorded {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

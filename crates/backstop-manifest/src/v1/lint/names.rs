//! The tools of a manifest by their names, as a run finds them.

use std::{cell::OnceCell, collections::HashMap};

use backstop_core::{
    Catalog, ToolPolicy,
    catalog::{CatalogEntry, CatalogSource},
};

use super::{
    super::{manifest::Manifest, toolset::ToolsetConfig},
    Tool, tool_in, tools_in,
};

/// What a name of a tool leads to.
pub(super) enum Found<'m> {
    Tool(Tool<'m>),
    /// There is no such tool, or more than one.
    Nothing,
    /// A toolset that lists its tools when a run starts may have it.
    Unknown,
}

/// The tools that are known without asking anybody.
pub(super) struct Names<'m> {
    pub(super) manifest: &'m Manifest,
    /// Made once somebody asks: it compiles every schema.
    offer: OnceCell<Offer>,
}

/// The tools as a run offers them.
struct Offer {
    catalog: Catalog,
    /// Places in the catalog by toolset and own name.
    places: HashMap<(usize, String), usize>,
    /// Places in the catalog by own name alone; `None` where several have it.
    own: HashMap<String, Option<usize>>,
}

impl Offer {
    /// The tool that a run finds by this name. The catalog looks at all of its tools for that.
    fn find(&self, name: &str) -> Option<&CatalogEntry> {
        let only = || self.catalog.entries().get((*self.own.get(name)?)?);
        self.catalog.get(name).or_else(only)
    }
}

impl<'m> Names<'m> {
    pub(super) fn new(manifest: &'m Manifest) -> Self {
        Self { manifest, offer: OnceCell::new() }
    }

    /// Every tool in the order of the text.
    pub(super) fn all(&self) -> impl Iterator<Item = Tool<'m>> {
        self.manifest.toolsets.iter().flat_map(tools_in)
    }

    /// The tool that a run finds by this name.
    pub(super) fn find(&self, name: &str) -> Found<'m> {
        let found = self.offer().find(name).and_then(|entry| {
            let toolset = self.manifest.toolsets.get(entry.toolset)?;
            tool_in(toolset, &entry.spec.name)
        });
        match found {
            Some(tool) if self.is_sure(tool, name) => Found::Tool(tool),
            None if self.all_are_known() => Found::Nothing,
            Some(_) | None => Found::Unknown,
        }
    }

    /// A tool as a run offers it; `None` for one that is not known, or that can't be used.
    pub(super) fn entry(&self, (toolset, tool): Tool<'_>) -> Option<&CatalogEntry> {
        let Offer { catalog, places, .. } = self.offer();
        let toolset = self.manifest.toolsets.iter().position(|other| std::ptr::eq(other, toolset))?;
        catalog.entries().get(*places.get(&(toolset, tool.to_owned()))?)
    }

    /// What to call a tool: its own name where this leads to it, else the one that the model knows.
    pub(super) fn name_of(&self, tool: Tool<'_>) -> String {
        let entry = self.entry(tool);
        let is_found = || match self.offer().find(tool.1) {
            Some(found) => entry.is_some_and(|entry| std::ptr::eq(entry, found)),
            None => false,
        };
        entry.filter(|_| !is_found()).map_or_else(|| tool.1.to_owned(), |entry| entry.name.clone())
    }

    fn all_are_known(&self) -> bool {
        self.manifest.toolsets.iter().all(ToolsetConfig::declares_its_tools)
    }

    /// Whether no tool that is not known yet can be meant instead: only a name that the model knows is sure then,
    /// and only where none before it can have taken it.
    fn is_sure(&self, (toolset, tool): Tool<'_>, name: &str) -> bool {
        let before = self.manifest.toolsets.iter().take_while(|other| !std::ptr::eq(*other, toolset));
        let may_have_it =
            |other: &ToolsetConfig| !other.declares_its_tools() && name.starts_with(&other.prefix);
        self.all_are_known()
            || (name == format!("{}{tool}", toolset.prefix) && !before.into_iter().any(may_have_it))
    }

    fn offer(&self) -> &Offer {
        self.offer.get_or_init(|| {
            let source = |toolset: &ToolsetConfig| {
                let tools = toolset.specs().into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
                CatalogSource::new(toolset.name.value.clone(), tools).prefix(toolset.prefix.clone())
            };
            // Tools that can't be used are reported where they are declared.
            let (catalog, _) = Catalog::build(self.manifest.toolsets.iter().map(source).collect());
            let key = |entry: &CatalogEntry| (entry.toolset, entry.spec.name.clone());
            let places = catalog.entries().iter().enumerate().map(|(at, entry)| (key(entry), at)).collect();
            let mut own = HashMap::new();
            for (at, entry) in catalog.entries().iter().enumerate() {
                own.entry(entry.spec.name.clone()).and_modify(|at| *at = None).or_insert(Some(at));
            }
            Offer { catalog, places, own }
        })
    }
}

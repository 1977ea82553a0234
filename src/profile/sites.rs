//! Where in the code calls were made, in a profile: modules, frames and sites get their numbers when all are known. The same ones, in
//! whatever order processes were merged.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::error::Error;
use crate::stream::{Frame, Module, Site};

#[derive(Default)]
pub struct Sites {
    modules: Vec<Module>,
    frames: Vec<Frame>,
    sites: Vec<Site>,
    /// Of sites, by their hashes, once they are numbered.
    numbers: HashMap<u64, u32>,
}

impl Sites {
    pub fn add_module(&mut self, module: Module) {
        self.modules.push(module);
    }

    pub fn add_frame(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    pub fn add(&mut self, site: Site) {
        self.sites.push(site);
    }

    /// The number of a site.
    pub fn find(&self, hash: u64) -> Option<u32> {
        self.numbers.get(&hash).copied()
    }

    /// Writes all of them.
    pub fn number(&mut self, db: &Connection) -> Result<(), Error> {
        let modules = self.write_modules(db)?;
        let frames = self.write_frames(db, &modules)?;
        let mut sites = std::mem::take(&mut self.sites);
        // Where a rank has a site it has those outside under lower numbers: so these come first.
        sites.sort_unstable_by_key(|site| (site.first, site.hash));
        self.numbers = numbered(sites.iter().map(|site| site.hash));
        let mut insert = db.prepare("INSERT INTO site VALUES (?, ?, ?)")?;
        for (number, site) in (1u32..).zip(&sites) {
            insert.execute(params![number, frames.get(&site.frame), self.find(site.outer)])?;
        }
        Ok(())
    }

    fn write_modules(&mut self, db: &Connection) -> Result<HashMap<u64, u32>, Error> {
        let mut modules = std::mem::take(&mut self.modules);
        modules.sort_unstable_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
        let mut insert = db.prepare("INSERT INTO module VALUES (?, ?, ?)")?;
        for (number, module) in (1u32..).zip(&modules) {
            let build_id = Some(&module.build_id).filter(|id| !id.is_empty());
            insert.execute(params![number, module.path, build_id])?;
        }
        Ok(numbered(modules.iter().map(|module| module.hash)))
    }

    fn write_frames(&mut self, db: &Connection, modules: &HashMap<u64, u32>) -> Result<HashMap<u64, u32>, Error> {
        let mut frames = std::mem::take(&mut self.frames);
        let module = |frame: &Frame| modules.get(&frame.module).copied();
        frames.sort_unstable_by(|a, b| {
            (module(a), a.address, &a.scripted, a.hash).cmp(&(module(b), b.address, &b.scripted, b.hash))
        });
        let mut insert = db.prepare("INSERT INTO frame VALUES (?, ?, ?)")?;
        let mut name = db.prepare("INSERT INTO frame_name VALUES (?, 0, ?, ?, ?)")?;
        for (number, frame) in (1u32..).zip(&frames) {
            let module = module(frame);
            insert.execute(params![number, module, module.map(|_| frame.address as i64)])?;
            if let Some(scripted) = &frame.scripted {
                let file = Some(&scripted.file).filter(|file| !file.is_empty());
                let line = Some(scripted.line).filter(|line| *line > 0);
                name.execute(params![number, scripted.function, file, line])?;
            }
        }
        Ok(numbered(frames.iter().map(|frame| frame.hash)))
    }
}

fn numbered(hashes: impl Iterator<Item = u64>) -> HashMap<u64, u32> {
    hashes.zip(1..).collect()
}

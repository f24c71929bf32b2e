//! From text to blocks.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{Block, SpecError, Value};

/// Files by `source` within files by `source`.
const MAX_FILES_DEEP: usize = 8;
/// Blocks and lists within each other.
const MAX_DEPTH: usize = 32;
/// Bytes of a file: the largest of the library has 200 KB.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the blocks of a file and of those that it names.
pub(in super::super) fn read(path: &Path) -> Result<Vec<Block>, SpecError> {
    read_nested(path, 0)
}

/// Reads a text file of bearable size.
pub(in super::super) fn read_text(path: &Path) -> Result<String, SpecError> {
    let failed = |e: std::io::Error| SpecError::file(path, e.to_string());
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MAX_BYTES {
        return Err(SpecError::file(path, format!("{size} bytes are no parameter file")));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| SpecError::file(path, "is not a text file"))
}

fn read_nested(path: &Path, deep: usize) -> Result<Vec<Block>, SpecError> {
    if deep >= MAX_FILES_DEEP {
        return Err(SpecError::file(path, "source within source without an end"));
    }
    let text = read_text(path)?;
    let file = Rc::new(path.to_path_buf());
    let mut parser = Parser { rest: &text, line: 1, file, deep, depth: 0 };
    parser.file_blocks()
}

struct Parser<'a> {
    rest: &'a str,
    line: usize,
    file: Rc<PathBuf>,
    deep: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, why: impl Into<String>) -> SpecError {
        SpecError::line(&self.file, self.line, "", why)
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
        skipped
    }

    fn blanks(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.skip(blank);
            if !self.rest.starts_with('#') {
                return;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.skip(end);
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.blanks();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.skip(wanted.len_utf8());
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), SpecError> {
        if self.take(wanted) {
            return Ok(());
        }
        let found = self.peek().map_or("the end of the file".to_string(), |c| format!("`{c}`"));
        Err(self.error(format!("`{wanted}` expected, {found} found")))
    }

    fn word(&mut self) -> Result<&'a str, SpecError> {
        self.blanks();
        if let Some(quoted) = self.rest.strip_prefix('"') {
            let end = quoted.find('"').ok_or_else(|| self.error("a string without an end"))?;
            return Ok(self.skip(end + 2).trim_matches('"'));
        }
        let ends = |c: char| c.is_whitespace() || "{}[],=#\"".contains(c);
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        if end == 0 {
            let found = self.peek().map_or("the end of the file".to_string(), |c| format!("`{c}`"));
            return Err(self.error(format!("a word expected, {found} found")));
        }
        Ok(self.skip(end))
    }

    fn file_blocks(&mut self) -> Result<Vec<Block>, SpecError> {
        let mut blocks = Vec::new();
        while self.peek().is_some() {
            match self.word()? {
                "source" => {
                    let name = self.word()?;
                    let path = self.file.parent().unwrap_or(Path::new("")).join(name);
                    blocks.extend(read_nested(&path, self.deep + 1)?);
                }
                "instantiate" => {
                    self.list()?;
                    self.word()?;
                    self.word()?;
                }
                "topology" => self.topology()?,
                kind => {
                    let name = if self.peek() == Some('{') { "" } else { self.word()? };
                    blocks.push(self.block(kind, name)?);
                }
            }
            self.take(',');
        }
        Ok(blocks)
    }

    /// `kind name [ kind name [ … ] ]`, of no interest here.
    fn topology(&mut self) -> Result<(), SpecError> {
        let mut open = 0usize;
        loop {
            match self.peek() {
                Some('[') => {
                    self.take('[');
                    open += 1;
                }
                Some(']') => {
                    self.take(']');
                    open = open.saturating_sub(1);
                    if open == 0 {
                        return Ok(());
                    }
                }
                Some(',') => {
                    self.take(',');
                }
                _ => {
                    self.word()?;
                }
            }
        }
    }

    fn block(&mut self, kind: &str, name: &str) -> Result<Block, SpecError> {
        self.enter()?;
        let line = self.line;
        self.expect('{')?;
        let mut entries: Vec<(String, usize, Value)> = Vec::new();
        while !self.take('}') {
            self.blanks();
            let line = self.line;
            let end = self.rest.find(['=', '{', '}', '[', ']', ',', '\n']);
            let Some(end) = end.filter(|&end| self.rest[end..].starts_with('=')) else {
                return Err(self.error("`key = value` expected"));
            };
            let key = self.skip(end).split_whitespace().collect::<Vec<_>>().join(" ");
            self.expect('=')?;
            if entries.iter().any(|(old, _, _)| old.eq_ignore_ascii_case(&key)) {
                return Err(SpecError::line(&self.file, line, &key, "is there twice"));
            }
            let value = self.value()?;
            entries.push((key, line, value));
            self.take(',');
        }
        self.depth -= 1;
        let (kind, name) = (kind.to_string(), name.to_string());
        Ok(Block { kind, name, file: self.file.clone(), line, entries })
    }

    fn value(&mut self) -> Result<Value, SpecError> {
        if self.peek() == Some('[') {
            return self.list().map(Value::List);
        }
        let word = self.word()?;
        if word == "source" {
            let name = self.word()?;
            let path = self.file.parent().unwrap_or(Path::new("")).join(name);
            let block = read_nested(&path, self.deep + 1)?.into_iter().next();
            return block.map(Value::Block).ok_or_else(|| SpecError::file(&path, "holds no block"));
        }
        match self.peek() {
            Some('{') => self.block(word, "").map(Value::Block),
            _ => Ok(Value::Word(word.to_string())),
        }
    }

    fn list(&mut self) -> Result<Vec<Value>, SpecError> {
        self.enter()?;
        self.expect('[')?;
        let mut out = Vec::new();
        while !self.take(']') {
            out.push(self.value()?);
            self.take(',');
        }
        self.depth -= 1;
        Ok(out)
    }

    fn enter(&mut self) -> Result<(), SpecError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("blocks within blocks without an end"));
        }
        Ok(())
    }
}

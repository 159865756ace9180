//! Owns writing a ZIP in the one canonical form, through the `zip` crate.
//!
//! Refuses nothing of its own: names come checked and sorted, and [`super::canonical`] holds what was written against
//! the form. Invariant: the same names, modes and contents give the same bytes on any machine.

use std::io::{self, Read, Seek, Write};
use std::mem::ManuallyDrop;

use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime, System};

use super::canonical::{LEVEL, ZIP64_FROM};
use crate::name::EntryName;

/// Writes entries one after the other.
pub struct Writer<W: Write + Seek> {
    /// Not dropped where writing failed: the crate would try to end the archive, and complain on standard error.
    inner: ManuallyDrop<ZipWriter<W>>,
    count: u64,
}

impl<W: Write + Seek> Writer<W> {
    /// Starts an archive.
    pub fn new(stream: W) -> Self {
        Self { inner: ManuallyDrop::new(ZipWriter::new(stream)), count: 0 }
    }

    /// Adds a file of `size` bytes with mode 0644 or 0755. Files come sorted by the bytes of their names.
    ///
    /// # Errors
    /// The system's; a content of another size.
    pub fn file(&mut self, name: &EntryName, mode: u32, size: u64, content: &mut dyn Read) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(LEVEL))
            .last_modified_time(DateTime::DEFAULT)
            .system(System::Unix)
            .unix_permissions(mode)
            .large_file(size >= ZIP64_FROM);
        self.inner.start_file(name.as_str(), options).map_err(io::Error::other)?;
        self.count += 1;
        let written = io::copy(&mut content.take(size.saturating_add(1)), &mut *self.inner)?;
        if written == size {
            return Ok(());
        }
        Err(io::Error::other(format!("\"{name}\" has another size than the {size} bytes it had before")))
    }

    /// Ends the archive and gives the stream back.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(mut self) -> io::Result<W> {
        if self.count == 0xFFFF {
            // The crate writes ZIP64 end records from 65,536 entries on, but a count of 65,535 says "see ZIP64" too.
            self.inner.set_raw_zip64_extensible_data_sector([].into());
        }
        ManuallyDrop::into_inner(self.inner).finish().map_err(io::Error::other)
    }
}

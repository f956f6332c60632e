//! What is wrong with a manifest or a recipients section.

use thiserror::Error;

/// What is wrong with a manifest or a recipients section.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentDefect {
    /// Too long to be one.
    #[error("it has {found} bytes, over the limit of {limit}")]
    TooLong {
        /// Its length.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// Another title or version.
    #[error("its first line is {found:?}, not {expected:?}; a newer program may read it")]
    Title {
        /// The line, cut to 80 characters.
        found: String,
        /// What is expected.
        expected: &'static str,
    },
    /// A line is missing or unfinished.
    #[error("it ends before the end of its {what} line")]
    Truncated {
        /// The line.
        what: &'static str,
    },
    /// A line that is not of its form.
    #[error("its {what} line is not of the prescribed form; it was altered or damaged")]
    Line {
        /// The line.
        what: &'static str,
    },
    /// The signature is not that of the publisher named.
    #[error("its signature is not that of the publisher {publisher}; it was altered or damaged")]
    Signature {
        /// The publisher's public key.
        publisher: String,
    },
    /// The JSON is not as specified.
    #[error("its JSON is not as specified: {message}")]
    Json {
        /// The parser's message.
        message: String,
    },
    /// A model name out of range.
    #[error(
        "the model's name has {length} bytes or control characters; 1 to {limit} bytes without control characters are allowed"
    )]
    ModelName {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// No files or too many.
    #[error("it lists {count} files; from 1 to {limit} are allowed")]
    FileCount {
        /// The count.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// Files out of order or twice.
    #[error("the file '{path}' is listed twice or out of order")]
    Order {
        /// Its path.
        path: String,
    },
    /// No recipients or too many.
    #[error("it has {count} recipients; from 1 to {limit} are allowed")]
    RecipientCount {
        /// The count.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

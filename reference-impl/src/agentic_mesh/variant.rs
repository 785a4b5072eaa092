//! The other reading of each erratum: what the variant `other` does where the own one keeps to the ruling. Each choice is
//! marked in the source by `// Other, Enn:`.
//!
//! Both are correct. A check that passes one and fails the other in the lenient profile tests a taste.
//!
//! | ruling | the own variant | the other one |
//! |---|---|---|
//! | E01 | blocks are in `Header.headers`, and something else there is malformed | in `Header.headerBlocks`; a value that is not an array has no blocks |
//! | E02 | a fault is a message, its code at `/Envelope/Body/fault/code/value` | a bare object, its code at `/fault/code` |
//! | E03 | a relay answers after the next hop did | at once, 202 |
//! | E06 | a version that is not a string is malformed | it is not looked at |
//! | E08 | a missing component is `amp:Sender` | `amp:VersionMismatch`, as is a text that is not JSON |
//! | E11 | MemoryGram content draws `amp:InvalidMemoryGram` | `amp:Sender` |
//! | E12 | MemoryGram content is checked in step 7 | with the structure |
//! | E13 | MemoryGram members may be absent, ids and ends of edges not | the other way round |
//! | E19 | ttl 1 expires at the receiver too | it is delivered |
//! | E20 | a ttl below 1 has expired | it is malformed |
//! | E21 | 5.0 is an integer, of 128 bits | it is not; up to 32 bits |
//! | E23 | the hop is appended to traceId | a new traceId; the old ones are in `Header.traceHistory` |
//! | E26 | body fields are checked in step 8, the version first | with the structure; after the header fields |
//! | E27 | known blocks are processed, mandatory or not | only mandatory ones |
//! | E30 | a block without role is for the ultimate receiver | for no node |
//! | E34 | kept blocks stay as they are | flags that are false go |
//! | E35 | nothing is added to a copy | members of Header, blocks and metadata are; blocks, nodes and edges are reversed |
//! | E36 | nothing is added to the body | a member is |
//! | E37 | numbers keep their spelling | they are doubles; 1e400 is refused |
//! | E40 | a sealed MemoryGram is passed on | what is not a graph is refused |
//! | E42 | any routingIntent | an unknown word is refused |
//! | E51 | repeats are processed again | a server drops them, with 202 |
//! | E53, E79 | unknown members are accepted | refused in Envelope and beside it, and by a receiver in Body |
//! | E62 | a relay does not look at body fields | it checks them |
//! | E63 | a failing block draws `amp:Receiver` | a code of its own |
//! | E68 | a byte order mark is malformed | it is skipped |
//! | E70 | an echo gets a reply | 202 |
//! | E76 | an encrypted message is accepted | the receiver refuses it for want of a key |
//! | E83 | bytes that are not UTF-8 draw a fault | a bare 400 |
//! | E84 | a MemoryGram of another type is `amp:Sender` | `amp:InvalidMemoryGram` |

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The rulings that the rows of the table name, and those that the source behind `Other, ` does.
    #[test]
    fn the_table_and_the_source_name_the_same_rulings() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agentic_mesh");
        let table = include_str!("variant.rs").lines().filter_map(|line| line.strip_prefix("//! | E"));
        let rows: BTreeSet<String> = table.flat_map(|row| rulings(&row[..row.find('|').unwrap_or(0)])).collect();
        let planted: BTreeSet<String> = comments(&folder).iter().flat_map(|comment| rulings(comment)).collect();
        assert_eq!(rows, planted);
    }

    fn rulings(text: &str) -> Vec<String> {
        let words = text.split([' ', ',', ':', '.']).map(|word| word.trim_start_matches('E'));
        words.filter(|word| word.len() == 2 && word.bytes().all(|b| b.is_ascii_digit())).map(str::to_owned).collect()
    }

    fn comments(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                found.extend(comments(&path));
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            let lines = text.lines().filter_map(|line| line.split_once("// Other, "));
            found.extend(lines.map(|(_, comment)| comment.split([':', '.']).next().unwrap_or_default().to_owned()));
        }
        found
    }
}

//! The other reading of each erratum: what [`Variant::Other`](crate::Variant::Other) does where
//! [`Variant::Own`](crate::Variant::Own) keeps to the ruling.
//!
//! Both are correct. A check that passes one and fails the other tests a taste, not the specification; so the other
//! variant must pass every check. Each choice is marked in the source by `// Other, Enn:`.
//!
//! | ruling | the own variant | the other one |
//! |---|---|---|
//! | E04 | an ACK of an unknown relay is 1001, and so is one of a stranger | it is accepted; 3001 |
//! | E09 | any well-formed encoding is taken | indefinite lengths and wide numbers are 1001 |
//! | E15 | unknown members in enc are 1001 | they are ignored |
//! | E16 | a repeated key is 1001 | the last one counts |
//! | E19 | id and ts too far apart are 1001 | 1003 |
//! | E20 | a sig of another length is 1001, a nonce too; reply_to has 16 bytes, thread_id any number | 1002, 3001; any; at least one |
//! | E21 | the replay cache knows a sender without fragment | as written |
//! | E23 | a fragment names any method that can sign; revoked methods do not count; only the smallest keyAgreement id of the sender | it must be listed; they do; any |
//! | E24 | an unresolvable from is 3001, a fragment without a method too | 2001; 1002 |
//! | E25 | a message for another party is 3001 | 2001 |
//! | E27 | ttl 0 is over after a millisecond | after the clock skew |
//! | E28 | ts + ttl saturates | beyond 64 bits it is 1003 |
//! | E29 | an expired message is 1003 | 2004 |
//! | E31 | the type is looked at last | before time and signature |
//! | E33 | category in lower case, retry, the name as message | capitalised, no retry, empty |
//! | E34 | a bad body is 1001 or 4004, also for unknown members | 4001; they are ignored |
//! | E37 | typ above 0xff is 1005 | 1001 |
//! | E40 | a REQUEST is answered by RESPONSE or PROC_FAIL | PROC_OK comes before a RESPONSE |
//! | E41 | a PING gets a PONG | and an ACK |
//! | E43 | HELLO_ACK and HELLO_REJECT have reply_to | they do not |
//! | E45 | ack_target stands in the ACK of one of several recipients | in every ACK |
//! | E48 | the waits begin with one second | with two |
//! | E51 | the highest common version is selected | the first |
//! | E52 | HELLO with another v is 1004, one that offers nothing 1001 | 1001; HELLO_REJECT |
//! | E55 | an item that cannot be decoded is reported; the container is not acknowledged | it is ignored; it is acknowledged |
//! | E56 | a failed stream is an ERROR | an ACK with verified false |
//! | E58 | contradicting numbers of a stream are refused | the end shows |
//! | E59 | sha256 is spelled so | in any case of letters |
//! | E61 | size and hash of a document are checked | they are not |
//! | E63 | keys of small order never verify | they do |
//! | E64 | keys of low order are rejected | they do |
//! | E70 | several replies over HTTP are one BATCH | one behind the other |
//! | E72 | a message before HELLO is 1004 and the connection goes on; a framing violation gets an ERROR frame | it ends; without an ERROR frame |
//! | E78 | requests of another media type than application/cbor are 415 | the bytes decide |
//! | E88 | unknown members of the envelope are ignored | 1001 |

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The rulings that the rows of the table name, and those that the source behind `Other, ` does.
    #[test]
    fn the_table_and_the_source_name_the_same_rulings() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/amp_core");
        let table = include_str!("variant.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
        let rows: BTreeSet<String> = table.filter_map(|row| row.split(' ').next()).filter_map(ruling).collect();
        assert_eq!(rows, planted(&folder));
    }

    fn ruling(text: &str) -> Option<String> {
        let name = text.split([':', ' ', '.', ',', '\n']).next()?;
        let digits = name.strip_prefix('E')?;
        (digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| name.to_owned())
    }

    fn planted(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                found.extend(planted(&path));
            } else {
                let text = std::fs::read_to_string(&path).expect("readable");
                found.extend(text.split("Other, ").skip(1).filter_map(ruling));
            }
        }
        found
    }
}

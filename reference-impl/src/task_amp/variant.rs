//! The other reading of each erratum: what the variant `other` does where the own one keeps to the strict ruling.
//!
//! Both are correct. Each choice is marked in the source by `// Other, Enn:`.
//!
//! | ruling | the own variant | the other one |
//! |---|---|---|
//! | E04 | task records with the names of the binding | `id`, `qa_retry_count`, `done` |
//! | E07 | 300.0 is an integer, texts are not blank, numbers of lines are integers | a float is not, blank texts are taken, any number of lines |
//! | E08, E09 | ids have 13 digits, also in references | tails of any digits, references of any form |
//! | E11 | three digits | three or more |
//! | E12 | AMP/1.0 only | later minor versions, too |
//! | E13 | times end in +00:00 | in Z; times of a work log are any text |
//! | E14 | the admin sends none of the five | it may dispatch, request and report |
//! | E16 | the four types need requires_ack true | false means that no ACK is needed |
//! | E17 | a timeout is more than zero | zero and less have no effect |
//! | E18, E85 | ACK records with the names of the binding | `ack_of`, `by`, `acked_at` |
//! | E19 | the coordinator leaves ack_timeout_sec out | it writes the default out |
//! | E21 | the coordinator reports a missing ACK | the system does |
//! | E23 | a refusal lists codes and paths | `{"detail"}` |
//! | E24 | entries of context_ref have the form of ids | they are not looked at |
//! | E26 | the bus refuses a dispatch on main | the executor does |
//! | E29 | at least one subtask, ids used once | as they come |
//! | E32, E33, E69, E71 | results must fit their dispatch, tasks must be known | a schema cannot know |
//! | E35 | times of a work log are ISO 8601 | any text |
//! | E36, E73 | blockers name a reason, and are absent when the work is complete | an empty list |
//! | E40 | after a failed build a dispatch repairs it | the admin is told |
//! | E41 | every review is full | incremental after a verdict |
//! | E42 | diff_url is a URL or a path | any text |
//! | E44 | the lock triggers at the fourth reject | at the third |
//! | E46 | partial: dispatched again; failed: reported | the reverse |
//! | E50 | an approval with a blocking issue is refused | taken |
//! | E52, E53, E83 | direct fixes have lines, and are checked with every decision | zero lines, no fixes, not looked at otherwise |
//! | E56 | reports after which all goes on are info | warning, without suspension |
//! | E60 | a suspended task takes no messages (423) | takes them, and keeps them |
//! | E65 | an escalation never times out | it does with a timeout of its own |
//! | E72 | null for an optional member is refused | as absent |
//! | E77 | an identical message is 200 | 409 |
//! | E80 | after a lock the pending rejection is forwarded | it is not |
//! | E82 | low confidence is reported with every decision | with a rejection only |
//! | E84 | calls without effect are 200 | 409; approval of a suspended task 409; CI of an unknown task 404 |

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The rulings that the rows of the table name, and those that the source behind `Other, ` does.
    #[test]
    fn the_table_and_the_source_name_the_same_rulings() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/task_amp");
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

//! Spellings of header fields (RFC 9110 sections 5.1, 5.3 and 8.3.1, RFC 9112 section 5).

use std::collections::BTreeSet;

use super::{Draw, Kind, Spelling};

/// Spellings of the media type of JSON. The parameter says nothing new: JSON is in UTF-8.
const JSON: &[&str] = &[
    "application/json; charset=\"utf-8\"",
    "application/json;charset=UTF-8",
    "Application/JSON",
    "application/json ; charset=utf-8",
];

/// The same header fields in another spelling: names, order and media type.
pub fn respell(mut fields: Vec<(String, String)>, spelling: &Spelling) -> Vec<(String, String)> {
    if let Some(mut draw) = spelling.draw(Kind::ContentType) {
        for (name, value) in &mut fields {
            if name.eq_ignore_ascii_case("content-type") && value == "application/json" {
                draw.pick(JSON).copied().unwrap_or(JSON[0]).clone_into(value);
            }
        }
    }
    if let Some(mut draw) = spelling.draw(Kind::HeaderOrder) {
        let names: BTreeSet<String> = fields.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        // The order of fields with the same name counts.
        if names.len() == fields.len() {
            let order = draw.order(fields.len());
            fields = order.into_iter().map(|index| fields[index].clone()).collect();
        }
    }
    if let Some(mut draw) = spelling.draw(Kind::HeaderCase) {
        for (name, _) in &mut fields {
            *name = in_other_letters(name, &mut draw);
        }
    }
    fields
}

fn in_other_letters(name: &str, draw: &mut Draw) -> String {
    let way = draw.below(4);
    let mut starts = true;
    let other = |(index, c): (usize, char)| {
        let first = std::mem::replace(&mut starts, c == '-');
        let capital = match way {
            0 => false,
            1 => true,
            2 => first,
            _ => index % 2 == 1,
        };
        if capital { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
    };
    name.chars().enumerate().map(other).collect()
}

/// Header fields as lines, with or without other white space before a value.
pub fn lines(fields: &[(String, String)], spelling: &Spelling) -> String {
    let mut draw = spelling.draw(Kind::HeaderSpace);
    let mut text = String::new();
    for (name, value) in fields {
        let space = draw.as_mut().and_then(|draw| draw.pick(&["", " ", "  ", "\t"]).copied()).unwrap_or(" ");
        text.push_str(&format!("{name}:{space}{value}\r\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Spellings;
    use super::*;

    #[test]
    fn fields_stay_the_same_but_for_their_spelling() {
        let fields: Vec<(String, String)> = [("host", "h"), ("content-type", "application/json"), ("x-a", "1")]
            .map(|(n, v)| (n.into(), v.into()))
            .into();
        let mut seen = BTreeSet::new();
        for seed in 0..60 {
            let kinds = [Kind::HeaderCase, Kind::HeaderOrder, Kind::HeaderSpace, Kind::ContentType];
            let spelling = Spellings::any_of(&[], seed).always(kinds).of("key");
            let found = respell(fields.clone(), &spelling);
            let mut names: Vec<String> = found.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
            names.sort();
            assert_eq!(names, ["content-type", "host", "x-a"]);
            let kind = found.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type")).unwrap();
            assert!(kind.1.to_ascii_lowercase().starts_with("application/json"));
            seen.insert(lines(&found, &spelling));
        }
        assert!(seen.len() > 50);
        assert!(seen.iter().any(|text| text.contains("X-A:1")), "{seen:?}");
        assert!(seen.iter().any(|text| text.contains("hOsT:\th")), "{seen:?}");
    }

    #[test]
    fn fields_with_the_same_name_keep_their_order() {
        let fields: Vec<(String, String)> =
            ["1", "2", "3"].map(|value| ("x-a".to_owned(), value.to_owned())).into_iter().collect();
        let spelling = Spellings::any_of(&[], 3).always([Kind::HeaderOrder]).of("key");
        assert_eq!(respell(fields.clone(), &spelling), fields);
    }
}

//! What is left out, by reason, and which levels that concerns.

use std::collections::BTreeMap;

use crate::record::Levels;
use crate::study::{Study, level};

/// Combinations that are left out for one reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Omitted<'l> {
    /// The reason.
    pub reason: &'l str,
    /// Each once.
    pub combinations: Vec<&'l Levels>,
    /// How many were given: more than combinations when runs of one are left out one by one.
    pub given: usize,
}

/// Brings together what is left out for the same reason, in the order in which reasons come up.
pub fn by_reason<'l>(out: impl Iterator<Item = (&'l str, &'l Levels)>) -> Vec<Omitted<'l>> {
    let mut all: Vec<Omitted<'l>> = Vec::new();
    for (reason, levels) in out {
        match all.iter_mut().find(|one| one.reason == reason) {
            Some(one) => {
                one.given += 1;
                if !one.combinations.contains(&levels) {
                    one.combinations.push(levels);
                }
            }
            None => all.push(Omitted { reason, combinations: vec![levels], given: 1 }),
        }
    }
    all
}

impl Omitted<'_> {
    /// The levels concerned, with the number of combinations where it is not all of them:
    /// `filesystem jfs (2), reiserfs (4); world uml`. Factors all of whose levels (`all`) are
    /// concerned alike are not named; nothing is if that is every factor.
    pub fn levels(&self, all: &BTreeMap<String, Vec<String>>) -> String {
        let named = all.iter().filter_map(|(factor, levels)| {
            let count = |level: &String| {
                self.combinations.iter().filter(|one| one.get(factor) == Some(level)).count()
            };
            let counts: Vec<(&String, usize)> =
                levels.iter().map(|level| (level, count(level))).collect();
            let first = counts.first().map_or(0, |(_, count)| *count);
            if counts.iter().all(|(_, count)| *count == first) {
                return None;
            }
            let text = |(level, count): &(&String, usize)| match *count {
                count if count == self.combinations.len() => (*level).clone(),
                count => format!("{level} ({count})"),
            };
            let concerned = counts.iter().filter(|(_, count)| *count > 0).map(text);
            Some(format!("{factor} {}", concerned.collect::<Vec<_>>().join(", ")))
        });
        named.collect::<Vec<_>>().join("; ")
    }
}

/// Every factor with the levels that occur, in the study's order, then others.
pub fn levels<'l>(
    study: &Study,
    of: impl Iterator<Item = &'l Levels>,
) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (factor, level) in of.flatten() {
        let levels = all.entry(factor.clone()).or_default();
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    for (factor, levels) in &mut all {
        let order: Vec<String> =
            study.factors.get(factor).into_iter().flatten().filter_map(level).collect();
        let place = |level: &String| order.iter().position(|known| known == level);
        levels.sort_by_cached_key(|level| (place(level).is_none(), place(level), level.clone()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::configurations;
    use crate::study::Given;

    fn said(name: &str) -> Vec<(String, usize, String)> {
        let study = Given::find(name).unwrap().study;
        let (kept, out) = configurations(&study, "full", &study.scale["full"]).unwrap();
        let every = kept.iter().map(|one| &one.levels).chain(out.iter().map(|one| &one.levels));
        let all = levels(&study, every);
        let omitted = by_reason(out.iter().map(|one| (one.reason.as_str(), &one.levels)));
        let text =
            |one: &Omitted| (one.reason.to_owned(), one.combinations.len(), one.levels(&all));
        omitted.iter().map(text).collect()
    }

    #[test]
    fn a_line_for_each_reason() {
        let [(_, count, levels)] = &said("ablation")[..] else { panic!("one reason") };
        assert_eq!((*count, levels.as_str()), (24, "disk st34310a; placement nvme"));
        let micro = said("dualfs-micro");
        let levels: Vec<_> = micro.iter().map(|(_, count, text)| (*count, &text[..])).collect();
        let others = "filesystem tandem (2), ext3 (2), ext4 (2), xfs (2), btrfs (2); world uml";
        assert_eq!(levels, [(10, others), (4, "filesystem jfs (2), reiserfs (2); world host")]);
    }

    #[test]
    fn runs_of_one_combination_are_counted_apart() {
        let (one, other) = (
            Levels::from([("filesystem".to_owned(), "jfs".to_owned())]),
            Levels::from([("filesystem".to_owned(), "xfs".to_owned())]),
        );
        let out = [("a", &one), ("b", &other), ("a", &one), ("a", &other)];
        let found = by_reason(out.into_iter());
        let counts: Vec<_> =
            found.iter().map(|one| (one.reason, one.combinations.len(), one.given)).collect();
        assert_eq!(counts, [("a", 2, 3), ("b", 1, 1)]);
        let all =
            BTreeMap::from([("filesystem".to_owned(), vec!["jfs".to_owned(), "xfs".to_owned()])]);
        assert_eq!(
            (found[0].levels(&all), found[1].levels(&all)),
            ("".into(), "filesystem xfs".into())
        );
    }
}

//! Label selectors. One that cannot be read selects nothing.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::core::{Expression, Selector, SelectorExt};

type Labels = BTreeMap<String, String>;

/// Whether a selector that must name something does, and these labels are it.
pub(super) fn names_some(selector: &LabelSelector, labels: &Labels) -> bool {
    !is_empty(selector) && matches(selector, labels)
}

/// Whether a selector selects these labels; an empty one selects everything.
pub(super) fn matches(selector: &LabelSelector, labels: &Labels) -> bool {
    let mut equal = selector.match_labels.iter().flatten();
    let mut rules = selector.match_expressions.iter().flatten();
    equal.all(|(key, value)| labels.get(key) == Some(value))
        && rules.all(|rule| holds(rule, labels))
}

/// What is wrong with a selector that must name something.
pub(super) fn mistake_or_empty(selector: &LabelSelector) -> Option<String> {
    match is_empty(selector) {
        true => Some("an empty selector would be every pod; name a label".to_owned()),
        false => mistake(selector),
    }
}

/// What is wrong with a selector; the schema lets it through.
pub(super) fn mistake(selector: &LabelSelector) -> Option<String> {
    let mut rules = selector.match_expressions.iter().flatten();
    rules.find_map(rule_mistake)
}

/// As it is written on a command line.
pub(super) fn text(selector: &LabelSelector) -> String {
    let readable = Selector::try_from(selector.clone());
    let readable = readable.ok().filter(|selector| !selector.selects_all());
    readable.map_or_else(
        || "its selector".to_owned(),
        |selector| selector.to_string(),
    )
}

fn is_empty(selector: &LabelSelector) -> bool {
    let labels = selector.match_labels.iter().flatten().next();
    labels.is_none() && selector.match_expressions.iter().flatten().next().is_none()
}

fn holds(rule: &LabelSelectorRequirement, labels: &Labels) -> bool {
    let readable = rule_mistake(rule).is_none();
    readable && Expression::try_from(rule.clone()).is_ok_and(|rule| rule.matches(labels))
}

/// The API server would refuse to use such a rule; kube reads an empty list as one.
fn rule_mistake(rule: &LabelSelectorRequirement) -> Option<String> {
    let key = &rule.key;
    let values = rule
        .values
        .as_ref()
        .is_some_and(|values| !values.is_empty());
    match (rule.operator.as_str(), values) {
        ("In" | "NotIn", true) | ("Exists" | "DoesNotExist", false) => None,
        (operator @ ("In" | "NotIn"), false) => Some(format!(
            "matchExpressions for {key}: {operator} needs values"
        )),
        (operator @ ("Exists" | "DoesNotExist"), true) => Some(format!(
            "matchExpressions for {key}: {operator} takes no values"
        )),
        (operator, _) => Some(format!(
            "matchExpressions for {key}: operator {operator:?} is none of In, NotIn, Exists and DoesNotExist"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(yaml: &str, want: &[bool]) {
        let selector: LabelSelector = serde_saphyr::from_str(yaml).unwrap();
        let labels = [
            "{}",
            "{app: web}",
            "{app: api, tier: edge}",
            "{app: web, tier: edge}",
        ];
        let got = labels.map(|labels| {
            let labels = serde_saphyr::from_str(labels).unwrap();
            matches(&selector, &labels)
        });
        assert_eq!(got.as_slice(), want, "{yaml}");
    }

    #[test]
    fn a_selector_selects_as_kubernetes_does() {
        check("{}", &[true, true, true, true]);
        check("matchLabels: {app: web}", &[false, true, false, true]);
        check(
            "matchExpressions: [{key: app, operator: In, values: [web, x]}]",
            &[false, true, false, true],
        );
        // A label that is not there is in no list.
        check(
            "matchExpressions: [{key: app, operator: NotIn, values: [web]}]",
            &[true, false, true, false],
        );
        check(
            "matchExpressions: [{key: tier, operator: Exists}]",
            &[false, false, true, true],
        );
        check(
            "matchExpressions: [{key: tier, operator: DoesNotExist, values: []}]",
            &[true, true, false, false],
        );
        check(
            "{matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}",
            &[false, false, false, true],
        );
    }

    #[test]
    fn what_cannot_be_read_selects_nothing_and_is_told() {
        for (rule, want) in [
            (
                "{key: app, operator: in, values: [web]}",
                "matchExpressions for app: operator \"in\" is none of In, NotIn, Exists and DoesNotExist",
            ),
            (
                "{key: app, operator: NotIn, values: []}",
                "matchExpressions for app: NotIn needs values",
            ),
            (
                "{key: app, operator: Exists, values: [web]}",
                "matchExpressions for app: Exists takes no values",
            ),
        ] {
            let yaml = format!("matchExpressions: [{rule}]");
            check(&yaml, &[false; 4]);
            let selector = serde_saphyr::from_str(&yaml).unwrap();
            assert_eq!(mistake(&selector).as_deref(), Some(want));
        }
    }

    #[test]
    fn an_empty_selector_names_nobody() {
        for yaml in ["{}", "{matchLabels: {}, matchExpressions: []}"] {
            let selector = serde_saphyr::from_str(yaml).unwrap();
            assert!(!names_some(&selector, &Labels::new()));
        }
    }
}

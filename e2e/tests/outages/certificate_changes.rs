//! Promise: the webhook's certificates are changed under load, by age or on request, and no admission
//! fails. What others do to the configuration is put right.

use std::time::Duration;

use anyhow::ensure;
use proxyunwrap_e2e::cluster::{Operator, in_namespace, timed};

use super::{admissions, with_release};

/// A new authority is trusted for a minute before it signs.
const LIMIT: Duration = Duration::from_secs(100);

#[tokio::test]
async fn a_rotation_under_load_fails_no_admission() -> anyhow::Result<()> {
    let values = ["replicaCount=2", "webhook.failurePolicy=Fail"];
    with_release(&values, async |operator| {
        in_namespace(async |space| {
            let found = admissions::during(space, async {
                let first = operator.trust().await?;
                operator.rotate("leaf").await?;
                timed("there is a new certificate", LIMIT, async || {
                    let now = operator.trust().await?;
                    ensure!(now.certificate != first.certificate, "still the old one");
                    ensure!(
                        now.authorities == first.authorities,
                        "the CA is another one"
                    );
                    Ok(())
                })
                .await?;
                let second = operator.trust().await?;
                operator.rotate("ca").await?;
                timed("a certificate of the new CA is served", LIMIT, async || {
                    let now = operator.trust().await?;
                    ensure!(now.authorities != second.authorities, "no new CA");
                    ensure!(now.certificate != second.certificate, "still the old CA's");
                    Ok(())
                })
                .await
            });
            found.await?.are_whole()
        })
        .await
    })
    .await
}

#[tokio::test]
async fn authorities_that_were_taken_away_come_back() -> anyhow::Result<()> {
    with_release(&[], async |operator| {
        operator.trust().await?;
        operator.forget_authorities().await?;
        timed("they are back", Duration::from_secs(5), async || {
            operator.trust().await.map(drop)
        })
        .await
    })
    .await
}

#[tokio::test]
async fn an_upgrade_of_the_chart_keeps_the_certificate() -> anyhow::Result<()> {
    with_release(&[], async |operator| {
        let before = operator.trust().await?;
        in_namespace(async |space| {
            let upgraded = upgrade(operator);
            admissions::during(space, upgraded).await?.are_whole()
        })
        .await?;
        ensure!(operator.trust().await? == before, "it is another one");
        Ok(())
    })
    .await
}

/// Operators are replaced: their pods get another label.
async fn upgrade(operator: &Operator) -> anyhow::Result<()> {
    operator.upgrade(&["podLabels.round=two"]).await?;
    operator.has(1).await
}

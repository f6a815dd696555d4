//! The text printed on stdout at startup. The first line is fixed, so that a program can wait for
//! it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sluice_flow::payload::Generation;

use crate::args::SERVER_DEFAULT;
use crate::demo::{Demo, FirstStart};

/// The addresses of the listeners, with the path of the public URL where everything is below it.
pub(crate) struct Addresses {
    pub(crate) service: String,
    /// Of the console and the admin API.
    pub(crate) admin: String,
    pub(crate) metrics: String,
}

/// The whole banner.
pub(crate) fn banner(addresses: &Addresses, stored_in: &str, made: &FirstStart) -> String {
    let Addresses { service: base, admin, metrics } = addresses;
    let mut text = format!("Sluice listening on {base}\n");
    text.push_str(&format!("  console      {admin}/console\n"));
    text.push_str(&format!("  stored in    {stored_in}\n"));
    text.push_str(&format!("  admin API    {admin}/api/admin/v1 (documentation: {admin}/docs)\n"));
    text.push_str(&format!("  health       {base}/readyz, metrics at {metrics}/metrics\n"));
    if let Some(token) = &made.token {
        text.push_str(&format!(
            "\nAdmin token, shown this once (keep it: it signs you in to the console; export it as SLUICE_TOKEN for the commands):\n\
             \x20 {}\n",
            token.0
        ));
    }
    match &made.demo {
        Some(demo) => text.push_str(&calls(base, admin, demo)),
        None => text.push_str(
            "\nFind apps, keys and flows with `sluice app list` and `sluice flow list` \
             (they need SLUICE_TOKEN).\n",
        ),
    }
    text
}

/// The three calls of a client, ready to paste.
fn calls(base: &str, admin: &str, demo: &Demo) -> String {
    let Demo { api_key, flow_id, flow_version_id } = demo;
    let api = format!("{base}/api/v1/{api_key}");
    let generation = Generation::LATEST.as_str();
    let is_default = admin == SERVER_DEFAULT;
    let server = if is_default { String::new() } else { format!(" --server {admin}") };
    format!(
        "\nA demo app with one published survey is ready. Answer it in a browser:\n\
         \x20 {base}/f/{flow_id}\n\
         \n\
         Or paste these three calls:\n\
         \n\
         # 1. Resolve the latest published version\n\
         curl -sS {api}/flows/{flow_id}\n\
         \n\
         # 2. Fetch its snapshot\n\
         curl -sS '{api}/flow_versions/{flow_version_id}?payload={generation}'\n\
         \n\
         # 3. Submit answers (again with the same key: the same responseId, stored once)\n\
         curl -sS {api}/trpc/response.submit \\\n\
         \x20 -H 'content-type: application/json' \\\n\
         \x20 -d '{{\"flowVersionId\":\"{flow_version_id}\",\"flowVersionPayloadGeneration\":\"{generation}\",\
         \"respondentAnalyticsAdmission\":\"collection_only\",\
         \"answers\":{{\"nps\":\"9\",\"use\":[\"api\"],\"docs\":\"5\"}},\
         \"idempotencyKey\":\"my-first-response\"}}'\n\
         \n\
         Watch responses arrive:  sluice responses tail {flow_id} --since all{server}\n"
    )
}

/// An address that clients can call: a wildcard address becomes loopback.
pub(crate) fn base_url(address: SocketAddr, is_tls: bool) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_an_address_that_can_be_called() {
        for (address, url) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
            ("192.0.2.1:9", "http://192.0.2.1:9"),
        ] {
            let service = base_url(address.parse().unwrap(), false);
            let (admin, metrics) = (service.clone(), service.clone());
            let addresses = Addresses { service, admin, metrics };
            let text = banner(&addresses, "x", &FirstStart::default());
            assert_eq!(text.lines().next(), Some(format!("Sluice listening on {url}").as_str()));
        }
    }
}

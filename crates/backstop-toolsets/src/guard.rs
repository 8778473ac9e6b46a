//! Which addresses requests may go to.
//!
//! A service on the open internet is no reason to reach into the network behind it: an address that a document, a
//! redirect or a name server gives may lead to a database, a neighbour or the metadata service of a cloud. A guard
//! lets through public addresses and what was named; it looks at the address that is dialled, not at the name, so
//! a name that changes its address in between gains nothing.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Which addresses requests may go to: public ones, and what is named.
///
/// # Example
///
/// ```
/// use backstop_toolsets::guard::Guard;
///
/// let guard = Guard::new(["intranet.example", "10.1.0.0/16"])?;
/// assert!(guard.allows(&"https://intranet.example/v1".parse()?));
/// assert!(guard.allows(&"http://10.1.2.3/".parse()?));
/// assert!(!guard.allows(&"http://10.2.0.1/".parse()?));
/// assert!(!guard.allows(&"http://169.254.169.254/latest/meta-data".parse()?));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    hosts: Vec<String>,
    networks: Vec<IpNet>,
}

/// Something that names neither a host nor a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither the name of a host nor a network such as `10.0.0.0/8`")]
pub struct NotAPlace(pub String);

/// A request that a guard does not let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The host.
    pub host: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a public address, and is not among those that are allowed", self.host)
    }
}

impl std::error::Error for Refused {}

impl Guard {
    /// Lets through public addresses, and these hosts, addresses and networks.
    ///
    /// # Errors
    ///
    /// [`NotAPlace`] for what is none of them.
    pub fn new<S: AsRef<str>>(allowed: impl IntoIterator<Item = S>) -> Result<Self, NotAPlace> {
        let mut guard = Self::default();
        for place in allowed {
            let place = place.as_ref().trim();
            if let Ok(network) = place.parse::<IpNet>() {
                guard.networks.push(network);
            } else if let Ok(address) = place.trim_matches(['[', ']']).parse::<IpAddr>() {
                guard.networks.push(address.into());
            } else {
                let host = Host::parse(place).map_err(|_| NotAPlace(place.to_owned()))?;
                guard.hosts.push(host.to_string());
            }
        }
        Ok(guard)
    }

    /// Lets this host through, too.
    #[must_use]
    pub fn host(mut self, url: &Url) -> Self {
        match url.host() {
            Some(Host::Domain(host)) => self.hosts.push(host.to_owned()),
            Some(Host::Ipv4(address)) => self.networks.push(IpAddr::from(address).into()),
            Some(Host::Ipv6(address)) => self.networks.push(IpAddr::from(address).into()),
            None => {}
        }
        self
    }

    /// Whether a request may go there, as far as its address says it: the addresses of a name are looked at when
    /// they are dialled.
    pub fn allows(&self, url: &Url) -> bool {
        if !matches!(url.scheme(), "http" | "https") {
            return false;
        }
        match url.host() {
            Some(Host::Domain(host)) => self.names(host) || !is_local_name(host),
            Some(Host::Ipv4(address)) => self.allows_address(address.into()),
            Some(Host::Ipv6(address)) => self.allows_address(address.into()),
            None => false,
        }
    }

    fn names(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        self.hosts.iter().any(|allowed| allowed.trim_end_matches('.').eq_ignore_ascii_case(host))
    }

    fn allows_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address)) || is_public(address)
    }
}

/// Names that mean this machine or its network, whatever they resolve to.
fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || [".localhost", ".local", ".internal"].iter().any(|end| host.ends_with(end))
}

/// Whether an address is one of the open internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

/// The special-purpose blocks of [IANA](https://www.iana.org/assignments/iana-ipv4-special-registry) are not.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || a == 10
        || a == 127
        || (a == 100 && (64..128).contains(&b))
        || (a == 169 && b == 254)
        || (a == 172 && (16..32).contains(&b))
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 192 && b == 88 && c == 99)
        || (a == 192 && b == 168)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113)
        || a >= 224)
}

/// Only global unicast (2000::/3) is, without documentation, ORCHID and benchmarking blocks.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    (0x2000..0x4000).contains(&a)
        && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
        && !(a == 0x3fff && b < 0x1000)
        && a != 0x2002
}

/// The IPv4 address that an IPv6 one stands for: mapped, NAT64, or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match (a, b) {
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => Some(v4(g, h)),
        (0x2002, _) => Some(v4(b, c)),
        _ => None,
    }
}

/// A resolver that gives only addresses that the guard lets through.
#[derive(Debug)]
pub(crate) struct GuardedResolver {
    guard: Guard,
    names: Arc<dyn Names>,
}

/// Where the addresses of names come from.
#[async_trait::async_trait]
pub(crate) trait Names: fmt::Debug + Send + Sync {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<SocketAddr>>;
}

/// The resolver of the system.
#[derive(Debug)]
struct SystemNames;

#[async_trait::async_trait]
impl Names for SystemNames {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.collect())
    }
}

impl GuardedResolver {
    pub(crate) fn new(guard: Guard) -> Self {
        Self { guard, names: Arc::new(SystemNames) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, names) = (self.guard.clone(), Arc::clone(&self.names));
        Box::pin(async move {
            let host = name.as_str();
            let found = names.lookup(host).await?;
            if guard.names(host) {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let allowed: Vec<SocketAddr> =
                found.into_iter().filter(|found| guard.allows_address(found.ip())).collect();
            if allowed.is_empty() || is_local_name(host) {
                return Err(Refused { host: host.to_owned() }.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn allows(guard: &Guard, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| guard.allows(&url))
    }

    #[test]
    fn every_form_of_a_private_address_is_refused() {
        let guard = Guard::default();
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "127.0.0.1",
            "127.1",
            "127.255.255.254",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "0.0.0.0",
            "0",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "0xa9fea9fe",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.1.2.3",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[::ffff:a9fe:a9fe]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::169.254.169.254]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[2002:a9fe:a9fe::1]",
            "[fe80::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fdff::1]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[2001::1]",
            "[2001:10::1]",
            "[2001:20::1]",
            "[3fff::1]",
            "[100::1]",
            "[4000::1]",
            "[fec0::1]",
        ] {
            assert!(!allows(&guard, &format!("http://{host}/")), "{host}");
        }
        for url in [
            "ftp://example.test/",
            "file:///etc/passwd",
            "data:text/plain,x",
            "gopher://1.1.1.1/",
            "not a url",
        ] {
            assert!(!allows(&guard, url), "{url}");
        }
    }

    #[test]
    fn public_addresses_and_named_ones_are_let_through() {
        let guard = Guard::default();
        for host in [
            "example.test",
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.3.1",
            "169.253.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "[2606:4700::1111]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::8.8.8.8]",
            "[2002:808:808::1]",
        ] {
            assert!(allows(&guard, &format!("https://{host}/")), "{host}");
        }
        let named = Guard::new(["Intra.Example", "10.0.0.0/8", "[fd00::1]", "localhost"]).unwrap();
        for host in
            ["intra.example", "intra.example.", "10.9.9.9", "[::ffff:10.1.1.1]", "[fd00::1]", "localhost"]
        {
            assert!(allows(&named, &format!("http://{host}/")), "{host}");
        }
        assert!(!allows(&named, "http://11.0.0.1.nip.localhost/"));
        assert!(!allows(&named, "http://[fd00::2]/"));
        assert_eq!(Guard::new(["10.0.0.0/99"]).unwrap_err(), NotAPlace("10.0.0.0/99".into()));
        assert_eq!(Guard::new(["a b"]).unwrap_err(), NotAPlace("a b".into()));
    }

    /// Names whose addresses change.
    #[derive(Debug)]
    struct Fixed(Vec<&'static str>);

    #[async_trait::async_trait]
    impl Names for Fixed {
        async fn lookup(&self, _: &str) -> std::io::Result<Vec<SocketAddr>> {
            Ok(self.0.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect())
        }
    }

    async fn resolved(guard: Guard, host: &str, found: Vec<&'static str>) -> Result<Vec<String>, String> {
        let resolver = GuardedResolver { guard, names: Arc::new(Fixed(found)) };
        match resolver.resolve(Name::from_str(host).unwrap()).await {
            Ok(found) => Ok(found.map(|found| found.ip().to_string()).collect()),
            Err(refused) => Err(refused.to_string()),
        }
    }

    #[tokio::test]
    async fn the_address_that_is_dialled_is_looked_at() {
        let rebound = resolved(Guard::default(), "rebind.test", vec!["127.0.0.1", "::1"]).await;
        assert_eq!(
            rebound.unwrap_err(),
            "`rebind.test` is not a public address, and is not among those that are allowed"
        );
        let mixed = resolved(Guard::default(), "mixed.test", vec!["10.0.0.1", "1.1.1.1"]).await;
        assert_eq!(mixed.unwrap(), ["1.1.1.1"]);
        let named = resolved(Guard::new(["intra.test"]).unwrap(), "intra.test", vec!["10.0.0.1"]).await;
        assert_eq!(named.unwrap(), ["10.0.0.1"]);
        let network =
            resolved(Guard::new(["10.0.0.0/8"]).unwrap(), "intra.test", vec!["10.0.0.1", "192.168.0.1"])
                .await;
        assert_eq!(network.unwrap(), ["10.0.0.1"]);
    }
}

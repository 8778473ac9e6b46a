//! Services behind TLS: authorities beside those of the machine, and clients that show a certificate.

use std::sync::Arc;

use backstop_core::{Applied, ToolError, ToolErrorKind, ToolOutput, ToolSpec};
use backstop_toolsets::{
    client::{ClientError, ClientOptions, Proxy, http_client_with},
    http::{Endpoint, HttpConfig, HttpToolset, Method},
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::WebPkiClientVerifier,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::support::call;

/// Signs the certificates of a service and of its clients.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn pem(&self) -> Vec<u8> {
        self.certificate.pem().into_bytes()
    }

    fn sign(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// A certificate and its key, one behind the other.
    fn identity(&self, name: &str) -> String {
        let (certificate, key) = self.sign(name);
        certificate.pem() + &key.serialize_pem()
    }

    /// A service for `127.0.0.1`; with `clients` it wants a certificate that this authority has signed.
    async fn serve(&self, clients: bool) -> (String, JoinSet<()>) {
        let (certificate, key) = self.sign("127.0.0.1");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            false => builder.with_no_client_auth(),
            true => {
                let mut roots = RootCertStore::empty();
                roots.add(self.certificate.der().clone()).unwrap();
                let provider = Arc::new(ring::default_provider());
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let mut running = JoinSet::new();
        running.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let _ = stream.read(&mut [0; 4096]).await;
                let shown = stream.get_ref().1.peer_certificates().map_or(0, <[_]>::len);
                let body = json!({ "certificates": shown }).to_string();
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        (url, running)
    }
}

async fn ask(url: &str, options: &ClientOptions) -> Result<ToolOutput, ToolError> {
    let mut config = HttpConfig::new("s", url.parse().unwrap(), http_client_with(options).unwrap());
    let spec = ToolSpec::new("t", json!({"type": "object", "properties": {}}));
    config.endpoints = vec![Endpoint::new(spec, Method::POST, "/x")];
    call(&HttpToolset::new(config).unwrap(), "t", json!({})).await
}

fn options(change: impl FnOnce(&mut ClientOptions)) -> ClientOptions {
    let mut options = ClientOptions::default();
    change(&mut options);
    options
}

#[tokio::test]
async fn an_authority_beside_those_of_the_machine_is_believed_where_it_is_declared() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let (url, _running) = ours.serve(false).await;
    let both = options(|it| it.authorities = vec![other.pem(), ours.pem()]);
    assert_eq!(ask(&url, &both).await, Ok(ToolOutput::Json(json!({"certificates": 0}))));
    for unknown in [ClientOptions::default(), options(|it| it.authorities = vec![other.pem()])] {
        let error = ask(&url, &unknown).await.unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Unavailable, Applied::No));
        assert_eq!(error.detail(), format!("POST {url}/x: no connection"));
        assert!(error.causes().iter().any(|cause| cause.contains("UnknownIssuer")), "{:?}", error.causes());
    }
    // The certificate is of the address, not of the name.
    let named = ask(&url.replace("127.0.0.1", "localhost"), &both).await.unwrap_err();
    assert_eq!((named.kind(), named.applied()), (ToolErrorKind::Unavailable, Applied::No));
}

#[tokio::test]
async fn a_service_may_want_a_certificate_of_its_client() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let (url, _running) = ours.serve(true).await;
    let with = |identity: Option<String>| {
        options(|it| {
            it.authorities = vec![ours.pem()];
            it.identity = identity.map(Into::into);
        })
    };
    let known = with(Some(ours.identity("client-1")));
    assert_eq!(ask(&url, &known).await, Ok(ToolOutput::Json(json!({"certificates": 1}))));
    for (what, identity) in [("none", None), ("foreign", Some(other.identity("client-1")))] {
        let error = ask(&url, &with(identity)).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::Unavailable, "{what}: {error:?}");
    }
}

#[test]
fn what_is_no_certificate_no_key_and_no_proxy_is_refused() {
    let authority = Authority::new("ours");
    let (certificate, key) = authority.sign("client-1");
    let refused = |change: &dyn Fn(&mut ClientOptions)| {
        let error = http_client_with(&options(change)).unwrap_err();
        let place = match &error {
            ClientError::Authorities { index, .. } => format!(" ({index})"),
            _ => String::new(),
        };
        format!("{error}{place}")
    };
    let broken = "-----BEGIN CERTIFICATE-----\nnot one\n-----END CERTIFICATE-----\n";
    for text in ["", "not PEM", broken, &key.serialize_pem()] {
        assert_eq!(
            refused(&|it| it.authorities = vec![authority.pem(), text.into()]),
            "there is no certificate of an authority that can be read (1)",
            "{text}"
        );
    }
    for text in [String::new(), "no key".into(), certificate.pem(), key.serialize_pem()] {
        assert_eq!(
            refused(&|it| it.identity = Some(text.clone().into())),
            "the client certificate can't be used: it is to be a certificate and its key, as PEM",
            "{text}"
        );
    }
    assert_eq!(
        refused(&|it| it.proxy = Proxy::Url("http://u:hunter2@".to_owned().into())),
        "the address of the proxy can't be used"
    );
}

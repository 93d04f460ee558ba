//! The cases of `spec/cases/exchange.json`: through the layer, and through the relay between pipes.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use exchange_cases::{
    Answer, Arrived, Asked, Case, Fault, Got, Host, Ids, LineHost, Step, Text, check_lines, check_step,
    is_listing, names_sealed_session, run,
};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt;
use mcp_attune::assume::CallerEvidence;
use mcp_attune_tower::relay::{LineRelay, ReturnedLine};
use mcp_attune_tower::{AttuneLayer, AttuneService, Body, SealKeys, Settings, full, seal};
use tower::{Layer, Service, ServiceExt, service_fn};

const LAYER: Host = Host {
    name: "the layer",
    lacks: &[("program", "a program is behind the gateway only")],
    except: &[],
    seals: true,
};

const PIPES: Host = Host {
    name: "the relay between pipes",
    lacks: &[
        ("http", "pipes have neither headers, nor statuses, nor methods"),
        ("listing", "the relay sends no requests of its own"),
        ("any-bytes", "what is no message stays away from a client that reads lines"),
    ],
    except: &[],
    seals: false,
};

#[test]
fn exchange() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    run(&LAYER, |case| runtime.block_on(through_the_layer(case)));
}

#[test]
fn every_exchange_between_pipes() {
    run(&PIPES, between_pipes);
}

fn settings(case: &Case) -> Settings {
    let setup = &case.setup;
    let mut settings = Settings::default();
    settings.policy = setup.policy();
    settings.report_only = setup.report_only();
    settings.offer = setup.offer();
    settings.schemas.refuse_unknown = setup.refuses_unknown();
    if let [first, others @ ..] = setup.keys().as_slice() {
        settings.seal = Some(seal(SealKeys::new(first, others), "default"));
    }
    settings
}

/// The server of a case, in one of its steps.
#[derive(Clone)]
struct Played {
    listing: Option<Text>,
    step: Arc<Mutex<Option<Step>>>,
    asked: Arc<Mutex<Asked>>,
}

impl Played {
    async fn answer(self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        let step = self.step.lock().unwrap().clone().unwrap();
        let mut asked = self.asked.lock().unwrap();
        if is_listing(body.as_bytes()) && !is_listing(step.request.body.0.as_bytes()) {
            asked.listings += 1;
            let listing = self.listing.filter(|_| !names_sealed_session(&lines(&parts.headers)));
            let listing = listing.map(|listing| Answer { body: Some(listing), ..Answer::default() });
            return respond(&listing.unwrap_or_else(Answer::no_listing));
        }
        asked.others.push(Arrived { headers: Some(lines(&parts.headers)), body });
        respond(&step.server.unwrap_or_default())
    }
}

fn respond(answer: &Answer) -> Response<Body> {
    let response = Response::builder().status(answer.status.unwrap_or(200));
    let lines = answer.lines();
    let response = lines.iter().fold(response, |response, (name, value)| response.header(name, value));
    response.body(full(answer.bytes())).unwrap()
}

fn lines(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
}

fn request(step: &Step, ids: &Ids) -> Request<Body> {
    let asked = &step.request;
    let method: Method = asked.method.as_deref().unwrap_or("POST").parse().unwrap();
    let headers = asked.lines(ids);
    let request = Request::builder().method(method).uri("/mcp");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    request.body(full(ids.fill(&asked.body.0))).unwrap()
}

async fn through_the_layer(case: &Case) -> Result<(), Fault> {
    let played = Played { listing: case.input.listing.clone(), step: Arc::default(), asked: Arc::default() };
    let server = played.clone();
    let service = AttuneLayer::new(settings(case)).layer(service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.answer(request).await) }
    }));
    let mut ids = Ids::new(&case.input.sealed, LAYER.seals);
    for (number, (step, told)) in case.input.steps.iter().zip(&case.expected.steps).enumerate() {
        *played.step.lock().unwrap() = Some(step.clone());
        let got = call(&service, trusting(request(step, &ids), case)).await;
        let asked = std::mem::take(&mut *played.asked.lock().unwrap());
        check_step(step, told, &asked, &got, &mut ids)
            .map_err(|Fault(why)| Fault(format!("step {number}: {why}")))?;
    }
    Ok(())
}

/// A request of somebody whose headers count, unless the case trusts nobody.
fn trusting(mut request: Request<Body>, case: &Case) -> Request<Body> {
    let trusts_headers = case.setup.trusts_headers();
    request.extensions_mut().insert(CallerEvidence { trusts_headers, ..CallerEvidence::default() });
    request
}

async fn call<S>(service: &AttuneService<S>, request: Request<Body>) -> Got
where
    AttuneService<S>: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone,
{
    let response = service.clone().oneshot(request).await.unwrap();
    let (status, headers) = (response.status().as_u16(), lines(response.headers()));
    let kind = response.headers().get("content-type").cloned();
    let streams = kind.is_some_and(|kind| kind == "text/event-stream");
    let body = response.into_body().collect().await.unwrap().to_bytes().to_vec();
    Got {
        status: Some(status),
        headers: Some(headers),
        body: String::from_utf8(body).unwrap(),
        streams,
        bare: false,
    }
}

fn between_pipes(case: &Case) -> Result<(), Fault> {
    let Settings { offer, policy, report_only, .. } = settings(case);
    check_lines(&mut Pipes(LineRelay::new(offer, policy, report_only, 64)), case)
}

struct Pipes(LineRelay);

impl LineHost for Pipes {
    fn onward(&mut self, line: &str) -> Result<String, String> {
        let sent = self.0.handle_client_line(line.as_bytes()).map_err(|reply| reply.body)?;
        Ok(String::from_utf8(sent.line.into_owned()).unwrap())
    }

    fn back(&mut self, line: &str) -> Option<String> {
        match self.0.handle_server_line(line.as_bytes()) {
            ReturnedLine::Send(back) => Some(String::from_utf8(back.into_owned()).unwrap()),
            ReturnedLine::Drop => None,
        }
    }
}

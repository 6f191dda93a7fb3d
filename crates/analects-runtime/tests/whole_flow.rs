//! One test that walks every arrow of the architecture, in order, each as the one public function
//! that it is: from the bytes of a file to the answer in the file, by way of a real server.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_client::{Client, Options, ProviderSettings, resolve};
use analects_core::{Agent, Message, chain, fold};
use analects_formats::msgfile::{Document, NewCell, append};
use analects_store::{LockedFile, StoreFolders, Transcript};
use analects_testkit::server::{Server, answer};

const QUESTION: &str = "# %% [^1]\n\n[^1]: [markdown]\n\nWhat is six times seven?\n";

#[tokio::test]
async fn the_public_functions_lead_from_a_file_to_an_answer_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.msg.md");
    std::fs::write(&path, QUESTION).unwrap();
    let server = Server::new(vec![answer(&["Forty-", "two."])]);
    let surroundings =
        ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| server.base_url.clone()));
    let model = resolve("openai/tiny", &surroundings).unwrap();

    // bytes → messages
    let bytes = std::fs::read(&path).unwrap();
    let decoded = analects_formats::decode(&bytes, "talk.msg.md");
    assert_eq!(decoded.problems, []);

    // messages → effective chain
    let chain = chain(&decoded.messages);
    assert_eq!(chain.messages.len(), 1);

    // effective chain → request
    let plan = analects_context::plan(&chain, &Agent::of_model("quick", &model.name));
    assert_eq!(plan.request.turns.len(), 1);

    // request → bytes out
    let request = analects_providers::encode(model.api, &plan.request);
    assert!(String::from_utf8_lossy(&request.body).contains("six times seven?"));

    // bytes out → bytes in: the only step that touches the network
    let client = Client::new(Options::default());
    let mut incoming = client.send(&model, request).await.unwrap();

    // bytes in → events
    let mut decoder = analects_providers::decoder(model.api);
    let mut events = Vec::new();
    while let Some(chunk) = incoming.next().await {
        events.extend(decoder.push(&chunk.unwrap()));
    }
    events.extend(decoder.finish());

    // events → message
    let folded = fold(&events, Message::assistant("a", ""));
    assert!(folded.complete, "{:?}", folded.problems);
    assert_eq!(folded.message.text(), "Forty-two.");

    // message → disk: spliced into the file, or appended to a transcript
    let places = StoreFolders::in_folder(folder.path());
    let mut file = LockedFile::open(&path, &places).unwrap();
    let reply = NewCell::reply("2", "quick", folded.message.text()).describe(&folded.message);
    let splice = |document: &Document| append(document, &reply);
    file.edit(splice).unwrap();
    let transcript = Transcript::of_session(&places, folder.path(), &"s".into());
    transcript.append(&folded.message).unwrap();

    let after = std::fs::read(&path).unwrap();
    assert!(after.starts_with(QUESTION.as_bytes()));
    let texts: Vec<String> = analects_formats::decode(&after, "talk.msg.md")
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(texts, ["What is six times seven?", "Forty-two."]);
    assert_eq!(transcript.read().unwrap().messages, [folded.message]);
    assert!(
        server
            .received()
            .head
            .starts_with("POST /v1/chat/completions ")
    );
}

//! Any bytes are a stream of server-sent events: how they are cut changes nothing, and no event is larger
//! than the limit.

use analects_providers::sse::{SseEvent, SseSplitter, TooLong};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "sse",
    run,
    tokens: &[
        b"data: ",
        b"data:",
        b"data\n",
        b"event: x\n",
        b"id: 1\n",
        b"retry: 1\n",
        b": comment\n",
        b"\n\n",
        b"\r\n\r\n",
        b"\r\r",
        b"data: 0123456789\n",
    ],
};

/// Small, so that inputs of a fuzzer reach it.
const LIMIT: usize = 24;

fn run(bytes: &[u8]) {
    let whole = events(&[bytes], LIMIT);
    let (left, right) = bytes.split_at(bytes.len() / 2);
    assert_eq!(
        events(&[left, right], LIMIT),
        whole,
        "a cut changes nothing"
    );
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(events(&single, LIMIT), whole, "byte by byte is the same");
    for event in whole.iter().flatten() {
        assert!(
            event.data.len() <= 3 * LIMIT,
            "an event is larger than the limit: {event:?}"
        );
    }
    let unlimited = events(&[bytes], usize::MAX);
    assert!(
        unlimited.iter().all(Result::is_ok),
        "nothing is too long without a limit"
    );
    if whole.iter().all(Result::is_ok) {
        assert_eq!(
            whole, unlimited,
            "the limit changes nothing but what is too long"
        );
    }
}

fn events(pieces: &[&[u8]], limit: usize) -> Vec<Result<SseEvent, TooLong>> {
    let mut splitter = SseSplitter::with_limit(limit);
    let mut events: Vec<_> = pieces
        .iter()
        .flat_map(|piece| splitter.push(piece))
        .collect();
    events.extend(splitter.finish());
    events
}

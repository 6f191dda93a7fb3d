//! The keys of attributes that mean something. All others are kept as text.

macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident = $word:literal,)*) => {
        /// The key of an attribute that means something.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum MetaKey {
            $($(#[$doc])* $key,)*
        }

        impl MetaKey {
            /// The key of this name, if it means something.
            pub fn of(name: &str) -> Option<MetaKey> {
                match name {
                    $($word => Some(MetaKey::$key),)*
                    _ => None,
                }
            }

            /// The key as it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(MetaKey::$key => $word,)*
                }
            }
        }
    };
}

keys! {
    /// How much of the cell the model sees.
    History = "history",
    /// What the model sees in the cell's place where its history is `summary`.
    Summary = "summary",
    /// The cell that this one follows.
    Parent = "parent",
    /// The cell that this one is a part of.
    Part = "part",
    /// The last cell that a summary stands for.
    Through = "through",
    /// The side chain that the cell is in.
    AgentId = "agent_id",
    /// Who is to answer.
    Agent = "agent",
    /// Who said it, if the type word does not tell.
    Author = "author",
    /// When it was said.
    Time = "time",
    /// The model that answered.
    Model = "model",
    /// Tokens that were read and written, as `IN/OUT`.
    Tokens = "tokens",
    /// Tokens that were read.
    InputTokens = "input_tokens",
    /// Tokens that were written.
    OutputTokens = "output_tokens",
    /// Tokens that came from a cache.
    CacheReadTokens = "cache_read_tokens",
    /// Tokens that went into a cache.
    CacheCreationTokens = "cache_creation_tokens",
    /// Tokens of reasoning.
    ReasoningTokens = "reasoning_tokens",
    /// What the answer cost, in dollars.
    Cost = "cost",
    /// How long it took.
    Duration = "duration",
    /// How long it may take.
    Timeout = "timeout",
    /// What the provider calls the answer.
    ResponseId = "response_id",
    /// Why the answer ended.
    StopReason = "stop_reason",
    /// Whether the model's side failed.
    Error = "error",
    /// Whether the cell is a thought, or an agent thinks.
    Reasoning = "reasoning",
    /// How a call or an execution ended.
    Status = "status",
    /// The name of a tool or of an agent.
    Name = "name",
    /// What the provider calls a tool call.
    CallId = "call_id",
    /// How the result of a call is held.
    Result = "result",
    /// The tool that a code cell defines.
    Tool = "tool",
    /// What tells one execution from another.
    Nonce = "nonce",
    /// How the text is stored.
    Stored = "stored",
    /// The whole title.
    Title = "title",
    /// That the cell holds a whole message as JSON.
    Json = "json",
    /// The form of a message's content.
    Content = "content",
    /// Where a message came from.
    Source = "source",
    /// The kind of an attachment or of a notification.
    Kind = "kind",
    /// The file that an attachment shows.
    Path = "path",
    /// What kind of data the cell holds.
    MimeType = "mime_type",
    /// How bytes are written as text.
    Encoding = "encoding",
    /// The file beside this one that holds the output.
    OutputFile = "output_file",
    /// The id of the message.
    Uuid = "uuid",
    /// The id of the conversation.
    SessionId = "session_id",
    /// The first message that a summary stands for.
    From = "from",
    /// The last message that a summary stands for.
    To = "to",
    /// How many messages a summary stands for.
    Count = "count",
    /// What caused a compaction.
    Trigger = "trigger",
    /// The tokens before a compaction.
    TokensBefore = "tokens_before",
    /// The tokens after a compaction.
    TokensAfter = "tokens_after",
    /// The summary of a compaction.
    SummaryId = "summary_id",
    /// The first message that a compaction kept.
    KeptFrom = "kept_from",
    /// The message that a tombstone removes.
    Target = "target",
    /// The parent of the message that a tombstone removes.
    TargetParent = "target_parent",
    /// The models of an agent.
    Models = "models",
    /// The context window of an agent.
    ContextWindow = "context_window",
    /// The most tokens that an agent writes.
    MaxOutputTokens = "max_output_tokens",
    /// Whether an agent has a temperature.
    UseTemperature = "use_temperature",
    /// The temperature of an agent.
    Temperature = "temperature",
}

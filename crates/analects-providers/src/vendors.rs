//! The providers by name, with their addresses, variables and quirks, as plain data. Which one to
//! ask is up to the configuration, and reading the variables is up to the caller.

use crate::{
    Api, MaxTokensField, Quirks, ReasoningRequest, TemperatureSupport, ThinkingField, ToolIdRule,
};

/// A provider, or a kind of local server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vendor {
    /// The name in `vendor/model`.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Other names that people may use.
    pub aliases: &'static [&'static str],
    /// The vendor under whose name the catalogue lists these models, if this is only another API
    /// for them.
    pub models_of: Option<&'static str>,
    /// The wire format.
    pub api: Api,
    /// The default address. The paths of requests are appended to it.
    pub base_url: &'static str,
    /// Variables that may contain another address. The first one that is set wins.
    pub base_url_variables: &'static [&'static str],
    /// The path that is added to an address without one; see [`Vendor::base_url_from`].
    pub base_path: &'static str,
    /// Variables that may contain the key. The first one that is set wins.
    pub key_variables: &'static [&'static str],
    /// Whether every request needs a key.
    pub needs_key: bool,
    /// How it differs from others with the same wire format.
    pub quirks: Quirks,
    /// Whether our tests asked its real server. Other rows follow the documentation.
    pub tested: bool,
}

/// The name of the vendor whose servers this program starts and stops itself.
pub const LOCAL_VENDOR: &str = "local";

/// The quirks of most compatible servers.
const COMMON: Quirks = Quirks {
    max_tokens: MaxTokensField::MaxTokens,
    temperature: TemperatureSupport::Accepted,
    ..Quirks::COMPATIBLE
};

/// The common part of the rows. OpenAI's API is the one that most vendors speak.
const COMPATIBLE: Vendor = Vendor {
    name: "",
    title: "",
    aliases: &[],
    models_of: None,
    api: Api::OpenAiChat,
    base_url: "",
    base_url_variables: &[],
    base_path: "/v1",
    key_variables: &[],
    needs_key: true,
    quirks: COMMON,
    tested: false,
};

/// The common part of the rows of local servers.
const LOCAL: Vendor = Vendor {
    needs_key: false,
    ..COMPATIBLE
};

/// All vendors, sorted by name.
static VENDORS: [Vendor; 17] = [
    Vendor {
        name: "anthropic",
        title: "Anthropic",
        aliases: &["claude"],
        api: Api::AnthropicMessages,
        base_url: "https://api.anthropic.com/v1",
        base_url_variables: &["ANTHROPIC_BASE_URL"],
        key_variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        ..COMPATIBLE
    },
    Vendor {
        name: "deepseek",
        title: "DeepSeek",
        base_url: "https://api.deepseek.com/v1",
        base_url_variables: &["DEEPSEEK_BASE_URL"],
        key_variables: &["DEEPSEEK_API_KEY"],
        quirks: Quirks {
            reasoning: ReasoningRequest::Thinking,
            ..COMMON
        },
        ..COMPATIBLE
    },
    Vendor {
        name: "gemini",
        title: "Google Gemini",
        aliases: &["google"],
        api: Api::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        base_url_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        base_path: "/v1beta",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        ..COMPATIBLE
    },
    Vendor {
        name: "groq",
        title: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        base_url_variables: &["GROQ_BASE_URL"],
        base_path: "/openai/v1",
        key_variables: &["GROQ_API_KEY"],
        quirks: Quirks {
            max_tokens: MaxTokensField::MaxCompletionTokens,
            reasoning: ReasoningRequest::Effort,
            ..COMMON
        },
        ..COMPATIBLE
    },
    Vendor {
        name: "llamacpp",
        title: "llama.cpp",
        aliases: &["llama.cpp", "llama-server"],
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variables: &["LLAMACPP_BASE_URL"],
        key_variables: &["LLAMA_API_KEY"],
        quirks: Quirks {
            reasoning: ReasoningRequest::ChatTemplate,
            ..COMMON
        },
        tested: true,
        ..LOCAL
    },
    Vendor {
        name: "lmstudio",
        title: "LM Studio",
        aliases: &["lm-studio"],
        base_url: "http://127.0.0.1:1234/v1",
        base_url_variables: &["LMSTUDIO_BASE_URL"],
        ..LOCAL
    },
    Vendor {
        name: LOCAL_VENDOR,
        title: "A model on your own machine",
        // Of its wire formats, only this one can count tokens.
        api: Api::AnthropicMessages,
        // Each server has its own port, which is known once it was started.
        base_url: "http://127.0.0.1:0/v1",
        tested: true,
        ..LOCAL
    },
    Vendor {
        name: "mistral",
        title: "Mistral",
        aliases: &["mistralai"],
        base_url: "https://api.mistral.ai/v1",
        base_url_variables: &["MISTRAL_BASE_URL"],
        key_variables: &["MISTRAL_API_KEY"],
        // Sends token counts anyway, and refuses unknown fields.
        quirks: Quirks {
            stream_options: false,
            tool_ids: ToolIdRule::Exactly(9),
            ..COMMON
        },
        ..COMPATIBLE
    },
    Vendor {
        name: "moonshot",
        title: "Moonshot",
        aliases: &["kimi", "moonshotai"],
        base_url: "https://api.moonshot.ai/v1",
        base_url_variables: &["MOONSHOT_BASE_URL"],
        key_variables: &["MOONSHOT_API_KEY"],
        ..COMPATIBLE
    },
    Vendor {
        name: "ollama",
        title: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        base_url_variables: &["OLLAMA_HOST"],
        key_variables: &["OLLAMA_API_KEY"],
        quirks: Quirks {
            reasoning: ReasoningRequest::Effort,
            ..COMMON
        },
        ..LOCAL
    },
    Vendor {
        name: "openai",
        title: "OpenAI",
        aliases: &["chatgpt"],
        base_url: "https://api.openai.com/v1",
        base_url_variables: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        base_path: "",
        key_variables: &["OPENAI_API_KEY"],
        quirks: Quirks::OPENAI_CHAT,
        ..COMPATIBLE
    },
    Vendor {
        name: "openai-responses",
        title: "OpenAI, through its Responses API",
        models_of: Some("openai"),
        api: Api::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        base_url_variables: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        base_path: "",
        key_variables: &["OPENAI_API_KEY"],
        quirks: Quirks::OPENAI_RESPONSES,
        ..COMPATIBLE
    },
    Vendor {
        name: "openrouter",
        title: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        base_url_variables: &["OPENROUTER_BASE_URL"],
        base_path: "/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        quirks: Quirks {
            reasoning: ReasoningRequest::Object,
            thinking: ThinkingField::ReasoningDetails,
            ..COMMON
        },
        ..COMPATIBLE
    },
    Vendor {
        name: "qwen",
        title: "Qwen (DashScope)",
        aliases: &["dashscope", "alibaba"],
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        base_url_variables: &["DASHSCOPE_BASE_URL"],
        base_path: "",
        key_variables: &["DASHSCOPE_API_KEY"],
        quirks: Quirks {
            reasoning: ReasoningRequest::EnableThinking,
            ..COMMON
        },
        ..COMPATIBLE
    },
    Vendor {
        name: "vllm",
        title: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        base_url_variables: &["VLLM_BASE_URL"],
        key_variables: &["VLLM_API_KEY"],
        quirks: Quirks {
            reasoning: ReasoningRequest::ChatTemplate,
            ..COMMON
        },
        ..LOCAL
    },
    Vendor {
        name: "xai",
        title: "xAI",
        aliases: &["grok", "x.ai"],
        base_url: "https://api.x.ai/v1",
        base_url_variables: &["XAI_BASE_URL"],
        key_variables: &["XAI_API_KEY"],
        quirks: Quirks {
            reasoning: ReasoningRequest::Effort,
            ..COMMON
        },
        ..COMPATIBLE
    },
    Vendor {
        name: "zhipu",
        title: "Zhipu",
        aliases: &["glm", "zai", "z.ai", "bigmodel"],
        base_url: "https://open.bigmodel.cn/api/paas/v4",
        base_url_variables: &["ZHIPUAI_BASE_URL"],
        base_path: "",
        key_variables: &["ZHIPUAI_API_KEY", "ZHIPU_API_KEY", "ZAI_API_KEY"],
        // Sends token counts anyway.
        quirks: Quirks {
            stream_options: false,
            reasoning: ReasoningRequest::Thinking,
            ..COMMON
        },
        ..COMPATIBLE
    },
];

/// Returns all vendors, sorted by name.
pub fn vendors() -> &'static [Vendor] {
    &VENDORS
}

/// Returns the vendor with this name or alias, ignoring ASCII case.
///
/// ```
/// use analects_providers::vendor;
///
/// let gemini = vendor("Google").map(|vendor| vendor.name);
/// assert_eq!(gemini, Some("gemini"));
/// assert!(vendor("nobody").is_none());
/// ```
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.is_named(name))
}

impl Vendor {
    /// Whether a name or an alias is this one, ignoring ASCII case.
    fn is_named(&self, name: &str) -> bool {
        let is_alias = |alias: &&str| alias.eq_ignore_ascii_case(name);
        self.name.eq_ignore_ascii_case(name) || self.aliases.iter().any(is_alias)
    }

    /// Converts the value of one of its variables to a base URL. The vendors' own programs accept
    /// different forms: a host with a port, the address at which a server listens, an address
    /// without the path of the API, or one with the path of a request.
    ///
    /// ```
    /// # use analects_providers::vendor;
    /// # fn example() -> Option<()> {
    /// let ollama = vendor("ollama")?;
    /// assert_eq!(ollama.base_url_from("0.0.0.0"), "http://127.0.0.1:11434/v1");
    /// let mistral = vendor("mistral")?;
    /// assert_eq!(mistral.base_url_from("proxy.example"), "https://proxy.example/v1");
    /// # Some(())
    /// # }
    /// # assert!(example().is_some());
    /// ```
    pub fn base_url_from(&self, value: &str) -> String {
        let value = value.trim().trim_end_matches('/');
        let (scheme, rest) = match value.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, value),
        };
        let path_start = rest.find('/').unwrap_or(rest.len());
        let (host, path) = rest.split_at(path_start);
        let scheme = scheme.unwrap_or(self.default_scheme(host));
        let host = if self.needs_key {
            host.to_string()
        } else {
            local_host(host, scheme, port_of(self.base_url))
        };
        let path = if path.is_empty() {
            self.base_path
        } else {
            without_request_path(path)
        };
        format!("{scheme}://{host}{path}")
    }

    /// The scheme for an address without one. A key must not be sent in the clear only because
    /// somebody left it out.
    fn default_scheme(&self, host: &str) -> &'static str {
        if self.needs_key && !is_this_machine(host) {
            "https"
        } else {
            "http"
        }
    }
}

/// Whether the host of an address is this machine, as far as its name tells.
fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// A path without the part that requests append to the base URL.
fn without_request_path(path: &str) -> &str {
    let ends = ["/chat/completions", "/responses", "/messages"];
    let base = ends.iter().find_map(|end| path.strip_suffix(end));
    base.unwrap_or(path)
}

/// The port in an address.
fn port_of(base_url: &str) -> Option<&str> {
    let rest = base_url.split("://").nth(1)?;
    let host = rest.split('/').next()?;
    let (_, port) = host.rsplit_once(':')?;
    Some(port)
}

/// The host and port at which a local server is reached. A server that listens at every address is
/// on this machine; without a port, it has its default port, unless the scheme is not `http`.
fn local_host(host: &str, scheme: &str, default_port: Option<&str>) -> String {
    let (name, port) = split_port(host);
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    let default_port = default_port.filter(|_| scheme == "http");
    match port.or(default_port) {
        Some(port) => format!("{name}:{port}"),
        None => name.to_string(),
    }
}

/// Splits a host from its port. The colons of an IPv6 address are in brackets.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests;

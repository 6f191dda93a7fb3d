//! Who can be asked: the vendors by name, with their addresses, keys and habits, as plain data. Not
//! who is asked: that is the configuration's to say, and reading variables is the caller's.

use crate::{Api, MaxTokens, Quirks, ReasoningRequest, Temperature, Thoughts, ToolIds};

/// One vendor, or one kind of local server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vendor {
    /// Its name in `vendor/model`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Other names under which it is known.
    pub aliases: &'static [&'static str],
    /// The vendor whose models these are, where this is only another way to them.
    pub models_of: Option<&'static str>,
    /// The wire format that it speaks.
    pub api: Api,
    /// Its address, unless a variable says otherwise; what the adapter's paths follow.
    pub base_url: &'static str,
    /// Variables that may hold another address, the first one that is set counts.
    pub base_url_variables: &'static [&'static str],
    /// The path that an address of these variables may lack; see [`Vendor::base_url_from`].
    pub base_path: &'static str,
    /// Variables that may hold the key, the first one that is set counts.
    pub key_variables: &'static [&'static str],
    /// Whether it answers nobody without a key.
    pub needs_key: bool,
    /// In what it differs from others of the same wire format.
    pub quirks: Quirks,
    /// Whether somebody tried this row against the real thing. The others are written from
    /// documentation.
    pub tried: bool,
}

/// The name of the vendor whose servers this program starts and ends itself.
pub const OWN_SERVER: &str = "local";

/// What most compatible servers do.
const COMMON: Quirks = Quirks {
    max_tokens: MaxTokens::MaxTokens,
    temperature: Temperature::Sent,
    ..Quirks::COMPATIBLE
};

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
    tried: false,
};

const LOCAL: Vendor = Vendor {
    needs_key: false,
    ..COMPATIBLE
};

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
            max_tokens: MaxTokens::MaxCompletionTokens,
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
        tried: true,
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
        name: OWN_SERVER,
        title: "A model that this program runs",
        // The one of its wire formats that can count tokens.
        api: Api::AnthropicMessages,
        // Each server has a port of its own; whoever starts it knows.
        base_url: "http://127.0.0.1:0/v1",
        tried: true,
        ..LOCAL
    },
    Vendor {
        name: "mistral",
        title: "Mistral",
        aliases: &["mistralai"],
        base_url: "https://api.mistral.ai/v1",
        base_url_variables: &["MISTRAL_BASE_URL"],
        key_variables: &["MISTRAL_API_KEY"],
        // It sends the counts without being asked, and refuses fields that it does not know.
        quirks: Quirks {
            stream_options: false,
            tool_ids: ToolIds::Exactly(9),
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
        title: "OpenAI, by its Responses API",
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
            thoughts: Thoughts::ReasoningDetails,
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
        // It sends the counts without being asked.
        quirks: Quirks {
            stream_options: false,
            reasoning: ReasoningRequest::Thinking,
            ..COMMON
        },
        ..COMPATIBLE
    },
];

/// All vendors, by name.
pub fn vendors() -> &'static [Vendor] {
    &VENDORS
}

/// The vendor of this name or alias, in whatever case.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    VENDORS
        .iter()
        .find(|vendor| is(&vendor.name) || vendor.aliases.iter().any(&is))
}

impl Vendor {
    /// The base URL that the value of one of its variables means. These hold addresses in the
    /// vendors' own ways: a host and a port only, the address at which a server listens, an address
    /// without the path at which the API lives, or one with the path to which requests go.
    pub fn base_url_from(&self, value: &str) -> String {
        let value = value.trim().trim_end_matches('/');
        let (scheme, rest) = value
            .split_once("://")
            .map_or((None, value), |(s, r)| (Some(s), r));
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // A key must not go out in the clear because somebody left the scheme out.
        let is_safe = !self.needs_key || is_here(host);
        let scheme = scheme.unwrap_or(if is_safe { "http" } else { "https" });
        let host = if self.needs_key {
            host.to_string()
        } else {
            reachable(host, scheme, default_port(self.base_url))
        };
        let path = if path.is_empty() {
            self.base_path
        } else {
            without_request(path)
        };
        format!("{scheme}://{host}{path}")
    }
}

/// Whether this is this machine, as far as a name can tell.
fn is_here(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "localhost" || name == "127.0.0.1" || name == "[::1]"
}

/// A path without its end, if that is one that the adapters add.
fn without_request(path: &str) -> &str {
    let ends = ["/chat/completions", "/responses", "/messages"];
    ends.iter()
        .find_map(|end| path.strip_suffix(end))
        .unwrap_or(path)
}

fn default_port(base_url: &str) -> Option<&str> {
    let host = base_url.split("://").nth(1)?.split('/').next()?;
    Some(host.rsplit_once(':')?.1)
}

/// The address of a local server: where it listens everywhere, it is here; without a port, it is at
/// its usual one, unless the scheme was made for another.
fn reachable(host: &str, scheme: &str, port: Option<&str>) -> String {
    let (name, given) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    match given.or(port.filter(|_| scheme == "http")) {
        Some(port) => format!("{name}:{port}"),
        None => name.to_string(),
    }
}

#[cfg(test)]
mod tests;

"""Other tools at the same work, side by side: processor time of whole processes, the best of three.

usage: peers.py PROGRAM FOLDER RANKS
PROGRAM is the release build, FOLDER an empty folder for the data, RANKS the table of the vocabulary o200k.
Prints a line for each comparison; ends with 1 if a bar was missed or a peer is not installed.
"""

import json
import os
import resource
import subprocess
import sys

PROGRAM, FOLDER, RANKS = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = dict(os.environ, ANALECTS_HOME=FOLDER, LLM_USER_PATH=os.path.join(FOLDER, "llm"))
SENTENCE = "Message {}: all that was said is kept, word for word, and nothing is added to it. 学而时习之。"


def message(number):
    """What is said, in a few hundred to two thousand characters."""
    return "\n".join([SENTENCE.format(number)] * (3 + number % 7 * 3))


def path(name):
    return os.path.join(FOLDER, name)


def write_message_file(name, count):
    """A message file as `chat` writes it."""
    with open(path(name), "w", encoding="utf-8") as file:
        file.write("---\ndefault: coder\nagents:\n  coder:\n    models: [openai/gpt-5]\n---\n\n")
        for number in range(1, count + 1):
            if number % 2:
                file.write(f"# %% [^{number}]\n\n{message(number)}\n\n")
                continue
            time = f"2026-11-18T{number // 60 % 24:02}:{number % 60:02}:00.123Z"
            facts = f'[coder] time="{time}" tokens={number + 1200}/90 cost=0.00048'
            file.write(f"# %%% [^{number}]\n\n[^{number}]: {facts}\n\n{message(number)}\n\n")


def processor_time(command):
    """Seconds of user and system time of a command, the best of three."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise RuntimeError(f"{command[:3]} failed: {done.stderr.decode()[-400:]}")
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def python(code, *arguments):
    return [sys.executable, "-c", code, *arguments]


TRIM = """
import json, sys
from langchain_core.messages import AIMessage, HumanMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
kinds = {"user": HumanMessage, "assistant": AIMessage}
with open(sys.argv[1], encoding="utf-8") as file:
    said = [kinds[line["role"]](line["content"]) for line in map(json.loads, file)]
kept = trim_messages(said, max_tokens=200_000, token_counter=count_tokens_approximately,
                     strategy="last", start_on="human")
assert 0 < len(kept) < len(said)
"""


def trimming():
    """What is left of 40,000 messages in a window."""
    write_message_file("long.msg.md", 40_000)
    with open(path("long.jsonl"), "w", encoding="utf-8") as file:
        for number in range(1, 40_001):
            role = "user" if number % 2 else "assistant"
            file.write(json.dumps({"role": role, "content": message(number)}) + "\n")
    ours = [PROGRAM, "chat", path("long.msg.md"), "-m", "openai/gpt-5", "--dry-run", "What next?"]
    return processor_time(ours), processor_time(python(TRIM, path("long.jsonl")))


def notebook():
    """2,000 cells as a notebook, against our 2,000 cells as a transcript."""
    write_message_file("cells.msg.md", 2_000)
    with open(path("cells.py"), "w", encoding="utf-8") as file:
        for number in range(1, 2_001):
            body = message(number)
            if number % 2:
                body = "\n".join("# " + line for line in body.split("\n"))
                file.write(f"# %% [markdown]\n{body}\n\n")
            else:
                file.write(f'# %%\n"""{body}"""\n\n')
    ours = [PROGRAM, "convert", path("cells.msg.md"), "--to", "transcript", "--lossy", "-o", "-"]
    theirs = [sys.executable, "-m", "jupytext", "--to", "ipynb", "-o", "-", path("cells.py")]
    return processor_time(ours), processor_time(theirs)


COUNT = """
import sys
import tiktoken
pattern = "|".join([
    r"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\\p{N}{1,3}", r" ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*", r"\\s*[\\r\\n]+", r"\\s+(?!\\S)", r"\\s+"])
with open(sys.argv[1], "rb") as file:
    table = file.read()
# The offsets of the buckets come first; a token is its rank, its length and its bytes.
ranks, at = {}, int.from_bytes(table[:4], "little")
while at < len(table):
    end = at + 4 + table[at + 3]
    ranks[table[at + 4:end]] = int.from_bytes(table[at:at + 3], "little")
    at = end
encoding = tiktoken.Encoding("o200k", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
with open(sys.argv[2], encoding="utf-8") as file:
    print(len(encoding.encode_ordinary(file.read())))
"""


def counting():
    """The tokens of 10 MB of text, the vocabulary loaded first; the counts must be the same."""
    with open(path("text.txt"), "w", encoding="utf-8") as file:
        for number in range(9_000):
            file.write(message(number) + "\n")
    ours = [PROGRAM, "tokens", path("text.txt"), "-m", "gpt-5", "--json"]
    theirs = python(COUNT, RANKS, path("text.txt"))
    counts = [subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True).stdout for command in (ours, theirs)]
    if json.loads(counts[0])["tokens"] != int(counts[1]):
        raise RuntimeError(f"the counts differ: {counts}")
    return processor_time(ours), processor_time(theirs)


def starting():
    """A program that says its version."""
    llm = [os.path.join(os.path.dirname(sys.executable), "llm"), "--version"]
    return processor_time([PROGRAM, "--version"]), processor_time(llm)


LOGS = """
import datetime, sys
import llm.migrations, sqlite_utils
database = sqlite_utils.Database(sys.argv[1])
llm.migrations.migrate(database)
database["conversations"].insert({"id": "c", "name": "talk", "model": "tiny"})
columns = set(database["responses"].columns_dict)
rows = []
for number in range(10_000):
    row = {"id": f"{number:026}", "model": "tiny", "prompt": "And now?", "system": None, "prompt_json": None,
           "options_json": "{}", "response": "All that was said is kept. " * 30, "response_json": None,
           "conversation_id": "c", "duration_ms": 100, "datetime_utc": f"2026-11-18T00:00:00.{number:06}"}
    rows.append({name: value for name, value in row.items() if name in columns})
database["responses"].insert_all(rows)
"""


def last_answers():
    """The last three answers of 10,000, against the last messages of our session of 20,000."""
    os.makedirs(path("llm"), exist_ok=True)
    subprocess.run(python(LOGS, path("llm/logs.db")), env=ENVIRONMENT, check=True)
    write_message_file("talk.msg.md", 20_000)
    subprocess.run([PROGRAM, "session", "import", path("talk.msg.md")], env=ENVIRONMENT, check=True, capture_output=True)
    llm = [os.path.join(os.path.dirname(sys.executable), "llm"), "logs", "list", "-n", "3"]
    return processor_time([PROGRAM, "session", "tail", "last", "-n", "6"]), processor_time(llm)


# What is compared, with whom, and how many times as fast we want to be at least.
COMPARISONS = [
    # Ours reads a Markdown file of 52 MB and counts what it sends with the vocabulary; theirs counts by length.
    ("trim 40,000 messages", "langchain trim_messages", trimming, 2),
    ("convert 2,000 cells", "jupytext", notebook, 10),
    ("count 10 MB", "tiktoken", counting, 1),
    ("start", "llm", starting, 10),
    ("last answers", "llm logs", last_answers, 10),
]


def main():
    missed = False
    print(f"{'':<24}{'ours':>10}{'theirs':>10}{'ratio':>8}  bar")
    for name, peer, measure, bar in COMPARISONS:
        try:
            ours, theirs = measure()
        except (OSError, RuntimeError, subprocess.SubprocessError, KeyError, ValueError) as error:
            print(f"SKIPPED: {name}, against {peer}: {str(error)[-400:]}")
            missed = True
            continue
        ratio = theirs / max(ours, 0.001)
        mark = "" if ratio >= bar else "  MISSED"
        print(f"{name:<24}{ours:>9.3f}s{theirs:>9.3f}s{ratio:>7.1f}x  >={bar}  against {peer}{mark}")
        missed |= ratio < bar
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())

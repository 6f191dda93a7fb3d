# How much later than with `curl -N` the first words of an answer are on a terminal, in milliseconds: the
# difference of two medians of 20, each with a server that sends the words when it wants to.
import json, os, pty, select, socket, statistics, sys, threading, time

program, home = sys.argv[1], sys.argv[2]
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
sent = []


def chunk(content, finish):
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "r", "model": "tiny", "choices": [choice]}).encode() + b"\n\n"


def serve():
    while True:
        stream, _ = listener.accept()
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = b""
        while b"\r\n\r\n" not in request:
            request += stream.recv(65536)
        stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        time.sleep(0.1)
        sent.append(time.monotonic())
        stream.sendall(chunk("first-words and", None))
        time.sleep(0.05)
        stream.sendall(chunk(" the rest.", "stop") + b"data: [DONE]\n\n")
        stream.close()


def once(command, environment):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environment)
    seen, at = b"", None
    while select.select([terminal], [], [], 20)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        if at is None and b"first-words" in seen:
            at = time.monotonic()
    os.waitpid(pid, 0)
    if at is None:
        sys.exit("the words never came: %r" % seen)
    return (at - sent[-1]) * 1000


threading.Thread(target=serve, daemon=True).start()
base = "http://127.0.0.1:%d/v1" % port
ours = dict(os.environ, OPENAI_BASE_URL=base, ANALECTS_HOME=home, TERM="xterm", no_proxy="*")
ask = [program, "ask", "-m", "openai/tiny", "hello"]
curl = ["curl", "-sN", "--noproxy", "*", "-d", "{}", base + "/chat/completions"]
times = [(once(ask, ours), once(curl, ours)) for _ in range(20)]
print(statistics.median(one for one, _ in times) - statistics.median(other for _, other in times))

# Runs the llama.cpp server of the wheel. What to serve comes as one line of JSON on stdin, so that the
# key is in no list of processes; where it listens goes to stdout. It ends when stdin does.
import json
import os
import sys
import threading

told = json.loads(sys.stdin.readline())


def wait_for_the_end():
    # Not by sys.stdin, which would complain if the server could not be loaded.
    while os.read(0, 1024):
        pass
    os._exit(0)


threading.Thread(target=wait_for_the_end, daemon=True).start()
sys.path.insert(0, told["engine"])
import xllamacpp  # noqa: E402

params = xllamacpp.CommonParams()
params.model.path = told["model"]
params.model_alias = {told["alias"]}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.api_keys = [told["key"]]
params.n_ctx = told["context"]
params.n_parallel = told["parallel"]
params.kv_unified = True
params.cache_ram_mib = 256
params.cpuparams.n_threads = told["threads"]
params.cpuparams_batch.n_threads = told["threads"]
params.ui = False
params.verbosity = 2

server = xllamacpp.Server(params)
print("\n" + json.dumps({"listening": server.listening_address}), flush=True)
threading.Event().wait()

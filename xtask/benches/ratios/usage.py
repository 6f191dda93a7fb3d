# Runs a program and prints the most memory that it had (in bytes), the processor's time and the time that it took (in
# milliseconds).
import resource, subprocess, sys, time

start = time.monotonic()
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
took = time.monotonic() - start
if done.returncode:
    sys.exit(f"{sys.argv[1:]} ended with {done.returncode}")
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_maxrss * 1024, 1000 * (usage.ru_utime + usage.ru_stime), 1000 * took)
